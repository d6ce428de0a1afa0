"""Opening sessions.

Invariant: opening is all or none. Either every session of a request is there, reset, or no replica is held.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass

from envhub.pool import NoFreeReplica, QueueFull, Replica
from envhub.session._caller import CALLER, owner
from envhub.session._errors import HubError
from envhub.session._gathered import Gathered, all_good
from envhub.session._register import Register
from envhub.session._requests import Requests
from envhub.session._session import Session
from envhub.spec import counted
from envhub_sdk._wire import OpenRequest


@dataclass(frozen=True)
class SessionSettings:
    """Limits that hold for every session unless its opener says otherwise. Seconds."""

    idle_timeout_s: float = 600.0
    wait_s: float = 60.0


class Openings:
    """Opens sessions.

    Args:
        register: Takes them in.
        settings: What holds where the opener says nothing.
    """

    def __init__(self, register: Register, settings: SessionSettings) -> None:
        self._register = register
        self._settings = settings
        self._requests = Requests()
        self._asked_for: Counter[str | None] = Counter()
        """How many sessions each token waits for."""

    @contextlib.asynccontextmanager
    async def turn(self, request_id: str | None) -> AsyncIterator[None]:
        """Let requests of the same id follow each other; the hub's end waits for them."""
        with self._register.one_under_way():
            async with self._requests.turn(request_id):
                yield

    async def open(self, env: str, request: OpenRequest) -> bytes:
        """Opens `request.count` sessions and resets them, all or none; returns the JSON reply.

        Raises:
            HubError: There are no free replicas, or an environment refused its reset.
        """
        self._register.pool(env)
        for name, values in (("tasks", request.tasks), ("seeds", request.seeds)):
            if values is not None and len(values) != request.count:
                given, opened = counted(len(values), name[:-1]), counted(request.count, "session")
                raise HubError("malformed_request", f"{given} for {opened}: give one each")
        self.check_count(env, request.count)
        wait_s = self.wait_s(request.wait_s)
        idle_timeout_s = request.idle_timeout_s or self._settings.idle_timeout_s
        async with self.turn(request.request_id):
            ids = self.ids(request.request_id, (owner(), env), request.count, request.reset)
            if self._register.get(ids[0]) is not None:
                return self.opened_again(ids)
            sessions = await self.lease(env, ids, wait_s, idle_timeout_s, request.labels)
            return await self._reset_opened(env, sessions, request)

    def wait_s(self, wanted: float | None) -> float:
        """How long to wait for free replicas, in seconds, where the opener wants so much, or says nothing."""
        return self._settings.wait_s if wanted is None else wanted

    async def _reset_opened(self, env: str, sessions: list[Session], request: OpenRequest) -> bytes:
        resets: list[bytes] = [b""] * len(sessions)
        try:
            if request.reset:
                resets = await self._reset_all(sessions, request)
        except BaseException:
            self.undo(sessions, request.request_id)
            raise
        self._register.counts.opened[env] += len(sessions)
        opened = [self.opened(session, reset) for session, reset in zip(sessions, resets, strict=True)]
        return b'{"sessions":[%b]}' % b",".join(opened)

    def ids(
        self, request_id: str | None, about: tuple[str | None, ...], count: int, reset: bool
    ) -> list[str]:
        """Ids for the sessions of a request: of those it has opened already, if all are open still."""
        ids = self._requests.ids(request_id, about, count)
        for id in ids:
            if self._register.was_open(id):
                self._register.find(id)  # says that it goes on later, or why it ended
        found = [one for id in ids if (one := self._register.get(id)) is not None]
        whole = len(found) == count and all(session.history.episode or not reset for session in found)
        if whole or not found:
            return ids
        self.undo(found, request_id)  # a hub died amid the request
        return self._requests.ids(request_id, about, count)

    def undo(self, sessions: list[Session], request_id: str | None) -> None:
        """Closes what a request has opened in vain."""
        for session in sessions:
            self._register.close(session.id)
        self._requests.failed(request_id)

    def opened_again(self, ids: list[str]) -> bytes:
        """The reply to an open or a fork whose sessions are open already."""
        opened = []
        for session in map(self._register.find, ids):
            opened.append(
                self.opened(session, episode.point() if (episode := session.history.episode) else b"")
            )
        return b'{"sessions":[%b]}' % b",".join(opened)

    def check_count(self, env: str, count: int) -> None:
        """Checks that an environment has so many replicas at all.

        Raises:
            HubError: It has not.
        """
        total = self._register.pools[env].status().total
        if count > total:
            raise HubError(
                "invalid_options",
                f"{count} sessions of {env} were asked for at once and it has "
                f"{counted(total, 'replica')}: ask for fewer, or serve at least {count} replicas of it",
                {"env": env, "replicas": total},
            )

    async def lease(
        self, env: str, ids: list[str], wait_s: float, idle_timeout_s: float, labels: dict[str, str]
    ) -> list[Session]:
        """Makes sessions of those ids, each with a replica and without an episode.

        Raises:
            HubError: There are not enough free replicas, or it would be more than the caller may have.
        """
        mine = owner()
        sessions: list[Session] = []
        for id, replica in zip(ids, await self._replicas(env, len(ids), wait_s), strict=True):
            session = self._register.add(id, env, replica, idle_timeout_s, labels, mine)
            if session.history.record is not None:
                session.history.record.opened()
            sessions.append(session)
        return sessions

    async def _replicas(self, env: str, count: int, wait_s: float) -> list[Replica]:
        """Leases replicas for sessions, as far as the caller's quota goes."""
        self._register.check_draining()
        await self._loaded(env, wait_s)
        caller, name = CALLER.get(), owner()
        if caller is not None:
            caller.check_sessions(self._register.held_by(name) + self._asked_for[name], count)
        self._asked_for[name] += count
        try:
            return await self._register.pools[env].acquire(count, wait_s)
        except NoFreeReplica as error:
            self._register.check_draining()
            raise HubError("no_free_replica", f"{error}; retry later or serve more", {"env": env}) from None
        except QueueFull as error:
            raise HubError("queue_full", f"{error}; retry later", {"env": env}) from None
        finally:
            self._asked_for[name] -= count

    async def _loaded(self, env: str, wait_s: float) -> None:
        """Waits until an environment has said what it is: a session's record begins with that."""
        pool = self._register.pools[env]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_s):
                await pool.described.wait()
        self._register.check_draining()
        if not pool.description:
            raise HubError("not_ready", f"{env} is not loaded yet; try again in a moment", {"env": env})

    async def _reset_all(self, sessions: list[Session], request: OpenRequest) -> list[bytes]:
        """Resets new sessions together; the first refusal becomes everybody's."""
        gathered = Gathered(len(sessions))
        for number, session in enumerate(sessions):
            seed = None if request.seeds is None else request.seeds[number]
            task = None if request.tasks is None else request.tasks[number]
            self._register.counts.resets[session.env] += 1
            session.reset(seed, task, request.options, gathered.sink(number))
        return all_good(await gathered.future)

    def opened(self, session: Session, reset: bytes) -> bytes:
        """What its opener is told of one session; `reset` is the start of its episode, if it has one."""
        head = b'{"id":"%b","env":"%b","expires_at":%.3f,"idle_timeout_s":%r,' % (
            session.id.encode(),
            session.env.encode(),
            self._register.expires_at(session),
            session.idle_timeout_s,
        )
        return head + (reset[1:] if reset else b'"step_index":0}')
