"""Every open session of the hub: opening, finding, batches, expiry.

Invariants:
- Opening is all or none: either every session of a request is there, reset, or no replica is held.
- One bad session never spoils the others of a batch: each item has its own answer.
- An ended session is remembered for a while, so that a late caller hears why it ended.
- A caller who may not use a session is told the same as if there were none.
- While the hub drains nothing new begins; what is under way goes on.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from envhub.pool import NoFreeReplica, Pool, QueueFull, Replica
from envhub.record import Recorder
from envhub.session._caller import CALLER, may_use, owner
from envhub.session._counts import Counts
from envhub.session._episode import Episode
from envhub.session._errors import HubError
from envhub.session._gathered import Gathered, all_good
from envhub.session._requests import Requests
from envhub.session._saved import SavedSession, facts_of
from envhub.session._session import Session, Sink
from envhub.session._snapshots import Snapshots
from envhub_sdk._wire import (
    BatchReset,
    BatchStep,
    ForkRequest,
    OpenRequest,
    ResetItem,
    ResetRequest,
    StepItem,
    StepRequest,
)

log = logging.getLogger("envhub.session")

REMEMBERED_ENDS = 10_000
SWEEP_S = 0.5
DRAIN_LOOK_S = 0.02


@dataclass(frozen=True)
class SessionSettings:
    """Limits that hold for every session unless its opener says otherwise. Seconds."""

    idle_timeout_s: float = 600.0
    wait_s: float = 60.0


class Sessions:
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
        self.pools = pools
        self.recorder = recorder
        self.awaited: dict[str, SavedSession] = {}
        """Sessions of the hub before this one that have no replica yet."""
        self.counts = Counts()
        self.snapshots = Snapshots()
        self._settings = settings or SessionSettings()
        self._sessions: dict[str, Session] = {}
        self._requests = Requests()
        self._ended: OrderedDict[str, tuple[str | None, HubError]] = OrderedDict()
        """Whose it was and why it ended."""
        self._asked_for: Counter[str | None] = Counter()
        """How many sessions each token waits for."""
        self.draining = False
        """Whether nothing new may begin, since the hub is about to end."""
        self._clock = asyncio.get_running_loop().time
        self.clock_offset = time.time() - self._clock()
        """Turns loop time into Unix time."""

    # -- opening ------------------------------------------------------------------------------------

    def pool(self, env: str) -> Pool:
        """The pool of an environment.

        Raises:
            HubError: No environment of that name is served.
        """
        found = self.pools.get(env)
        if found is None:
            served = ", ".join(sorted(self.pools)) or "none"
            raise HubError("unknown_env", f"this hub serves no environment {env!r}; it serves: {served}")
        return found

    async def open(self, env: str, request: OpenRequest) -> bytes:
        """Opens `request.count` sessions and resets them, all or none; returns the JSON reply.

        Raises:
            HubError: There are no free replicas, or an environment refused its reset.
        """
        self.pool(env)
        for name, values in (("tasks", request.tasks), ("seeds", request.seeds)):
            if values is not None and len(values) != request.count:
                raise HubError(
                    "malformed_request", f"{len(values)} {name} for {request.count} sessions: give one each"
                )
        self._check_count(env, request.count)
        wait_s = self._settings.wait_s if request.wait_s is None else request.wait_s
        idle_timeout_s = request.idle_timeout_s or self._settings.idle_timeout_s
        async with self._requests.turn(request.request_id):
            ids = self._ids(request.request_id, (owner(), env), request.count, request.reset)
            if ids[0] in self._sessions:
                return self._opened_again(ids)
            sessions = await self._lease(env, ids, wait_s, idle_timeout_s, request.labels)
            return await self._reset_opened(env, sessions, request)

    async def _reset_opened(self, env: str, sessions: list[Session], request: OpenRequest) -> bytes:
        resets: list[bytes] = [b""] * len(sessions)
        try:
            if request.reset:
                resets = await self._reset_all(sessions, request)
        except BaseException:
            self._undo(sessions, request.request_id)
            raise
        self.counts.opened[env] += len(sessions)
        opened = [self._opened(session, reset) for session, reset in zip(sessions, resets, strict=True)]
        return b'{"sessions":[%b]}' % b",".join(opened)

    def _ids(
        self, request_id: str | None, about: tuple[str | None, ...], count: int, reset: bool
    ) -> list[str]:
        """Ids for the sessions of a request: of those it has opened already, if all are open still."""
        ids = self._requests.ids(request_id, about, count)
        for id in ids:
            if id in self.awaited or id in self._ended:
                self.find(id)  # says that it goes on later, or why it ended
        found = [self._sessions[id] for id in ids if id in self._sessions]
        whole = len(found) == count and all(session.episode or not reset for session in found)
        if whole or not found:
            return ids
        self._undo(found, request_id)  # a hub died amid the request
        return self._requests.ids(request_id, about, count)

    def _undo(self, sessions: list[Session], request_id: str | None) -> None:
        """Closes what a request has opened in vain."""
        for session in sessions:
            self.close(session.id)
        self._requests.failed(request_id)

    def _opened_again(self, ids: list[str]) -> bytes:
        """The reply to an open or a fork whose sessions are open already."""
        opened = []
        for session in map(self.find, ids):
            opened.append(self._opened(session, session.episode.point() if session.episode else b""))
        return b'{"sessions":[%b]}' % b",".join(opened)

    def _check_count(self, env: str, count: int) -> None:
        total = self.pools[env].status().total
        if count > total:
            raise HubError(
                "invalid_options",
                f"{count} sessions of {env} were asked for at once and it has {total} replicas: ask for "
                f"fewer, or serve at least {count} replicas of it",
                {"env": env, "replicas": total},
            )

    async def _lease(
        self, env: str, ids: list[str], wait_s: float, idle_timeout_s: float, labels: dict[str, str]
    ) -> list[Session]:
        mine = owner()
        sessions: list[Session] = []
        for id, replica in zip(ids, await self._replicas(env, len(ids), wait_s), strict=True):
            session = self._add(id, env, replica, idle_timeout_s, labels, mine)
            if session.record is not None:
                session.record.opened()
            sessions.append(session)
        return sessions

    def _add(
        self,
        id: str,
        env: str,
        replica: Replica,
        idle_timeout_s: float,
        labels: dict[str, str],
        owner: str | None,
    ) -> Session:
        pool, record = self.pools[env], None
        if self.recorder is not None:
            record = self.recorder.session(id, facts_of(pool, labels, owner), idle_timeout_s)
        session = Session(
            id, env, pool, replica, idle_timeout_s, labels, self._clock, self._forget, owner, record
        )
        self._sessions[id] = session
        return session

    async def _replicas(self, env: str, count: int, wait_s: float) -> list[Replica]:
        """Leases replicas for sessions, as far as the caller's quota goes."""
        self._check_draining()
        await self._loaded(env, wait_s)
        caller, name = CALLER.get(), owner()
        if caller is not None:
            held = sum(session.owner == name for session in self._sessions.values())
            held += sum(saved.opened.owner == name for saved in self.awaited.values())
            caller.check_sessions(held + self._asked_for[name], count)
        self._asked_for[name] += count
        try:
            return await self.pools[env].acquire(count, wait_s)
        except NoFreeReplica as error:
            self._check_draining()
            raise HubError("no_free_replica", f"{error}; retry later or serve more", {"env": env}) from None
        except QueueFull as error:
            raise HubError("queue_full", f"{error}; retry later", {"env": env}) from None
        finally:
            self._asked_for[name] -= count

    async def _loaded(self, env: str, wait_s: float) -> None:
        """Waits until an environment has said what it is: a session's record begins with that."""
        pool = self.pools[env]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await pool.described.wait()
        self._check_draining()
        if not pool.description:
            raise HubError("not_ready", f"{env} is not loaded yet; try again in a moment", {"env": env})

    async def _reset_all(self, sessions: list[Session], request: OpenRequest) -> list[bytes]:
        """Resets new sessions together; the first refusal becomes everybody's."""
        gathered = Gathered(len(sessions))
        for number, session in enumerate(sessions):
            seed = None if request.seeds is None else request.seeds[number]
            task = None if request.tasks is None else request.tasks[number]
            self.counts.resets[session.env] += 1
            session.reset(seed, task, request.options, gathered.sink(number))
        return all_good(await gathered.future)

    def _opened(self, session: Session, reset: bytes) -> bytes:
        head = b'{"id":"%b","env":"%b","expires_at":%.3f,"idle_timeout_s":%r,' % (
            session.id.encode(),
            session.env.encode(),
            self.expires_at(session),
            session.idle_timeout_s,
        )
        return head + (reset[1:] if reset else b'"step_index":0}')

    # -- one session --------------------------------------------------------------------------------

    def find(self, session_id: str) -> Session:
        """The open session of that id; finding it renews it.

        Raises:
            HubError: There is none that the caller may use; if it ended a while ago, why.
        """
        session = self._sessions.get(session_id)
        if session is None or not may_use(session.owner):
            whose, ended = self._ended.get(session_id, (None, None))
            if ended is not None and may_use(whose):
                raise ended.copy()
            awaited = self.awaited.get(session_id)
            if awaited is not None and may_use(awaited.opened.owner):
                raise HubError("not_ready", f"session {session_id} goes on when its environment is loaded")
            raise HubError(
                "unknown_session",
                f"no session {session_id!r}: it ended long ago, or this hub was started after it",
            )
        session.last_used = self._clock()
        return session

    def expires_at(self, session: Session) -> float:
        """The Unix time at which a session expires unless it is used."""
        return session.last_used + session.idle_timeout_s + self.clock_offset

    def open_by_env(self) -> Counter[str]:
        """How many sessions are open, whoever they belong to."""
        return Counter(session.env for session in self._sessions.values())

    def all(self) -> list[Session]:
        """Every open session that the caller may use, oldest first."""
        return [session for session in self._sessions.values() if may_use(session.owner)]

    def step(self, session_id: str, step: StepRequest | StepItem, autoreset: bool, sink: Sink) -> None:
        """Takes one step of one session; never raises, the sink hears of errors."""
        try:
            self._check_draining()
            session = self.find(session_id)
        except HubError as error:
            self._later(session_id, error, lambda: self.step(session_id, step, autoreset, sink), sink)
            return
        self.counts.steps[session.env] += 1
        session.step(bytes(step.action), step.step_index, step.episode_id, autoreset, sink)

    def reset(self, session_id: str, reset: ResetRequest | ResetItem, sink: Sink) -> None:
        """Resets one session; never raises, the sink hears of errors."""
        try:
            self._check_draining()
            session = self.find(session_id)
        except HubError as error:
            self._later(session_id, error, lambda: self.reset(session_id, reset, sink), sink)
            return
        self.counts.resets[session.env] += 1
        session.reset(reset.seed, reset.task, reset.options, sink, reset.start_index)

    def close(self, session_id: str) -> None:
        """Closes a session; one that is gone already is fine."""
        session = self._sessions.get(session_id)
        awaited = self.awaited.get(session_id)
        if awaited is not None and may_use(awaited.opened.owner):
            self.give_up(awaited, HubError("session_closed", f"session {session_id} was closed"))
        if session is not None and may_use(session.owner):
            session.end(HubError("session_closed", f"session {session_id} was closed; open a new one"))

    def _forget(self, session: Session, reason: HubError) -> None:
        self._sessions.pop(session.id, None)
        self.counts.ended[session.env, reason.code] += 1
        if reason.code not in ("session_closed", "session_expired"):
            log.warning("%s", reason.message, extra={**session.about, "code": reason.code})
        self._ended[session.id] = session.owner, reason
        if len(self._ended) > REMEMBERED_ENDS:
            self._ended.popitem(last=False)

    # -- batches ------------------------------------------------------------------------------------

    async def step_batch(self, batch: BatchStep) -> bytes:
        """Takes one step of each of many sessions; returns the JSON reply."""
        gathered = Gathered(len(batch.steps))
        for number, item in enumerate(batch.steps):
            self.step(item.session_id, item, batch.autoreset, gathered.sink(number))
        return gathered.reply(await gathered.future)

    async def reset_batch(self, batch: BatchReset) -> bytes:
        """Resets many sessions; returns the JSON reply."""
        gathered = Gathered(len(batch.resets))
        for number, item in enumerate(batch.resets):
            self.reset(item.session_id, item, gathered.sink(number))
        return gathered.reply(await gathered.future)

    # -- points of episodes -------------------------------------------------------------------------

    async def snapshot(self, session_id: str) -> bytes:
        """Saves where a session's episode stands; returns the JSON reply.

        Raises:
            HubError: There is no episode, or it can't be saved.
        """
        session = self.find(session_id)
        point = await self._point(session)
        self.counts.points[session.env, "snapshot"] += 1
        snapshot = self.snapshots.add(session.env, point, session.owner)
        kind = b"native" if point.distance == 0 and point.has_state else b"replay"
        return b'{"snapshot_id":"%b","step_index":%d,"kind":"%b"}' % (
            snapshot.id.encode(),
            point.next_index,
            kind,
        )

    async def restore(self, session_id: str, snapshot_id: str, start_index: int | None = None) -> bytes:
        """Takes a session to a saved point; returns the JSON reply: the observation there.

        Raises:
            HubError: The session or the snapshot is not known, or the point can't be reached again.
        """
        self._check_draining()
        session = self.find(session_id)
        gathered = Gathered(1)
        self.counts.points[session.env, "restore"] += 1
        point = self.snapshots.find(snapshot_id, session.env).episode
        session.restore(point, gathered.sink(0), start_index)
        return all_good(await gathered.future)[0]

    async def fork(self, session_id: str, request: ForkRequest) -> bytes:
        """Opens sessions that go on from where a session stands, or from a snapshot; all or none.

        Raises:
            HubError: There are not enough free replicas, or the point can't be reached again.
        """
        session = self.find(session_id)
        self._check_count(session.env, request.count)
        async with self._requests.turn(request.request_id):
            ids = self._ids(request.request_id, (owner(), session_id), request.count, True)
            if ids[0] in self._sessions:
                return self._opened_again(ids)
            return await self._fork(session, request, ids)

    async def _fork(self, session: Session, request: ForkRequest, ids: list[str]) -> bytes:
        if request.snapshot_id is None:
            point = await self._point(session)
        else:
            point = self.snapshots.find(request.snapshot_id, session.env).episode
        wait_s = self._settings.wait_s if request.wait_s is None else request.wait_s
        forks = await self._lease(session.env, ids, wait_s, session.idle_timeout_s, session.labels)
        gathered = Gathered(len(forks))
        try:
            for number, fork in enumerate(forks):
                fork.restore(point, gathered.sink(number))
            starts = all_good(await gathered.future)
        except BaseException:
            self._undo(forks, request.request_id)
            raise
        self.counts.opened[session.env] += len(forks)
        self.counts.points[session.env, "fork"] += len(forks)
        opened = [self._opened(fork, start) for fork, start in zip(forks, starts, strict=True)]
        return b'{"sessions":[%b]}' % b",".join(opened)

    async def _point(self, session: Session) -> Episode:
        future: asyncio.Future[Episode | HubError] = asyncio.get_running_loop().create_future()
        session.snapshot(lambda point: None if future.done() else future.set_result(point))
        point = await future
        if isinstance(point, HubError):
            raise point
        return point

    # -- expiry -------------------------------------------------------------------------------------

    async def expire_idle(self) -> None:
        """Ends idle sessions, for as long as the hub runs."""
        while True:
            await asyncio.sleep(SWEEP_S)
            now = self._clock()
            for session in self.all():
                session.note_use(self.clock_offset)
                if now - session.last_used > session.idle_timeout_s and not session.busy:
                    session.end(
                        HubError(
                            "session_expired",
                            f"session {session.id} of {session.env} was idle for more than "
                            f"{session.idle_timeout_s:g} s and gave its replica back; open a new one, "
                            "with a longer idle_timeout_s or keepalives if your policy thinks for long",
                        )
                    )

    # -- the hub before this one ----------------------------------------------------------------------

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
        session = self._add(
            opened.session, opened.env, replica, opened.idle_timeout_s, opened.labels, opened.owner
        )
        session.created_at = opened.time_us / 1e6 - self.clock_offset
        session.resume(saved)
        for again in saved.waiting:
            again()

    def give_up(self, saved: SavedSession, reason: HubError) -> None:
        """Ends a session that the hub before this one had open and that can't go on here."""
        opened = saved.opened
        del self.awaited[opened.session]
        self._ended[opened.session] = opened.owner, reason
        self.counts.ended[opened.env, reason.code] += 1
        if self.recorder is not None:
            self.recorder.session_ended(opened.session, reason.code, reason.message)
        for again in saved.waiting:
            again()

    def written(self) -> None:
        """Writes down what waits for it: called before answers leave."""
        if self.recorder is not None:
            self.recorder.flush()

    def lines(self) -> Iterator[bytes]:
        """The events from which every open session can be resumed."""
        for session in self._sessions.values():
            yield from session.lines()

    # -- the end of the hub -------------------------------------------------------------------------

    def _check_draining(self) -> None:
        if self.draining:
            raise HubError("not_ready", "the hub is draining: nothing new begins; try again in a moment")

    async def drain(self, timeout_s: float) -> None:
        """Lets nothing new begin and waits for what is under way, for at most `timeout_s` seconds."""
        self.draining = True
        for pool in self.pools.values():
            pool.turn_away("the hub is draining")
        deadline = self._clock() + timeout_s
        while self._clock() < deadline and any(session.busy for session in self._sessions.values()):
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
