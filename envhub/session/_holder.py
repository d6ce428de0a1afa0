"""Who holds a replica, and does one thing at a time with it.

Invariants:
- At most one operation of a session is under way; others wait in line, in order.
- Once ended (closed, expired, lost) a session never touches its replica again.
"""

from __future__ import annotations

import asyncio
import functools
import json
import logging
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
from envhub.session._lease import Lease
from envhub.worker import frames
from envhub_sdk._wire import SessionState

log = logging.getLogger("envhub.session")

Answer = bytes | HubError
Sink = Callable[[Answer], None]
"""Takes the answer to one operation: the JSON of the reply, or the error."""


class Holder:
    """The holder of a replica.

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
        on_end: Callable[[Any, HubError], None],
        counts: Counts,
        owner: str | None = None,
        record: SessionRecord | None = None,
    ) -> None:
        self.id, self.env, self.labels, self.owner = id, env, labels, owner
        self.idle_timeout_s = idle_timeout_s
        self._clock = clock
        self.created_at = self.last_used = clock()
        self.noted_use: float | None = None
        """When the hub before noted that it was last in use; it may have been up to a quarter of its idle
        time later."""
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

    def _refusal(self) -> HubError:
        return self.ended or _refusals.no_running_episode(self.id, self.env, self.history)

    def _done(self, sink: Sink, answer: Answer) -> None:
        """Ends the operation under way: everyone who asked for it is answered, the next one starts."""
        if self.ended is not None and self.ended.code == "not_ready":
            answer = self.ended  # the hub stopped before this was saved: the next one does it again
        joined, self._joined, self._under_way = self._joined, [], None
        sink(answer)
        for other in joined:
            other(answer)
        self._next_in_line()

    def _next_in_line(self, used: bool = True) -> None:
        """Ends the operation under way; `used` is whether its client asked for it."""
        self.busy = False
        if used:
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

    def end(self, reason: HubError) -> None:
        """Ends the session; its replica is given back as soon as no operation is under way."""
        if self.ended is not None:
            return
        self.ended = reason
        self.history.closed(reason)
        self._on_end(self, reason)
        if not self.busy:
            self._lease.give_back()

    @property
    def expires_at(self) -> float:
        """The loop time from which it is surely idle for too long."""
        unnoted_s = 0.25 * self.idle_timeout_s if self.last_used == self.noted_use else 0.0
        return self.last_used + self.idle_timeout_s + unnoted_s

    def excuse(self, seconds: float) -> None:
        """Count so much time, until now, as none in which it was idle."""
        used = min(self._clock(), self.last_used + seconds)
        if self.noted_use == self.last_used:
            self.noted_use = used
        self.last_used = used

    def note_use(self, clock_offset: float) -> None:
        """Writes down that it is in use, where that was long ago."""
        self.history.note_use(int((self.last_used + clock_offset) * 1e6), self.idle_timeout_s)

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

    def __repr__(self) -> str:
        return f"<Session {self.id} of {self.env}, {self.history.status}>"
