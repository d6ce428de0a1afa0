"""Points of episodes: snapshots, and sessions that go on from one by a restore or as a fork."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from envhub.session._caller import owner
from envhub.session._episode import Episode
from envhub.session._errors import HubError
from envhub.session._gathered import Gathered, all_good
from envhub.session._openings import Openings
from envhub.session._register import Register
from envhub.session._saved import facts_of
from envhub.session._session import Session
from envhub.session._snapshots import Snapshot, Snapshots
from envhub.session._starts import Numbered
from envhub_sdk._wire import ForkRequest

SAVED_BYTES = 256 * 2**20
"""What the snapshots may take up in a compacted log; beyond it the oldest are left out."""


class Points:
    """Saves points and goes to them.

    Args:
        register: The sessions there are.
        openings: Opens the forks.
    """

    def __init__(self, register: Register, openings: Openings) -> None:
        self.kept = Snapshots()
        self._register = register
        self._openings = openings

    async def snapshot(self, session_id: str) -> bytes:
        """Saves where a session's episode stands; returns the JSON reply.

        Raises:
            HubError: There is no episode, or it can't be saved.
        """
        session = self._register.find(session_id)
        with self._register.one_under_way():
            point = await self._point(session)
        self._register.counts.points[session.env, "snapshot"] += 1
        snapshot = self.kept.add(session.env, point, session.owner)
        recorder = self._register.recorder
        if recorder is not None and recorder.state is not None:
            recorder.add_to_state(self._line(snapshot))
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
        self._register.check_draining()
        session = self._register.find(session_id)
        gathered = Gathered(1)
        self._register.counts.points[session.env, "restore"] += 1
        point = self.kept.find(snapshot_id, session.env).episode
        session.restore(point, gathered.sink(0), Numbered.of(start_index, snapshot_id))
        with self._register.one_under_way():
            return all_good(await gathered.future)[0]

    async def fork(self, session_id: str, request: ForkRequest) -> bytes:
        """Opens sessions that go on from where a session stands, or from a snapshot; all or none.

        Raises:
            HubError: There are not enough free replicas, or the point can't be reached again.
        """
        session = self._register.find(session_id)
        self._openings.check_count(session.env, request.count)
        async with self._openings.turn(request.request_id):
            ids = self._openings.ids(request.request_id, (owner(), session_id), request.count, True)
            if self._register.get(ids[0]) is not None:
                return self._openings.opened_again(ids)
            return await self._fork(session, request, ids)

    async def _fork(self, session: Session, request: ForkRequest, ids: list[str]) -> bytes:
        if request.snapshot_id is None:
            point = await self._point(session)
        else:
            point = self.kept.find(request.snapshot_id, session.env).episode
        wait_s = self._openings.wait_s(request.wait_s)
        forks = await self._openings.lease(session.env, ids, wait_s, session.idle_timeout_s, session.labels)
        gathered = Gathered(len(forks))
        try:
            for number, fork in enumerate(forks):
                fork.restore(point, gathered.sink(number))
            starts = all_good(await gathered.future)
        except BaseException:
            self._openings.undo(forks, request.request_id)
            raise
        self._register.counts.opened[session.env] += len(forks)
        self._register.counts.points[session.env, "fork"] += len(forks)
        opened = [self._openings.opened(fork, start) for fork, start in zip(forks, starts, strict=True)]
        return b'{"sessions":[%b]}' % b",".join(opened)

    def lines(self) -> Iterator[bytes]:
        """The events from which the next hub knows the snapshots, the newest first."""
        left = SAVED_BYTES
        for snapshot in self.kept.newest_first():
            line = self._line(snapshot)
            left -= len(line)
            if left < 0:
                return
            yield line

    def _line(self, snapshot: Snapshot) -> bytes:
        return snapshot.line(facts_of(self._register.pools[snapshot.env], {}, snapshot.owner))

    async def _point(self, session: Session) -> Episode:
        future: asyncio.Future[Episode | HubError] = asyncio.get_running_loop().create_future()
        session.snapshot(lambda point: None if future.done() else future.set_result(point))
        point = await future
        if isinstance(point, HubError):
            raise point
        return point
