"""The hub itself: the pools it runs, the sessions on them, and what it says of each environment."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

import msgspec

from envhub.pool import NoFreeReplica, Pool, PoolPlan, WorkerCare
from envhub.record import Recorder
from envhub.server._protocol import REQUEST_TIMEOUT_S
from envhub.server._tokens import Tokens
from envhub.session import HubError, Sessions, SessionSettings, await_saved, resume
from envhub.spec import counted
from envhub.worker import frames
from envhub_sdk._wire import EnvInfo, TaskList


@dataclass(frozen=True)
class HubSettings:
    """What holds for the whole hub.

    Attributes:
        token: The bearer token that callers must show; it opens everything. None lets everybody in, or with
            `tokens` only those.
        tokens: Tokens with names, roles and quotas.
        host: The name or address the hub is called by besides loopback ones; matters where everybody is
            let in (see `Gate`).
        max_body_bytes: The largest request body.
        request_timeout_s: How long a request may take to arrive (see `http_protocol`).
        max_queue: How many callers may wait for replicas of one environment.
        care: How much memory a worker may hold, and when it is replaced.
        sessions: What holds for a session whose opener says nothing.
    """

    token: str | None = None
    tokens: Tokens | None = None
    host: str | None = None
    max_body_bytes: int = 16 * 2**20
    request_timeout_s: float = REQUEST_TIMEOUT_S
    max_queue: int = 1024
    care: WorkerCare = field(default_factory=WorkerCare)
    sessions: SessionSettings = field(default_factory=SessionSettings)

    @property
    def open_to_all(self) -> bool:
        """Whether callers need no token."""
        return self.token is None and self.tokens is None


class Hub:
    """Runs the pools and knows the sessions.

    Args:
        plans: The environments to serve.
        settings: What holds for all of them.
        recorder: Writes down what happens in sessions. If it has a state's log, the hub goes on with the
            sessions that are open there.
    """

    def __init__(
        self,
        plans: list[PoolPlan],
        settings: HubSettings | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self.settings = settings or HubSettings()
        self.pools = {
            plan.served.spec.name: Pool(
                plan.served, plan.replicas, plan.workers, self.settings.max_queue, self.settings.care
            )
            for plan in plans
        }
        self.sessions = Sessions(self.pools, self.settings.sessions, recorder)
        await_saved(self.sessions)
        self._tasks: list[asyncio.Task[None]] = []
        self._stopping = False

    async def start(self) -> None:
        """Starts every pool; the first failure ends the others' start too.

        Raises:
            LoadFailed: An environment can't be loaded; nothing is left running.
        """
        self._tasks.append(asyncio.create_task(self.sessions.expire_idle()))
        if self.settings.tokens is not None:
            self._tasks.append(asyncio.create_task(self.settings.tokens.follow()))
        starting = [asyncio.create_task(pool.start()) for pool in self.pools.values()]
        try:
            await resume(self.sessions, asyncio.gather(*starting))
        except BaseException:
            for task in starting:
                task.cancel()
            await asyncio.gather(*starting, return_exceptions=True)
            await self.stop()
            raise

    async def stop(self) -> None:
        """Ends every session and every process."""
        self._stopping = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.sessions.draining = True
        self.sessions.close_all()
        await asyncio.gather(*(pool.stop() for pool in self.pools.values()))

    # -- looking ------------------------------------------------------------------------------------

    def missing(self) -> dict[str, str]:
        """What keeps the hub from being ready, by environment; empty when it is."""
        if self._stopping:
            return {name: "the hub is stopping" for name in self.pools}
        if self.sessions.draining:
            return {name: "the hub is draining" for name in self.pools}
        found = {}
        for name, pool in self.pools.items():
            status = pool.status()
            if status.ready and pool.description:
                continue
            verb = "is" if status.workers == 1 else "are"
            found[name] = f"{status.ready_workers} of {counted(status.workers, 'worker')} {verb} up"
            if status.failure:
                found[name] += f"; {status.failure}"
        return found

    def env_info(self, name: str) -> EnvInfo:
        """What the hub says of one environment.

        Raises:
            HubError: It is not served here, or not loaded yet.
        """
        pool = self.sessions.pool(name)
        if not pool.description:
            raise HubError("not_ready", f"{name} is not loaded yet; try again in a moment", {"env": name})
        served, said, status = pool.served, pool.description, pool.status()
        spec = served.spec
        counts = said.get("splits", {})
        splits = {
            name: {"description": text, "tasks": counts.get(name)} for name, text in spec.splits.items()
        }
        return EnvInfo(
            name=spec.name,
            version=spec.version,
            summary=spec.summary,
            action={"description": spec.action.description, "space": said.get("action_space")},
            observation={"description": spec.observation.description, "space": said.get("observation_space")},
            splits=splits,
            limits={limit: getattr(served.limits, limit) for limit in served.limits.__slots__},
            config=dict(served.config),
            data=said.get("data"),
            replicas={"total": status.total, "free": status.free, "queued": status.queued},
            workers=status.workers,
            isolation=served.runtime.isolation,
            lock_digest=served.runtime.lock_digest,
            native_snapshot=bool(said.get("native_snapshot")),
            render=bool(said.get("render")),
            conda_locked=served.runtime.conda_locked,
        )

    async def tasks(self, env: str, split: str | None, offset: int, limit: int) -> TaskList:
        """A page of an environment's tasks; without a split, of its first one.

        Raises:
            HubError: The environment or the split is not known, or no worker is up.
        """
        pool = self.sessions.pool(env)
        splits = list(pool.served.spec.splits)
        if not splits or (split is not None and split not in splits):
            known = ", ".join(splits) or "none: it has no tasks"
            raise HubError("unknown_task", f"{env} has no split {split!r}; it has {known}", {"env": env})
        split = split or splits[0]
        request = json.dumps({"split": split, "offset": offset, "limit": limit}).encode()
        try:
            code, payload = await pool.any_replica_call(frames.TASKS, request)
        except NoFreeReplica as error:
            raise HubError("not_ready", f"{error}; retry in a moment", {"env": env}) from None
        if code == frames.ERROR_CODES["session_lost"]:  # that worker died; another one will answer
            raise HubError("not_ready", f"a worker of {env} died; retry in a moment", {"env": env})
        if code >= frames.FIRST_ERROR:
            said: dict[str, Any] = json.loads(payload)
            raise HubError(frames.ERRORS[code], f"{env}: {said['message']}", said.get("details"))
        page = msgspec.json.decode(payload, type=_Page)
        return TaskList(split=split, total=page.total, offset=offset, tasks=page.tasks)


class _Page(msgspec.Struct):
    total: int
    tasks: list[msgspec.Raw]
