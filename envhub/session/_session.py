"""One client's lease on one replica.

Invariants:
- At most one operation of a session is under way; others wait in line, in order.
- A step is executed once however often it is asked for: the same index and action again joins the step
  under way, or gets the recorded answer byte for byte.
- Once ended (closed, expired, lost) a session never touches its replica again.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from envhub.pool import Pool, Replica
from envhub.record import SessionRecord
from envhub.session import _refusals
from envhub.session._counts import Counts
from envhub.session._episode import Episode
from envhub.session._errors import HubError
from envhub.session._history import History
from envhub.session._lease import CHECKPOINT_STEPS, Lease
from envhub.session._saved import SavedSession
from envhub.session._starts import Numbered
from envhub.worker import frames
from envhub_sdk._wire import SessionState, Trajectory

log = logging.getLogger("envhub.session")

Answer = bytes | HubError
Sink = Callable[[Answer], None]
"""Takes the answer to one operation: the JSON of the reply, or the error."""


class Session:
    """A lease.

    Args:
        id: The session's name on the wire.
        env: The name of its environment.
        pool: Where its replica comes from.
        replica: The replica it holds, as a `Lease`.
        idle_timeout_s: How long it may go unused.
        labels: The client's own marks.
        clock: The event loop's time.
        on_end: Called once when it ends, with the error that later callers are told.
        counts: Where what happens in it is counted.
        owner: Name of the token it belongs to, if any.
        record: Where what happens in it is written down, if anywhere.
    """

    def __init__(
        self,
        id: str,
        env: str,
        pool: Pool,
        replica: Replica,
        idle_timeout_s: float,
        labels: dict[str, str],
        clock: Callable[[], float],
        on_end: Callable[[Session, HubError], None],
        counts: Counts,
        owner: str | None = None,
        record: SessionRecord | None = None,
    ) -> None:
        self.id, self.env, self.labels, self.owner = id, env, labels, owner
        self.idle_timeout_s = idle_timeout_s
        self._clock = clock
        self.created_at = self.last_used = clock()
        self.history = History(id, functools.partial(counts.episode_over, env), record)
        self.ended: HubError | None = None
        self.busy = False
        """Whether an operation is under way."""
        self._counts = counts
        self._pool = pool
        self._lease = Lease(pool, replica, f"session {id} of {env}", self.end)
        self._on_end = on_end
        self._under_way: tuple[bytes, int, str] | None = None
        self._joined: list[Sink] = []
        self._line: deque[Callable[[], None]] = deque()

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

    def _refusal(self) -> HubError:
        return self.ended or _refusals.no_running_episode(self.id, self.env, self.history)

    # -- resets and the rest ------------------------------------------------------------------------

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

    async def render(self) -> tuple[int, bytes]:
        """Draws the environment: a status of `frames` (TEXT or PNG) and the picture.

        Raises:
            HubError: The environment draws nothing, or failed to, or there is no episode to draw.
        """
        future: asyncio.Future[tuple[int, bytes]] = asyncio.get_running_loop().create_future()

        def drawn(code: int, body: bytes) -> None:
            failure = self._told(code, body) if code >= frames.FIRST_ERROR else None
            if not future.done():
                future.set_exception(failure) if failure else future.set_result((code, body))
            self._next_in_line()

        def start() -> None:
            if future.done():  # whoever asked is gone
                return
            if self.ended is not None or self.history.status in ("new", "failed"):
                future.set_exception(self._refusal().copy())
                return
            self.busy = True
            self._lease.ask(frames.RENDER, b"", drawn)

        if self.busy:
            self._line.append(start)
        else:
            start()
        return await future

    # -- points of an episode -----------------------------------------------------------------------

    def snapshot(self, sink: Callable[[Episode | HubError], None]) -> None:
        """Saves where the episode stands: natively if the environment can, else as the record to replay."""
        if self.busy:
            self._line.append(lambda: self.snapshot(sink))
            return
        episode = self.history.episode
        if episode is None or self.ended is not None or self.history.status == "failed":
            sink(self._refusal())
            return
        saved = episode.branch(episode.id)
        if not self._pool.description.get("native_snapshot"):
            replayable = self._pool.served.spec.replayable and saved.replayable
            sink(saved if replayable else _refusals.no_snapshot(self.id, self.env))
            return

        def taken(code: int, body: bytes) -> None:
            if code >= frames.FIRST_ERROR:
                sink(self._told(code, body))
            else:
                saved.rebase(saved.next_index, body)
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

    def _done(self, sink: Sink, answer: Answer) -> None:
        """Ends the operation under way: everyone who asked for it is answered, the next one starts."""
        if self.ended is not None and self.ended.code == "not_ready":
            answer = self.ended  # the hub stopped before this was saved: the next one does it again
        joined, self._joined, self._under_way = self._joined, [], None
        sink(answer)
        for other in joined:
            other(answer)
        self._next_in_line()

    def _next_in_line(self) -> None:
        self.busy = False
        self.last_used = self._clock()
        if self.ended is not None:
            self._lease.give_back()
        while self._line and not self.busy:
            self._line.popleft()()

    def _failed(self, code: int, body: bytes, episode: Episode | None) -> HubError:
        """What the client is told of a failed step or reset; unless it was refused, the episode is lost."""
        error = self._told(code, body)
        if error.code in ("environment_error", "step_timeout"):
            error.message += f"; the session survives: reset {self.id} to go on"
            error.details["session_survives"] = True
            self._lease.episode = None
            log.warning("%s", error.message, extra={**self.about, "code": error.code})
            self.history.failed(error, episode)
        return error

    def _told(self, code: int, body: bytes) -> HubError:
        name, said = frames.ERRORS[code], json.loads(body)
        if self.ended is not None:
            return self.ended
        details = {"session_id": self.id, "env": self.env, **said["details"]}
        return HubError(name, f"{self.env}: {said['message']}", details)

    # -- ends ---------------------------------------------------------------------------------------

    def end(self, reason: HubError) -> None:
        """Ends the session; its replica is given back as soon as no operation is under way."""
        if self.ended is not None:
            return
        self.ended = reason
        self.history.closed(reason)
        self._on_end(self, reason)
        if not self.busy:
            self._lease.give_back()

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
            self._next_in_line()

        self.busy = True
        self._lease.go_to(episode, there)

    def note_use(self, clock_offset: float) -> None:
        """Writes down that it is in use, where that was long ago."""
        self.history.note_use(int((self.last_used + clock_offset) * 1e6), self.idle_timeout_s)

    # -- looking ------------------------------------------------------------------------------------

    @property
    def about(self) -> dict[str, object]:
        """What a log entry says of it besides its words."""
        return {"session": self.id, "env": self.env, "worker": self._lease.worker}

    def state(self, clock_offset: float) -> SessionState:
        """Where the session stands; `clock_offset` turns loop time into Unix time."""
        episode = self.history.episode
        return SessionState(
            id=self.id,
            env=self.env,
            status=self.history.status,
            task=episode.played_task if episode else None,
            seed=episode.seed if episode else None,
            episode_id=episode.id if episode else None,
            step_index=episode.next_index if episode else 0,
            episode_return=episode.total_reward if episode else 0.0,
            terminated=bool(episode and episode.flags & frames.TERMINATED),
            truncated=bool(episode and episode.flags & frames.TRUNCATED),
            worker_generation=self._lease.generation,
            created_at=self.created_at + clock_offset,
            expires_at=self.last_used + self.idle_timeout_s + clock_offset,
            labels=self.labels,
            owner=self.owner,
            isolation=self._pool.served.runtime.isolation,
            lock_digest=self._pool.served.runtime.lock_digest,
        )

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

    def __repr__(self) -> str:
        return f"<Session {self.id} of {self.env}, {self.history.status}>"
