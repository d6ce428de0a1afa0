"""Writing the record: a few calls at the places where something happens in a session.

All events of one turn of the event loop are written together, by a callback that the first of them
schedules. Whoever waits for an answer is woken by a callback scheduled later: so a step is written before
its answer leaves the process.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from envhub.record._events import Compacted, Ended, Failed, Renewed, encode
from envhub.record._log import Log


@dataclass(frozen=True, slots=True)
class Facts:
    """What is written with every episode, so that each can be read by itself."""

    env: str
    env_version: str
    config: dict[str, Any]
    limits: dict[str, float]
    data_digest: str | None
    labels: dict[str, str]
    owner: str | None = None
    """Name of the token the session belongs to."""
    isolation: str = "host"
    conda_locked: bool = False
    lock_digest: str | None = None


class Recorder:
    """Writes events to logs.

    Args:
        record: Keeps every event for good.
        state: Keeps what is needed to go on with the sessions that are open.
    """

    def __init__(self, record: Log | None = None, state: Log | None = None) -> None:
        self.state = state
        self.open_sessions: Callable[[], Iterable[bytes]] | None = None
        """The events that say where every open session stands. While it is None, nothing is compacted."""
        self._record = record
        self._open = [log for log in (record, state) if log is not None]
        self._logs = self._open
        self.lines: list[bytes] = []
        """What waits to be written: whole lines when they are joined."""
        self.now_ns = 0
        """The time of this turn of the event loop, in nanoseconds since the epoch; 0 until it is needed."""
        self.asked_ns = -1
        self.times = b""
        """What `times_since` made last in this turn: steps of a batch are asked and answered together."""

    def session(self, session: str, facts: Facts, idle_timeout_s: float) -> SessionRecord:
        """The record of one session; nothing is written yet."""
        return SessionRecord(self, session, facts, idle_timeout_s)

    def session_ended(self, session: str, reason: str, message: str) -> None:
        """A session of which nothing else is known ended."""
        ended = Ended(session=session, reason=reason, message=message, time_us=now_us())
        self.add(encode(ended) + b"\n")

    def add(self, line: bytes) -> None:
        """Writes a line by the end of this turn of the event loop."""
        self.turn()
        self.lines.append(line)

    def turn(self) -> int:
        """The time of this turn; the first to ask for it sees to it that what it brings is written."""
        if not self.now_ns:
            asyncio.get_running_loop().call_soon(self.flush)
            self.now_ns = time.time_ns()
            self.asked_ns = -1
        return self.now_ns

    def times_since(self, asked_ns: int) -> bytes:
        """The end of a step's event: how long it took since then, and the time."""
        now_ns = self.now_ns or self.turn()
        self.asked_ns = asked_ns
        self.times = b',"step_us":%d,"time_us":%d}\n' % ((now_ns - asked_ns) // 1000, now_ns // 1000)
        return self.times

    def flush(self) -> None:
        """Writes what waits."""
        self.now_ns = 0
        lines, self.lines = self.lines, []
        if not lines:
            return
        joined = b"".join(lines)
        for log in self._logs:
            log.write(joined)
        if self._record is not None and self._record.full:
            self._record.rotate()
        if self.state is not None and self.state.full:
            self.compact()

    def compact(self) -> None:
        """Forgets in the state's log what is over."""
        if self.state is None or self.open_sessions is None:
            return
        head = encode(Compacted(time_us=now_us())) + b"\n"
        try:
            self.state.replace([head, *self.open_sessions()])
        except OSError:  # a full disk: the log goes on growing, or waits
            self.state.limit *= 2

    @property
    def dropped(self) -> int:
        """Bytes that were never written, because the disk took nothing for too long."""
        return sum(log.dropped for log in self._logs)

    def leave(self) -> None:
        """The hub stops: with a state's log, the sessions that are open stay open in it."""
        self.flush()
        if self.state is not None:
            self._logs, self.state = [], None

    def close(self) -> None:
        """Writes what waits; nothing can be written any more."""
        self.flush()
        for log in self._open:
            log.close()
        self._logs = []


class SessionRecord:
    """Writes the events of one session.

    Args:
        recorder: Takes its lines.
        session: The session's id.
        facts: Of its environment.
        idle_timeout_s: How long it may go unused.
    """

    __slots__ = ("_asked_ns", "_facts", "_idle_timeout_s", "_recorder", "_session", "_step", "noted_us")

    def __init__(self, recorder: Recorder, session: str, facts: Facts, idle_timeout_s: float) -> None:
        self._recorder = recorder
        self._session = session
        self._idle_timeout_s = idle_timeout_s
        self._asked_ns = 0
        self._step = b""  # how an event of a step of the current episode begins
        self.noted_us = now_us()
        """When the log last said that the session is in use."""
        self._facts = (
            b'"env":%b,"env_version":%b,"config":%b,"limits":%b,"isolation":%b,"conda_locked":%b,'
            b'"lock_digest":%b,"data_digest":%b,"labels":%b,"owner":%b'
            % (
                encode(facts.env),
                encode(facts.env_version),
                json.dumps(facts.config, default=str).encode(),
                encode(facts.limits),
                encode(facts.isolation),
                encode(facts.conda_locked),
                encode(facts.lock_digest),
                encode(facts.data_digest),
                encode(facts.labels),
                encode(facts.owner),
            )
        )

    def opened_line(self) -> bytes:
        """The event of its opening."""
        return b'{"event":"opened","session":"%b",%b,"idle_timeout_s":%r,"time_us":%d}\n' % (
            self._session.encode(),
            self._facts,
            self._idle_timeout_s,
            self.noted_us,
        )

    def opened(self) -> None:
        """It was opened."""
        self._recorder.add(self.opened_line())

    def asked(self) -> None:
        """A reset or a step is asked of the environment: its time runs."""
        self._asked_ns = self._recorder.now_ns or self._recorder.turn()

    def episode_line(
        self, episode: str, seed: int, task: bytes, options: bytes, start: bytes, more: bytes = b""
    ) -> bytes:
        """The event of an episode's beginning; `more` holds further fields, each with a comma before it."""
        now = time.time_ns()
        return (
            b'{"event":"episode","session":"%b","episode":"%b",%b,"seed":%d,"task":%b,"options":%b,'
            b'"time_us":%d,"reset_us":%d%b,"start":%b}\n'
            % (
                self._session.encode(),
                episode.encode(),
                self._facts,
                seed,
                task,
                options,
                now // 1000,
                max(0, now - self._asked_ns) // 1000 if self._asked_ns else 0,
                more,
                start,
            )
        )

    def episode(self, episode: str, lines: Iterable[bytes]) -> None:
        """An episode began; its events are given."""
        for line in lines:
            self._recorder.add(line)
        self.continues(episode)
        self.noted_us = now_us()

    def continues(self, episode: str) -> None:
        """The steps that follow are of this episode."""
        self._step = b'{"event":"step","episode":"%b","action":' % episode.encode()

    def step(self, action: bytes, answer: bytes) -> None:
        """A step of the current episode was taken, since `asked` was called."""
        if b"\n" in action:  # between tokens; within a JSON text it can't be
            action = action.replace(b"\n", b" ")
        recorder, asked_ns = self._recorder, self._asked_ns
        known = recorder.now_ns and recorder.asked_ns == asked_ns
        times = recorder.times if known else recorder.times_since(asked_ns)
        recorder.lines += (self._step, action, b',"answer":', answer, times)

    @staticmethod
    def old_step_line(episode: str, action: bytes, answer: bytes) -> bytes:
        """The event of a step that was taken earlier; its times are 0."""
        return b'{"event":"step","episode":"%b","time_us":0,"step_us":0,"action":%b,"answer":%b}\n' % (
            episode.encode(),
            action.replace(b"\n", b" "),
            answer,
        )

    @staticmethod
    def checkpoint_line(episode: str, index: int, state: bytes) -> bytes:
        """The event of a native snapshot."""
        return b'{"event":"checkpoint","episode":"%b","index":%d,"state":%b}\n' % (
            episode.encode(),
            index,
            state,
        )

    def checkpoint(self, episode: str, index: int, state: bytes) -> None:
        """A native snapshot was taken before step `index`."""
        self._recorder.add(self.checkpoint_line(episode, index, state))

    def failed_line(self, episode: str | None, code: str, message: str) -> bytes:
        """The event of a failure."""
        failed = Failed(session=self._session, episode=episode, code=code, message=message, time_us=now_us())
        return encode(failed) + b"\n"

    def failed(self, episode: str | None, code: str, message: str) -> None:
        """The episode failed, or a reset if there is none."""
        self._recorder.add(self.failed_line(episode, code, message))

    def ended(self, reason: str, message: str) -> None:
        """The session ended."""
        ended = Ended(session=self._session, reason=reason, message=message, time_us=now_us())
        self._recorder.add(encode(ended) + b"\n")

    def renewed(self, used_us: int) -> None:
        """The session was in use at that time."""
        self.noted_us = used_us
        self._recorder.add(self.renewed_line())

    def renewed_line(self) -> bytes:
        """The event that says when it was last in use."""
        return encode(Renewed(session=self._session, time_us=self.noted_us)) + b"\n"


def now_us() -> int:
    """Microseconds since the epoch."""
    return time.time_ns() // 1000
