"""Every session of the hub, and what is done with them: steps, resets, batches, expiry, the hub's own end.

Invariants:
- One bad session never spoils the others of a batch: each item has its own answer.
- While the hub drains nothing new begins; what is under way goes on.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping

from envhub.pool import Pool, Replica
from envhub.record import Recorder
from envhub.session._caller import may_use
from envhub.session._errors import HubError
from envhub.session._gathered import Gathered
from envhub.session._holder import Sink
from envhub.session._openings import Openings, SessionSettings
from envhub.session._points import Points
from envhub.session._register import Register
from envhub.session._saved import SavedSession
from envhub_sdk._wire import BatchReset, BatchStep, ResetItem, ResetRequest, StepItem, StepRequest

log = logging.getLogger("envhub.session")

SWEEP_S = 0.5
DRAIN_LOOK_S = 0.02


class Sessions(Register):
    """The sessions of all pools.

    Args:
        pools: The pool of each served environment, by name.
        settings: What holds where the opener says nothing.
        recorder: Writes down what happens.
    """

    def __init__(
        self,
        pools: Mapping[str, Pool],
        settings: SessionSettings | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        super().__init__(pools, recorder)
        self.openings = Openings(self, settings or SessionSettings())
        self.points = Points(self, self.openings)

    def step(
        self,
        session_id: str,
        step: StepRequest | StepItem,
        autoreset: bool,
        sink: Sink,
        asked_ns: int | None = None,
    ) -> None:
        """Takes one step of one session; never raises, the sink hears of errors.

        Args:
            session_id: The session.
            step: The step.
            autoreset: Whether to start the next episode when this step ends the current one.
            sink: Takes the answer.
            asked_ns: The time, in nanoseconds since the epoch, where the caller has looked already.
        """
        try:
            self.check_draining()
            session = self.find(session_id)
        except HubError as error:
            self._later(session_id, error, lambda: self.step(session_id, step, autoreset, sink), sink)
            return
        self.counts.steps[session.env] += 1
        asked_ns = time.time_ns() if asked_ns is None else asked_ns
        session.step(bytes(step.action), step.step_index, step.episode_id, autoreset, sink, asked_ns)

    def reset(self, session_id: str, reset: ResetRequest | ResetItem, sink: Sink) -> None:
        """Resets one session; never raises, the sink hears of errors."""
        try:
            self.check_draining()
            session = self.find(session_id)
        except HubError as error:
            self._later(session_id, error, lambda: self.reset(session_id, reset, sink), sink)
            return
        self.counts.resets[session.env] += 1
        session.reset(reset.seed, reset.task, reset.options, sink, reset.start_index)

    async def step_batch(self, batch: BatchStep) -> bytes:
        """Takes one step of each of many sessions; returns the JSON reply."""
        gathered, now_ns = Gathered(len(batch.steps)), time.time_ns()
        for number, item in enumerate(batch.steps):
            self.step(item.session_id, item, batch.autoreset, gathered.sink(number), now_ns)
        return gathered.reply(await gathered.future)

    async def reset_batch(self, batch: BatchReset) -> bytes:
        """Resets many sessions; returns the JSON reply."""
        gathered = Gathered(len(batch.resets))
        for number, item in enumerate(batch.resets):
            self.reset(item.session_id, item, gathered.sink(number))
        return gathered.reply(await gathered.future)

    async def expire_idle(self) -> None:
        """Ends idle sessions, for as long as the hub runs.

        Time in which the hub itself stood still is not idle time: nobody could use a session then.
        """
        looked = self._clock()
        while True:
            await asyncio.sleep(SWEEP_S)
            now = self._clock()
            late_s, looked = now - looked - SWEEP_S, now
            if self.recorder is not None:
                self.recorder.retry()
            for session in self.all():
                if late_s > SWEEP_S:
                    session.excuse(late_s)
                session.note_use(self.clock_offset)
                if now > session.expires_at and not session.busy:
                    session.end(
                        HubError(
                            "session_expired",
                            f"session {session.id} of {session.env} was idle for more than "
                            f"{session.idle_timeout_s:g} s and gave its replica back; open a new one, "
                            "with a longer idle_timeout_s or keepalives if your policy thinks for long",
                        )
                    )

    def _later(self, session_id: str, error: HubError, again: Callable[[], None], sink: Sink) -> None:
        """Asks again when the session has its replica, if that is what is missing."""
        awaited = self.awaited.get(session_id)
        if awaited is not None and not self.draining and may_use(awaited.opened.owner):
            awaited.waiting.append(again)
        else:
            sink(error)

    def adopt(self, saved: SavedSession, replica: Replica) -> None:
        """Goes on with a session that was open when the hub before this one died."""
        opened = saved.opened
        del self.awaited[opened.session]
        session = self.add(
            opened.session, opened.env, replica, opened.idle_timeout_s, opened.labels, opened.owner
        )
        self.counts.resumed[opened.env] += 1
        session.created_at = opened.time_us / 1e6 - self.clock_offset
        session.last_used = session.noted_use = saved.used_us / 1e6 - self.clock_offset
        log.info("session %s goes on", session.id, extra=session.about)
        session.resume(saved)
        for again in saved.waiting:
            again()

    def lines(self) -> Iterator[bytes]:
        """The events from which the next hub goes on: those of each open session, then the snapshots."""
        yield from super().lines()
        yield from self.points.lines()

    def written(self) -> None:
        """Writes down what waits for it: called before answers leave."""
        if self.recorder is not None:
            self.recorder.flush()

    async def drain(self, timeout_s: float) -> None:
        """Lets nothing new begin and waits for what is under way, for at most `timeout_s` seconds."""
        self.draining = True
        for pool in self.pools.values():
            pool.turn_away("the hub is draining")
        deadline = self._clock() + timeout_s
        while self._clock() < deadline and (
            self.under_way or any(session.busy for session in self._sessions.values())
        ):
            await asyncio.sleep(DRAIN_LOOK_S)

    def close_all(self) -> None:
        """Ends every session: the hub is going down. Those that are saved go on in the next hub."""
        saved = self.recorder is not None and self.recorder.state is not None
        if self.recorder is not None:
            self.recorder.leave()
        for session in self.all():
            if saved:
                reason = HubError("not_ready", f"the hub stopped; {session.id} goes on when it starts again")
            else:
                reason = HubError("session_closed", f"session {session.id} ended: the hub stopped")
            session.end(reason)
