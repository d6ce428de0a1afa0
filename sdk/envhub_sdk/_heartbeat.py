"""Keeping sessions alive while nobody steps them.

`Beats` decides who is due when and does no I/O; `HeartbeatThread` and `HeartbeatTask` send. A hub has one
of them for all its sessions. It starts with the first session and ends when none is left.

Garbage collection may end an environment in any thread, at any point, with any lock held. What it calls here
therefore takes no lock and does no I/O: it leaves a word that wakes the sender, which closes the session.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import queue
import threading
import time
import weakref
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from envhub_sdk._exceptions import EnvHubError, SessionGone

BEATS_PER_TIMEOUT = 3
"""How often a session is renewed within its idle timeout, so that a lost keepalive does no harm."""

CANCEL_S = 1.0


@dataclass(slots=True)
class _Entry:
    owner: weakref.ref[Any]
    interval_s: float
    due: float
    beat: bool


class Beats:
    """Which sessions are open, and when each needs a sign of life.

    A session belongs to an object (its environment); when that is garbage-collected without a close, the
    session is due at once to be closed.

    Args:
        collected: Called after a session's owner was collected; where and when is the collector's choice.
        clock: Seconds that only grow.
    """

    def __init__(self, collected: Callable[[], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._collected = collected
        self._clock = clock
        self._entries: dict[str, _Entry] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, session: str) -> bool:
        return session in self._entries

    def add(self, session: str, idle_timeout_s: float, owner: object, beat: bool) -> None:
        """Note a session that was opened just now; without `beat` it is only closed with its owner."""
        interval = idle_timeout_s / BEATS_PER_TIMEOUT
        held = weakref.ref(owner, lambda _: self._orphan(session))
        self._entries[session] = _Entry(held, interval, self._clock() + interval, beat)

    def used(self, session: str) -> None:
        """Note that the hub has just answered a call of this session."""
        entry = self._entries.get(session)
        if entry is not None:
            entry.due = self._clock() + entry.interval_s

    def failed(self, session: str) -> None:
        """Note that a keepalive did not get through: the next one is due sooner."""
        entry = self._entries.get(session)
        if entry is not None:
            entry.due = min(entry.due, self._clock() + entry.interval_s / BEATS_PER_TIMEOUT)

    def drop(self, *sessions: str) -> None:
        """Forget sessions that are closed or gone."""
        for session in sessions:
            self._entries.pop(session, None)

    def sessions(self) -> list[str]:
        """Every open session."""
        return list(self._entries)

    def idle_timeout_s(self, *sessions: str) -> float | None:
        """The longest idle timeout among open sessions: those given, or all."""
        found = [self._entries.get(session) for session in sessions or self.sessions()]
        return max((BEATS_PER_TIMEOUT * entry.interval_s for entry in found if entry), default=None)

    def wait_s(self) -> float | None:
        """Seconds until some session is due, at least 0; None when none is open."""
        due = [entry.due for entry in list(self._entries.values())]
        return max(0.0, min(due) - self._clock()) if due else None

    def take_due(self) -> tuple[list[str], list[str]]:
        """Return the sessions to renew and those to close and drop; each is due again an interval later."""
        now = self._clock()
        renew, close = [], []
        for session, entry in list(self._entries.items()):
            if entry.due > now:
                continue
            entry.due = now + entry.interval_s
            if entry.owner() is None:
                close.append(session)
            elif entry.beat:
                renew.append(session)
        return renew, close

    def _orphan(self, session: str) -> None:
        entry = self._entries.get(session)
        if entry is not None:
            entry.due = -math.inf
            self._collected()


class HeartbeatThread:
    """Sends keepalives from one background thread.

    Args:
        renew: Sends one keepalive.
        close: Closes sessions whose owners are gone; told their longest idle timeout.
    """

    def __init__(
        self, renew: Callable[[str], None], close: Callable[[list[str], float | None], None]
    ) -> None:
        self._renew, self._close = renew, close
        self._changes: queue.SimpleQueue[None] = queue.SimpleQueue()  # its put() is safe in a collection
        self._beats = Beats(self._changed)
        self._lock = threading.Lock()  # whoever adds a session and the thread that ends must agree
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        """Whether the thread lives."""
        return self._thread is not None

    def add(self, session: str, idle_timeout_s: float, owner: object, beat: bool) -> None:
        """Keep a session alive from now on."""
        with self._lock:
            self._beats.add(session, idle_timeout_s, owner, beat)
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="envhub-heartbeat", daemon=True)
                thread.start()
                self._thread = thread  # only now: an interrupt may have kept it from starting
        self._changed()

    def used(self, session: str) -> None:
        """Put off a session's keepalive: it was used."""
        self._beats.used(session)

    def idle_timeout_s(self, *sessions: str) -> float | None:
        """The longest idle timeout among open sessions: those given, or all."""
        return self._beats.idle_timeout_s(*sessions)

    def drop(self, *sessions: str) -> None:
        """Stop keeping sessions alive."""
        self._beats.drop(*sessions)
        self._changed()

    def stop(self) -> list[str]:
        """Stop, and return the sessions that were still open."""
        sessions = self._beats.sessions()
        self.drop(*sessions)
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()
        return sessions

    def _changed(self) -> None:
        self._changes.put(None)

    def _run(self) -> None:
        while True:
            with self._lock:
                wait_s = self._beats.wait_s()
                if wait_s is None:
                    self._thread = None
                    return
            if wait_s > 0:
                self._wait(wait_s)
                continue
            renew, close = self._beats.take_due()
            for session in renew:
                if session in self._beats:
                    self._send(session)
            if close:
                with contextlib.suppress(EnvHubError):
                    self._close(close, self._beats.idle_timeout_s(*close))
                self._beats.drop(*close)

    def _wait(self, seconds: float) -> None:
        """Wait for a change, and take all there are: `_run` looks at the whole state anyway."""
        with contextlib.suppress(queue.Empty):
            self._changes.get(timeout=seconds)
            while True:
                self._changes.get_nowait()

    def _send(self, session: str) -> None:
        try:
            self._renew(session)
        except SessionGone:
            self.drop(session)  # its environment hears of it at its next step
        except EnvHubError:
            self._beats.failed(session)


class HeartbeatTask:
    """Sends keepalives from one asyncio task.

    Args:
        renew: Sends one keepalive.
        close: Closes sessions whose owners are gone; told their longest idle timeout.
    """

    def __init__(
        self,
        renew: Callable[[str], Awaitable[None]],
        close: Callable[[list[str], float | None], Awaitable[None]],
    ) -> None:
        self._renew, self._close = renew, close
        self._beats = Beats(self._collected)
        self._changed = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def running(self) -> bool:
        """Whether the task lives."""
        return self._task is not None

    def add(self, session: str, idle_timeout_s: float, owner: object, beat: bool) -> None:
        """Keep a session alive from now on."""
        self._beats.add(session, idle_timeout_s, owner, beat)
        if self._task is None or self._task.done():
            self._loop = asyncio.get_running_loop()
            self._task = self._loop.create_task(self._run(), name="envhub-heartbeat")
        self._changed.set()

    def used(self, session: str) -> None:
        """Put off a session's keepalive: it was used."""
        self._beats.used(session)

    def idle_timeout_s(self, *sessions: str) -> float | None:
        """The longest idle timeout among open sessions: those given, or all."""
        return self._beats.idle_timeout_s(*sessions)

    def drop(self, *sessions: str) -> None:
        """Stop keeping sessions alive."""
        self._beats.drop(*sessions)
        self._changed.set()

    async def stop(self) -> list[str]:
        """Stop, and return the sessions that are still open, for the caller to drop."""
        if self._task is not None:
            task = self._task
            while not task.done():  # more than once, should what it waits for lose the cancellation
                task.cancel()
                await asyncio.wait([task], timeout=CANCEL_S)
            self._task = None
        return self._beats.sessions()

    def _collected(self) -> None:
        if self._loop is not None and not self._loop.is_closed():
            with contextlib.suppress(RuntimeError):  # it was closed just now
                self._loop.call_soon_threadsafe(self._changed.set)

    async def _run(self) -> None:
        try:
            while (wait_s := self._beats.wait_s()) is not None:
                self._changed.clear()
                if wait_s > 0:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(wait_s):  # wait_for loses a cancellation at that moment
                            await self._changed.wait()
                    continue
                await self._beat()
        finally:
            self._task = None

    async def _beat(self) -> None:
        renew, close = self._beats.take_due()
        for session in renew:
            if session in self._beats:
                await self._send(session)
        if close:
            with contextlib.suppress(EnvHubError):
                await self._close(close, self._beats.idle_timeout_s(*close))
            self._beats.drop(*close)

    async def _send(self, session: str) -> None:
        try:
            await self._renew(session)
        except SessionGone:
            self.drop(session)
        except EnvHubError:
            self._beats.failed(session)
