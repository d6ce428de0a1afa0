"""Writing the record: a few calls at the places where something happens in a session.

All events of one turn of the event loop are written together, by a callback that the first of them
schedules. Whoever waits for an answer is woken by a callback scheduled later: so a step is written before
its answer leaves the process. A step's event is made once, of the bytes that the client gets, and goes to
every log.
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

SLICE_BYTES = 256 * 2**10
"""What a compaction writes in one turn of the event loop, and one session more: a millisecond or so."""
_NEVER = -1
_ANSWER = b',"answer":'


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
        """What still matters: the events of one session after the other, which say where it stands when they
        are asked for. While it is None, nothing is compacted."""
        self._compacting: asyncio.Task[None] | None = None
        self._record = record
        self._open = [log for log in (record, state) if log is not None]
        self._logs = self._open
        self.lines: list[bytes] = []
        """What waits to be written: whole lines when they are joined."""
        self._answered_ns = 0
        """When the first step of this turn of the event loop was answered; 0 until one was."""
        self._answered = b""
        """The same as the end of a step's event."""
        self.asked_ns = _NEVER
        self.times = b""
        """The end of a step's event for those that were asked at `asked_ns` and answered in this turn."""

    def session(self, session: str, facts: Facts, idle_timeout_s: float) -> SessionRecord:
        """The record of one session; nothing is written yet."""
        return SessionRecord(self, session, facts, idle_timeout_s)

    def session_ended(self, session: str, reason: str, message: str) -> None:
        """A session of which nothing else is known ended."""
        ended = Ended(session=session, reason=reason, message=message, time_us=now_us())
        self.add(encode(ended) + b"\n")

    def add_to_state(self, line: bytes) -> None:
        """Writes a line that matters to the next hub only, at once."""
        if self.state is not None:
            self.flush()
            self.state.write(line)

    def add(self, line: bytes) -> None:
        """Writes a line by the end of this turn of the event loop."""
        if not self.lines:
            asyncio.get_running_loop().call_soon(self.flush)
        self.lines.append(line)

    def take_times(self, asked_ns: int) -> None:
        """Makes `times` for a step that was asked then and is answered now."""
        took_ns = (self._answered_ns or self._first_answer()) - asked_ns
        self.asked_ns = asked_ns
        self.times = b',"step_us":%d%b' % (took_ns // 1000 if took_ns > 0 else 0, self._answered)

    def _first_answer(self) -> int:
        """Notes when the first step of this turn is answered, and sees to it that it is written."""
        if not self.lines:
            asyncio.get_running_loop().call_soon(self.flush)
        self._answered_ns = time.time_ns()
        self._answered = b',"time_us":%d}\n' % (self._answered_ns // 1000)
        return self._answered_ns

    def flush(self) -> None:
        """Writes what waits."""
        self._answered_ns, self.asked_ns = 0, _NEVER
        lines, self.lines = self.lines, []
        if not lines:
            return
        joined = b"".join(lines)
        for log in self._logs:
            log.write(joined)
        if self._record is not None and self._record.full and not self._record.waiting:
            self._record.rotate()
        self._look_at_state()

    def retry(self) -> None:
        """Writes what a full disk refused a while ago."""
        for log in self._logs:
            log.retry()
        self._look_at_state()

    def _look_at_state(self) -> None:
        if self.state is None or self.open_sessions is None or not self.state.to_replace:
            return
        if self._compacting is None or self._compacting.done():
            self._compacting = asyncio.get_running_loop().create_task(self.compact())

    async def compact(self) -> None:
        """Forgets in the state's log what is over, a slice in each turn of the event loop.

        Meanwhile events go to both files. Those that come before their session in the new one are part of
        where it stands; whoever reads the log skips what is of no session it knows.
        """
        state = self.state
        if state is None or self.open_sessions is None or state.replacing:
            return
        self.flush()
        state.begin_next()
        try:
            await self._write_open_sessions(state, self.open_sessions())
        finally:
            state.drop_next()  # if it is not done
            self._compacting = None

    async def _write_open_sessions(self, state: Log, sessions: Iterable[bytes]) -> None:
        slice = [encode(Compacted(time_us=now_us())) + b"\n"]
        size = 0
        for lines in sessions:
            if not state.replacing:  # the disk is full, or the hub stops
                return
            slice.append(lines)
            size += len(lines)
            if size > SLICE_BYTES:
                state.write_next(b"".join(slice))
                slice, size = [], 0
                await asyncio.sleep(0)
                self.flush()  # what happened meanwhile comes before the sessions that follow
        if state.replacing:
            state.write_next(b"".join(slice))
            state.end_next()

    @property
    def dropped(self) -> int:
        """Bytes that were never written, because the disk took nothing for too long."""
        return sum(log.dropped for log in self._logs)

    @property
    def waiting(self) -> int:
        """Bytes that wait for a full disk."""
        return sum(log.waiting for log in self._logs)

    def leave(self) -> None:
        """The hub stops: with a state's log, the sessions that are open stay open in it."""
        self.flush()
        if self.state is not None:
            self.state.drop_next()
            self._logs, self.state = [], None

    def close(self) -> None:
        """Writes what waits; nothing can be written any more."""
        self.flush()
        if self._compacting is not None:
            self._compacting.cancel()
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

    __slots__ = ("_facts", "_idle_timeout_s", "_recorder", "_session", "_step", "noted_us", "opened_us")

    def __init__(self, recorder: Recorder, session: str, facts: Facts, idle_timeout_s: float) -> None:
        self._recorder = recorder
        self._session = session
        self._idle_timeout_s = idle_timeout_s
        self._step = b""  # how an event of a step of the current episode begins
        self.opened_us = self.noted_us = now_us()
        """When it was opened, and when the log last said that it is in use."""
        self._facts = fields_of(facts)

    def opened_line(self, more: bytes = b"") -> bytes:
        """The event of its opening; `more` holds further fields, each with a comma before it."""
        return b'{"event":"opened","session":"%b",%b,"idle_timeout_s":%r,"time_us":%d%b}\n' % (
            self._session.encode(),
            self._facts,
            self._idle_timeout_s,
            self.opened_us,
            more,
        )

    def opened(self) -> None:
        """It was opened."""
        self._recorder.add(self.opened_line())

    def episode_line(
        self,
        episode: str,
        seed: int,
        task: bytes,
        options: bytes,
        start: bytes,
        more: bytes = b"",
        asked_ns: int | None = None,
        at_us: int | None = None,
    ) -> bytes:
        """The event of an episode's beginning.

        Args:
            episode: Its id.
            seed: Its seed.
            task: The task that was asked for, as JSON.
            options: The reset's options, as JSON.
            start: The environment's answer to the reset.
            more: Further fields, each with a comma before it.
            asked_ns: When the reset was asked of the environment, in nanoseconds since the epoch.
            at_us: When it happened; None is now.
        """
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
                now // 1000 if at_us is None else at_us,
                0 if asked_ns is None else max(0, now - asked_ns) // 1000,
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

    def step(self, action: bytes, answer: bytes, asked_ns: int) -> None:
        """A step of the current episode was taken, which was asked then (nanoseconds since the epoch)."""
        if b"\n" in action:  # between tokens; within a JSON text it can't be
            action = action.replace(b"\n", b" ")
        recorder = self._recorder
        if recorder.asked_ns != asked_ns:
            recorder.take_times(asked_ns)
        recorder.lines += (self._step, action, _ANSWER, answer, recorder.times)

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


def fields_of(facts: Facts) -> bytes:
    """The facts as fields of an event."""
    return (
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


def now_us() -> int:
    """Microseconds since the epoch."""
    return time.time_ns() // 1000
