"""One client's lease on one replica.

Invariant: a step is executed once however often it is asked for. The same index and action again joins the
step under way, or gets the recorded answer byte for byte.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable
from typing import Any

from envhub.session import _refusals
from envhub.session._episode import Episode
from envhub.session._errors import HubError
from envhub.session._holder import Answer, Holder, Sink
from envhub.session._lease import CHECKPOINT_STEPS
from envhub.session._saved import SavedSession
from envhub.session._starts import Numbered
from envhub.worker import frames
from envhub_sdk._wire import Trajectory


class Session(Holder):
    """A lease: what its client may do with it."""

    # -- steps --------------------------------------------------------------------------------------

    def step(
        self,
        action: bytes,
        index: int | None,
        episode_id: str | None,
        autoreset: bool,
        sink: Sink,
        asked_ns: int,
    ) -> None:
        """Takes one step, once.

        Args:
            action: The action's JSON, passed through unparsed.
            index: The index of this step in the episode; None executes whatever comes next.
            episode_id: The episode the index belongs to, if the caller knows.
            autoreset: Whether to start the next episode when this step ends the current one.
            sink: Takes the answer.
            asked_ns: When it was asked for, in nanoseconds since the epoch.
        """
        if self.busy:
            if self._joins(action, index, episode_id):
                self._pool.repeats += 1
                self._joined.append(sink)
            else:
                self._line.append(
                    lambda: self.step(action, index, episode_id, autoreset, sink, time.time_ns())
                )
            return
        episode = self.history.episode
        if episode is None or self.ended is not None:
            sink(self._refusal())
            return
        if index is not None and (index != episode.next_index or episode_id not in (None, episode.id)):
            answer = self._repeated(episode, action, index, episode_id)
            over = self.history.status == "over" and episode_id == episode.id
            if autoreset and over and isinstance(answer, bytes):
                self._go_on(episode, action, answer, sink)
            else:
                sink(answer)
            return
        if self.history.status != "running":
            sink(self._refusal())
            return
        self.busy = True
        self._under_way = (action, episode.next_index, episode.id)
        stepped = functools.partial(self._stepped, episode, action, asked_ns, autoreset, sink)
        self._lease.ask(frames.STEP, action, stepped)

    def _joins(self, action: bytes, index: int | None, episode_id: str | None) -> bool:
        """Whether the step that is asked for is the one under way."""
        if index is None or self._under_way is None:
            return False
        return self._under_way[:2] == (action, index) and episode_id in (None, self._under_way[2])

    def _stepped(
        self,
        episode: Episode,
        action: bytes,
        asked_ns: int,
        autoreset: bool,
        sink: Sink,
        code: int,
        body: bytes,
    ) -> None:
        if code >= frames.FIRST_ERROR:
            self._done(sink, self._failed(code, body, episode))
            return
        answer = self.history.stepped(episode, action, asked_ns, body, code)
        if episode.distance >= CHECKPOINT_STEPS:
            self._lease.checkpoint()
        if code and autoreset and self.ended is None:
            self._start_next(episode, answer, sink)
        else:
            self._done(sink, answer)

    def _go_on(self, episode: Episode, action: bytes, answer: bytes, sink: Sink) -> None:
        """Resets after a last step that was answered without: the hub died, or the reset was refused."""
        self.busy = True
        self._under_way = (action, episode.next_index - 1, episode.id)
        self._start_next(episode, answer, sink)

    def _start_next(self, episode: Episode, answer: bytes, sink: Sink) -> None:
        """Resets after the last step and answers with both; if the reset fails, with the step alone."""

        def started(reset: Answer) -> None:
            both = answer if isinstance(reset, HubError) else episode.amend(b'"reset":%b' % reset)
            self._done(sink, both)

        self._counts.resets[self.env] += 1
        self._reset(None, None, episode.options, started, autoreset=True)

    def _repeated(self, episode: Episode, action: bytes, index: int, episode_id: str | None) -> Answer:
        """The answer to a step that is not the next one: the recorded one, or the conflict."""
        answer = self.history.again(action, index, episode_id)
        if answer is None:
            return _refusals.conflict(self.id, episode, index, episode_id)
        self._pool.repeats += 1
        return answer

    # -- resets -------------------------------------------------------------------------------------

    def reset(
        self,
        seed: int | None,
        task: dict[str, Any] | str | None,
        options: dict[str, Any],
        sink: Sink,
        start_index: int | None = None,
    ) -> None:
        """Starts an episode; without a seed, one that follows from the session's last one."""
        if self.busy:
            self._line.append(lambda: self.reset(seed, task, options, sink, start_index))
            return
        if self.ended is not None:
            sink(self.ended)
            return
        try:
            numbered = Numbered.of(start_index, seed, task, options)
        except RecursionError:  # a little shallower than what the request's own decoder refuses
            sink(_refusals.too_deep(self.id))
            return
        if (told := self.history.starts.again(numbered)) is not None:
            sink(told)
            return
        self.busy = True
        self._reset(seed, task, options, functools.partial(self._done, sink), numbered)

    def _reset(
        self,
        seed: int | None,
        task: dict[str, Any] | str | None,
        options: dict[str, Any],
        sink: Sink,
        numbered: Numbered | None = None,
        autoreset: bool = False,
    ) -> None:
        if seed is None:
            seed = self.history.next_seed()
        given = {"id": task} if isinstance(task, str) else task
        request = {"seed": seed, "options": options if given is None else {**options, "task": given}}

        def reset_done(code: int, body: bytes) -> None:
            if code >= frames.FIRST_ERROR:
                sink(self._failed(code, body, None))
                return
            episode = self.history.began(seed, given, options, body, asked_ns, numbered, autoreset)
            self._lease.episode = episode
            sink(episode.reply())

        try:
            payload = json.dumps(request).encode()
        except RecursionError:
            sink(_refusals.too_deep(self.id))
            return
        asked_ns = time.time_ns()
        self._lease.ask(frames.RESET, payload, reset_done)

    # -- points of an episode -----------------------------------------------------------------------

    def snapshot(self, sink: Callable[[Episode | HubError], None]) -> None:
        """Saves where the episode stands: natively if that can be done now, else as the record to replay."""
        if self.busy:
            self._line.append(lambda: self.snapshot(sink))
            return
        episode = self.history.episode
        if episode is None or self.ended is not None or self.history.status == "failed":
            sink(self._refusal())
            return
        saved = episode.branch(episode.id)
        if saved.has_state and saved.distance == 0:  # one was taken or restored here
            sink(saved)
            return
        replayable = self._pool.served.spec.replayable and saved.replayable
        otherwise = saved if replayable else _refusals.no_snapshot(self.id, self.env)
        if not self._pool.description.get("native_snapshot"):
            sink(otherwise)
            return

        def taken(code: int, body: bytes) -> None:
            if code >= frames.FIRST_ERROR:
                sink(self._told(code, body))
            elif body == frames.NO_STATE:
                sink(otherwise)
            else:
                saved.rebase(saved.next_index, body)
                self.history.rebased(episode, body)
                sink(saved)
            self._next_in_line()

        self.busy = True
        self._lease.ask(frames.GET_STATE, b"", taken)

    def restore(self, point: Episode, sink: Sink, numbered: Numbered | None = None) -> None:
        """Goes on from a saved point, as an episode of this session's own."""
        if self.busy:
            self._line.append(lambda: self.restore(point, sink, numbered))
            return
        if self.ended is not None:
            sink(self.ended)
            return
        if (told := self.history.starts.again(numbered)) is not None:
            sink(told)
            return
        episode = point.branch(self.history.next_id())

        def there(code: int, body: bytes) -> None:
            if code >= frames.FIRST_ERROR:
                self._done(sink, self._told(code, body))
                return
            self.history.went_to(episode, numbered)
            self._done(sink, episode.point())

        self.busy = True
        self._lease.go_to(episode, there)

    # -- after the hub itself died ------------------------------------------------------------------

    def resume(self, saved: SavedSession) -> None:
        """Goes on from where a log says that the session stood; its replica is brought there."""
        self.history.resume(saved)
        if self.history.status == "failed":
            return
        if saved.damaged:
            self.end(_refusals.lost(self.id, self.env, "steps are missing from the log that was kept of it"))
        elif saved.episode is not None:
            self._resume(saved.episode)

    def _resume(self, episode: Episode) -> None:
        if not self._pool.served.spec.replayable or not episode.replayable:
            self.end(_refusals.lost(self.id, self.env, "its episode can't be replayed"))
            return

        def there(code: int, body: bytes) -> None:
            if code < frames.FIRST_ERROR:
                self._pool.replays += 1
            elif self.ended is None:
                self.end(self._told(code, body))
            self._next_in_line(used=False)

        self.busy = True
        self._lease.go_to(episode, there)

    # -- looking ------------------------------------------------------------------------------------

    def trajectory(self) -> Trajectory:
        """The record of the current episode.

        Raises:
            HubError: There is no episode yet.
        """
        episode = self.history.episode
        if episode is None:
            raise self._refusal()
        return Trajectory(
            session_id=self.id,
            env=self.env,
            env_version=self._pool.served.spec.version,
            data=self._pool.description.get("data"),
            episode_id=episode.id,
            task=episode.played_task,
            seed=episode.seed,
            observation=episode.start["observation"],
            info=episode.start["info"],
            steps=episode.steps,
            isolation=self._pool.served.runtime.isolation,
            lock_digest=self._pool.served.runtime.lock_digest,
        )
