"""The asynchronous client."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar, cast
from urllib.request import getproxies

import httpx
import msgspec

from envhub_sdk import _calls, _exceptions, _retry, _wire
from envhub_sdk._async_env import AsyncEnv
from envhub_sdk._base import READY_PAUSE_S, TASK_PAGE, BaseHub
from envhub_sdk._calls import Call
from envhub_sdk._exceptions import EnvHubError
from envhub_sdk._heartbeat import HeartbeatTask
from envhub_sdk._rollout import AsyncPolicy, Collector, Policy, PolicyMaker, Progress, starts_of
from envhub_sdk._session import DEFAULT_WAIT_S, Settings, Task
from envhub_sdk._together import Together
from envhub_sdk._trajectory import Trajectory
from envhub_sdk._transport import WideTransport

__all__ = ["AsyncHub"]

T = TypeVar("T")

ABANDONED_S = 5.0
"""How long `close` waits for sessions that were being opened or closed for somebody who was cancelled."""


class AsyncHub(BaseHub):
    """The twin of `Hub` for asyncio; use it in one event loop.

    Retries, and what they can mean, are those of `Hub`. Heartbeats run in the event loop: a policy that
    blocks it for longer than the idle timeout loses its sessions, so slow policies should be `async`.

    Args:
        url: Where the hub is, with or without `/v1`; default ENVHUB_URL, else http://127.0.0.1:8000.
        token: Bearer token; default ENVHUB_TOKEN, else none.
        timeout: Seconds to wait for an answer, on top of what the environment may rightly take.
        retries: How often a request is sent again; 0 also rules out `patience_s`.
        patience_s: Seconds for which a request is sent again to a hub that has answered before and is away
            now: restarting, say, or behind a network that is down.
        transport: An httpx transport to use instead of the network.
        batch_steps: Send the steps that are asked for at the same moment as one request, and the openings:
            for many environments whose steps are quick. An answer then waits for the slowest of its batch;
            after two slow batches in a row steps are sent one by one for a while.

    Raises:
        ValueError: `url` is no http or https URL, or `token` is not printable ASCII.
    """

    def __init__(
        self,
        url: str | None = None,
        *,
        token: str | None = None,
        timeout: float = 60.0,
        retries: int = 5,
        patience_s: float = 60.0,
        transport: httpx.AsyncBaseTransport | None = None,
        batch_steps: bool = False,
    ) -> None:
        super().__init__(url, token, timeout, retries, patience_s)
        if transport is None and (self._loopback or not getproxies()):  # only httpx itself knows proxies
            transport = WideTransport()
        self._client = httpx.AsyncClient(transport=transport, **self._client_options())
        self._heartbeat = HeartbeatTask(
            lambda session: self._send(_calls.keepalive(session)), self._tell_closed
        )
        self._abandoned: set[asyncio.Task[None]] = set()
        self._together = Together(self._send) if batch_steps else None

    # -- environments -------------------------------------------------------------------------------

    async def envs(self) -> list[_wire.EnvInfo]:
        """Every environment the hub serves."""
        return (await self._send(_calls.envs())).envs

    async def env(self, name: str) -> _wire.EnvInfo:
        """One environment: version, spaces, splits, limits, data, replicas.

        Raises:
            UnknownEnv: The hub does not serve it.
        """
        return await self._send(_calls.env(name))

    async def tasks(
        self, env: str, split: str | None = None, offset: int = 0, limit: int = 100
    ) -> list[dict[str, Any]]:
        """A page of an environment's tasks; as `Hub.tasks`."""
        page = await self._send(_calls.tasks(env, split, offset, limit))
        return [msgspec.json.decode(task) for task in page.tasks]

    async def iter_tasks(
        self, env: str, split: str | None = None, offset: int = 0
    ) -> AsyncIterator[dict[str, Any]]:
        """All tasks of a split from a number on, fetched page by page."""
        while page := await self.tasks(env, split, offset, TASK_PAGE):
            for task in page:
                yield task
            offset += len(page)

    async def sessions(self) -> list[_wire.SessionState]:
        """Open sessions of this token, oldest first (every session, for an admin token)."""
        return (await self._send(_calls.sessions())).sessions

    async def end_session(self, session_id: str) -> None:
        """End an open session of this token (any session, for an admin token), whoever plays it.

        Raises:
            SessionGone: As from `Hub.end_session`.
        """
        await self._send(_calls.session(session_id))
        await self._send(_calls.close([session_id]))

    # -- health -------------------------------------------------------------------------------------

    async def healthz(self) -> bool:
        """Whether the hub is alive."""
        with contextlib.suppress(EnvHubError):
            await self._send(_calls.health())
            return True
        return False

    async def readyz(self) -> bool:
        """Whether the hub is alive and every environment has its replicas."""
        with contextlib.suppress(EnvHubError):
            await self._send(_calls.ready())
            return True
        return False

    async def wait_ready(self, timeout_s: float = 30.0) -> None:
        """Wait until the hub is ready.

        Raises:
            EnvHubError: It was not within `timeout_s`; the error says what was missing last.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                return await self._send(_calls.ready())
            except (_exceptions.TransportError, _exceptions.Busy, _exceptions.UnexpectedAnswer):
                if time.monotonic() + READY_PAUSE_S > deadline:
                    raise
            await asyncio.sleep(READY_PAUSE_S)

    # -- playing ------------------------------------------------------------------------------------

    async def make(
        self,
        env: str | _wire.EnvInfo,
        *,
        task: Task | None = None,
        seed: int | None = None,
        split: str | None = None,
        wait_s: float = DEFAULT_WAIT_S,
        idle_timeout_s: float | None = None,
        labels: Mapping[str, str] | None = None,
        heartbeat: bool = True,
    ) -> AsyncEnv:
        """Make an environment that is played on the hub; arguments and errors as for `Hub.make`.

        In place of its name `env` may be what the hub has said of it, which is then not asked for again.
        """
        settings = Settings(task, split, wait_s, idle_timeout_s, labels or {}, heartbeat)
        served = await self.env(env) if isinstance(env, str) else env
        return AsyncEnv(self, served, settings, seed=seed)

    async def collect(
        self,
        env: str,
        policy: Policy | AsyncPolicy | PolicyMaker,
        *,
        episodes: int | None = None,
        tasks: Sequence[Task] | None = None,
        concurrency: int = 64,
        per_episode: bool = False,
        seed: int | None = None,
        split: str | None = None,
        options: dict[str, Any] | None = None,
        max_steps: int | None = None,
        wait_s: float = DEFAULT_WAIT_S,
        idle_timeout_s: float | None = None,
        labels: Mapping[str, str] | None = None,
        progress: Progress | None = None,
    ) -> list[Trajectory]:
        """Play many episodes at once.

        Args:
            env: Name of the environment.
            policy: `(observation, info) -> action`, plain or `async`. A plain one runs in the event loop,
                so it must be quick.
            episodes: How many episodes to play.
            tasks: Instead: one episode for each of these tasks.
            concurrency: How many sessions to use at most; never more than the hub has replicas.
            per_episode: `policy` takes no arguments and makes a fresh policy, for each episode, which may
                then remember what it saw.
            seed: Seed of the first episode; the others have `seed + 1`, …. Default: drawn.
            split: Split from which tasks are drawn.
            options: Options of every reset.
            max_steps: Cut episodes after so many steps, as truncated.
            wait_s: Seconds to wait for a free replica.
            idle_timeout_s: As for `Hub.make`.
            labels: As for `Hub.make`.
            progress: Called after each episode with how many are done, of how many, and the episode.

        Returns:
            The episodes, in the order of the tasks. What went wrong in one is its `error`, and what it got
            up to there is kept; nothing that happens in an episode makes the others stop.

        Raises:
            UnknownEnv: The hub does not serve the environment.
            ValueError: Neither or both of `episodes` and `tasks` are given, or `concurrency` is below 1.
        """
        if concurrency < 1:
            raise ValueError(f"concurrency is {concurrency}: at least one session is needed")
        starts = starts_of(episodes, tasks, seed, options)
        info = await self.env(env)
        settings = Settings(None, split, wait_s, idle_timeout_s, labels or {})
        collector = Collector(
            make=lambda: AsyncEnv(self, info, settings),
            policies=cast("PolicyMaker", policy if per_episode else lambda: policy),
            starts=starts,
            max_steps=max_steps,
            progress=progress,
        )
        return await collector.run(min(concurrency, max(1, info.replicas["total"])))

    async def fork_many(self, envs: Sequence[AsyncEnv], count: int = 1) -> list[list[AsyncEnv]]:
        """Fork many environments at the same time; as `Hub.fork_many`, errors included."""
        made = await asyncio.gather(*(env.fork(count) for env in envs), return_exceptions=True)
        failures = [forks for forks in made if isinstance(forks, BaseException)]
        forked = [forks for forks in made if not isinstance(forks, BaseException)]
        if failures:
            await self._release([env._session.known_id() for forks in forked for env in forks])
            raise failures[0]
        return forked

    # -- closing ------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Close every session that was opened through this hub, and the connections.

        Sessions the hub cannot be told about expire there. Closing again does nothing.
        """
        if self._abandoned:
            await asyncio.wait(self._abandoned, timeout=ABANDONED_S)
        for task in self._abandoned:
            task.cancel()
        await self._release(await self._heartbeat.stop())
        await self._client.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    # -- input and output ---------------------------------------------------------------------------

    async def _send(self, call: Call[T]) -> T:
        attempts = _retry.Attempts(call, self._retries, self._patience)
        task = asyncio.current_task()
        cancelled = task.cancelling() if task else 0
        while True:
            request = self._request(self._client, call)
            try:
                try:
                    with _exceptions.transport_errors(request, call.session):
                        response = await self._client.send(request)
                finally:
                    if task and task.cancelling() > cancelled:  # a transport may take it for its own timeout
                        raise asyncio.CancelledError
                return self._result(call, response)
            except EnvHubError as error:
                pause = attempts.pause_after(error)
            await asyncio.sleep(pause)

    async def _open(self, asking: Coroutine[Any, Any, _wire.OpenedSessions]) -> _wire.OpenedSessions:
        """Open sessions; where the caller is cancelled meanwhile, close them as soon as they are open."""
        opening = asyncio.create_task(asking)
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            self._leave(asyncio.create_task(self._abandon(opening)))
            raise

    async def _abandon(self, opening: asyncio.Task[_wire.OpenedSessions]) -> None:
        with contextlib.suppress(EnvHubError):
            await self._release([session.id for session in (await opening).sessions])

    async def _release(self, sessions: Sequence[str]) -> None:
        """Close sessions, also where the caller is cancelled meanwhile.

        One that the hub cannot be told about expires there.
        """
        if not sessions:
            return
        idle_s = self._heartbeat.idle_timeout_s(*sessions)
        self._heartbeat.drop(*sessions)
        if self._client.is_closed:
            return
        telling = asyncio.create_task(self._tell_closed(sessions, idle_s))
        try:
            await asyncio.shield(telling)
        except asyncio.CancelledError:
            self._leave(telling)
            raise

    def _leave(self, task: asyncio.Task[None]) -> None:
        """Let something go on that nobody waits for any more, but `close`."""
        self._abandoned.add(task)
        task.add_done_callback(self._abandoned.discard)

    async def _tell_closed(self, sessions: Sequence[str], idle_s: float | None) -> None:
        try:
            await self._send(_calls.close(sessions))
        except EnvHubError as error:
            self._not_closed(sessions, idle_s, error)
