"""The sessions there are: those that are open, those that ended a while ago, those that wait for a replica.

Invariants:
- An ended session is remembered for a while, so that a late caller hears why it ended.
- A caller who may not use a session is told the same as if there were none.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping

from envhub.pool import Pool, Replica
from envhub.record import Recorder, now_us
from envhub.session._caller import may_use
from envhub.session._counts import Counts
from envhub.session._errors import HubError
from envhub.session._saved import SavedSession, facts_of
from envhub.session._session import Session

log = logging.getLogger("envhub.session")

REMEMBERED_ENDS = 10_000


class Register:
    """Every session of the hub, by its id.

    Args:
        pools: The pool of each served environment, by name.
        recorder: Writes down what happens.
    """

    def __init__(self, pools: Mapping[str, Pool], recorder: Recorder | None = None) -> None:
        self.pools = pools
        self.recorder = recorder
        self.awaited: dict[str, SavedSession] = {}
        """Sessions of the hub before this one that have no replica yet."""
        self.counts = Counts()
        self.draining = False
        """Whether nothing new may begin, since the hub is about to end."""
        self.under_way = 0
        """Requests that open sessions or go to points and are not answered yet."""
        self._sessions: dict[str, Session] = {}
        self._ended: OrderedDict[str, tuple[str | None, HubError]] = OrderedDict()
        """Whose it was and why it ended."""
        self._clock = asyncio.get_running_loop().time
        self.clock_offset = time.time() - self._clock()
        """Turns loop time into Unix time."""

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
                awaited.used_us = now_us()
                raise HubError("not_ready", f"session {session_id} goes on when its environment is loaded")
            raise HubError(
                "unknown_session",
                f"no session {session_id!r}: it ended long ago, or this hub was started after it",
            )
        session.last_used = self._clock()
        return session

    def get(self, session_id: str) -> Session | None:
        """The open session of that id, whoever it belongs to; looking does not renew it."""
        return self._sessions.get(session_id)

    def was_open(self, session_id: str) -> bool:
        """Whether there was a session of that id, which ended or waits for its replica."""
        return session_id in self.awaited or session_id in self._ended

    def held_by(self, name: str | None) -> int:
        """How many sessions a token has, those that wait for a replica after a restart included."""
        held = sum(session.owner == name for session in self._sessions.values())
        return held + sum(saved.opened.owner == name for saved in self.awaited.values())

    def all(self) -> list[Session]:
        """Every open session that the caller may use, oldest first."""
        return [session for session in self._sessions.values() if may_use(session.owner)]

    def open_by_env(self) -> Counter[str]:
        """How many sessions are open, whoever they belong to."""
        return Counter(session.env for session in self._sessions.values())

    def expires_at(self, session: Session) -> float:
        """The Unix time at which a session expires unless it is used."""
        return session.last_used + session.idle_timeout_s + self.clock_offset

    def add(
        self,
        id: str,
        env: str,
        replica: Replica,
        idle_timeout_s: float,
        labels: dict[str, str],
        owner: str | None,
    ) -> Session:
        """Takes a session in that holds a replica; `owner` is the name of the token it belongs to."""
        pool, record = self.pools[env], None
        if self.recorder is not None:
            record = self.recorder.session(id, facts_of(pool, labels, owner), idle_timeout_s)
        session = Session(
            id,
            env,
            pool,
            replica,
            idle_timeout_s,
            labels,
            self._clock,
            self._forget,
            self.counts,
            owner,
            record,
        )
        self._sessions[id] = session
        return session

    def close(self, session_id: str) -> None:
        """Closes a session; one that is gone already is fine.

        Raises:
            HubError: The hub has stopped, and the next one goes on with it: that one must be told.
        """
        whose, ended = self._ended.get(session_id, (None, None))
        if ended is not None and ended.code == "not_ready" and may_use(whose):
            raise ended.copy()
        session = self._sessions.get(session_id)
        awaited = self.awaited.get(session_id)
        if awaited is not None and may_use(awaited.opened.owner):
            self.give_up(awaited, HubError("session_closed", f"session {session_id} was closed"))
        if session is not None and may_use(session.owner):
            session.end(HubError("session_closed", f"session {session_id} was closed; open a new one"))

    def _forget(self, session: Session, reason: HubError) -> None:
        self._sessions.pop(session.id, None)
        if reason.code != "not_ready":  # then it goes on in the next hub
            self.counts.ended[session.env, reason.code] += 1
        if reason.code not in ("session_closed", "session_expired", "not_ready"):
            log.warning("%s", reason.message, extra={**session.about, "code": reason.code})
        self._ended[session.id] = session.owner, reason
        if len(self._ended) > REMEMBERED_ENDS:
            self._ended.popitem(last=False)

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

    @contextlib.contextmanager
    def one_under_way(self) -> Iterator[None]:
        """Counts a request among those under way: between its awaits no session need be busy."""
        self.under_way += 1
        try:
            yield
        finally:
            self.under_way -= 1

    def check_draining(self) -> None:
        """Checks that something new may begin.

        Raises:
            HubError: It may not.
        """
        if self.draining:
            raise HubError("not_ready", "the hub is draining: nothing new begins; try again in a moment")

    def lines(self) -> Iterator[bytes]:
        """The events from which each open session can be resumed, session after session."""
        for session in list(self._sessions.values()):
            if session.ended is None:
                session.note_use(self.clock_offset)
                yield b"".join(session.history.lines())
