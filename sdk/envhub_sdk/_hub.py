"""The synchronous client."""

from __future__ import annotations

import atexit
import contextlib
import os
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar

import httpx
import msgspec
from gymnasium.envs.registration import EnvSpec
from gymnasium.vector import AutoresetMode

from envhub_sdk import _calls, _exceptions, _retry, _wire
from envhub_sdk._base import READY_PAUSE_S, TASK_PAGE, BaseHub
from envhub_sdk._calls import Call
from envhub_sdk._env import Env
from envhub_sdk._exceptions import EnvHubError
from envhub_sdk._heartbeat import HeartbeatThread
from envhub_sdk._session import DEFAULT_WAIT_S, Settings, Task
from envhub_sdk._vector import VectorEnv

__all__ = ["Hub"]

T = TypeVar("T")

FORK_THREADS = 16
"""Forks asked for at the same time by `Hub.fork_many`."""


class Hub(BaseHub):
    """A hub, and the environments it serves.

    Requests that get no answer, or find the hub busy (429, 503), are sent again with growing pauses; so a
    hub that is killed and restarted is ridden out. Nothing is executed twice by that: a step carries its
    episode and its index, a reset and a restore a number, an open and a fork a name.

    Safe to use from many threads; a process that is forked needs its own. Open sessions are closed by
    `close()`, by leaving a `with` block, and as the program ends.

    Args:
        url: Where the hub is, with or without `/v1`; default ENVHUB_URL, else http://127.0.0.1:8000.
        token: Bearer token; default ENVHUB_TOKEN, else none.
        timeout: Seconds to wait for an answer, on top of what the environment may rightly take.
        retries: How often a request is sent again; 0 also rules out `patience_s`.
        patience_s: Seconds for which a request is sent again to a hub that has answered before and is away
            now: restarting, say, or behind a network that is down.
        transport: An httpx transport to use instead of the network.

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
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__(url, token, timeout, retries, patience_s)
        self._client = httpx.Client(transport=transport, **self._client_options())
        self._heartbeat = HeartbeatThread(
            lambda session: self._send(_calls.keepalive(session)), self._tell_closed
        )
        _open_hubs.add(self)

    # -- environments -------------------------------------------------------------------------------

    def envs(self) -> list[_wire.EnvInfo]:
        """Every environment the hub serves."""
        return self._send(_calls.envs()).envs

    def env(self, name: str) -> _wire.EnvInfo:
        """One environment: version, spaces, splits, limits, data, replicas.

        Raises:
            UnknownEnv: The hub does not serve it.
        """
        return self._send(_calls.env(name))

    def tasks(
        self, env: str, split: str | None = None, offset: int = 0, limit: int = 100
    ) -> list[dict[str, Any]]:
        """A page of an environment's tasks, never their answers.

        Args:
            env: Name of the environment.
            split: Name of the split; default the first one.
            offset: Index of the first task wanted.
            limit: Largest number of tasks wanted.

        Raises:
            UnknownTask: There is no such split.
        """
        page = self._send(_calls.tasks(env, split, offset, limit))
        return [msgspec.json.decode(task) for task in page.tasks]

    def iter_tasks(self, env: str, split: str | None = None, offset: int = 0) -> Iterator[dict[str, Any]]:
        """All tasks of a split from a number on, fetched page by page."""
        while page := self.tasks(env, split, offset, TASK_PAGE):
            yield from page
            offset += len(page)

    def sessions(self) -> list[_wire.SessionState]:
        """Open sessions of this token, oldest first (every session, for an admin token)."""
        return self._send(_calls.sessions()).sessions

    def end_session(self, session_id: str) -> None:
        """End an open session of this token (any session, for an admin token), whoever plays it.

        Its replica is free again, and its client is told `SessionClosed`.

        Raises:
            SessionGone: It is not open, or not this token's; the kind says which end it had, if the hub
                knows that.
        """
        self._send(_calls.session(session_id))
        self._send(_calls.close([session_id]))

    # -- health -------------------------------------------------------------------------------------

    def healthz(self) -> bool:
        """Whether the hub is alive."""
        with contextlib.suppress(EnvHubError):
            self._send(_calls.health())
            return True
        return False

    def readyz(self) -> bool:
        """Whether the hub is alive and every environment has its replicas."""
        with contextlib.suppress(EnvHubError):
            self._send(_calls.ready())
            return True
        return False

    def wait_ready(self, timeout_s: float = 30.0) -> None:
        """Wait until the hub is ready.

        Raises:
            EnvHubError: It was not within `timeout_s`; the error says what was missing last.
        """
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                return self._send(_calls.ready())
            except (_exceptions.TransportError, _exceptions.Busy, _exceptions.UnexpectedAnswer):
                if time.monotonic() + READY_PAUSE_S > deadline:
                    raise
            time.sleep(READY_PAUSE_S)

    # -- playing ------------------------------------------------------------------------------------

    def make(
        self,
        env: str,
        *,
        task: Task | None = None,
        seed: int | None = None,
        split: str | None = None,
        wait_s: float = DEFAULT_WAIT_S,
        idle_timeout_s: float | None = None,
        labels: Mapping[str, str] | None = None,
        heartbeat: bool = True,
        render_mode: str | None = None,
    ) -> Env:
        """Make a Gymnasium environment that is played on the hub.

        Its session is opened by the first `reset()`, so making one costs the hub nothing.

        Args:
            env: Name of the environment.
            task: Task of every episode, unless `reset(options={"task": …})` gives another.
            seed: Seed of the first episode, unless `reset(seed=…)` gives another.
            split: Split from which tasks are drawn, unless `reset(options={"split": …})` says otherwise.
            wait_s: Seconds to wait for a free replica.
            idle_timeout_s: Seconds without a call after which the hub ends the session; default the hub's.
            labels: Notes on the session, shown by `sessions()`.
            heartbeat: Keep the session alive while it is open, however long the policy thinks.
            render_mode: What `render()` is expected to give: "ansi" (text) or "rgb_array" (a picture).

        Raises:
            UnknownEnv: The hub does not serve it.
            ValueError: One of its spaces is of a kind this SDK does not know.
        """
        settings = Settings(task, split, wait_s, idle_timeout_s, labels or {}, heartbeat)
        made = Env(self, self.env(env), settings, seed=seed, render_mode=render_mode)
        made.spec = EnvSpec(
            f"envhub/{env}",
            entry_point=lambda **kwargs: self.make(env, **kwargs),
            disable_env_checker=True,
            kwargs=_as_kwargs(settings, seed) | {"render_mode": render_mode},
        )
        return made

    def make_vec(
        self,
        env: str,
        num_envs: int = 1,
        *,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        task: Task | None = None,
        seed: int | None = None,
        split: str | None = None,
        wait_s: float = DEFAULT_WAIT_S,
        idle_timeout_s: float | None = None,
        labels: Mapping[str, str] | None = None,
        heartbeat: bool = True,
    ) -> VectorEnv:
        """Make a Gymnasium vector environment that steps `num_envs` sessions with one request.

        Args:
            env: Name of the environment.
            num_envs: Number of sub-environments.
            autoreset_mode: What happens after the last step of an episode, as Gymnasium defines it.
            task: As in `make`.
            seed: Seed of the first sub-environment's first episode; the others have `seed + 1`, ….
            split: As in `make`.
            wait_s: As in `make`; the sessions are opened all or none.
            idle_timeout_s: As in `make`.
            labels: As in `make`.
            heartbeat: As in `make`.

        Raises:
            UnknownEnv: The hub does not serve it.
            ValueError: One of its spaces is of a kind this SDK does not know.
        """
        settings = Settings(task, split, wait_s, idle_timeout_s, labels or {}, heartbeat)
        mode = AutoresetMode(autoreset_mode)
        made = VectorEnv(self, self.env(env), settings, num_envs, mode, seed)
        made.spec = EnvSpec(
            f"envhub/{env}",
            vector_entry_point=lambda **kwargs: self.make_vec(env, **kwargs),
            kwargs=_as_kwargs(settings, seed) | {"num_envs": num_envs, "autoreset_mode": mode},
        )
        return made

    def fork_many(self, envs: Sequence[Env], count: int = 1) -> list[list[Env]]:
        """Fork many environments, of any kinds, side by side; one request for each.

        Args:
            envs: The environments, made by this hub.
            count: How many forks to make of each.

        Returns:
            The forks of each environment, in order.

        Raises:
            EnvHubError: Of the first environment whose fork failed, as from `Env.fork`; then no fork is left.
        """
        calls = [(env, env._session.fork_call(count, None)) for env in envs]
        with ThreadPoolExecutor(FORK_THREADS, thread_name_prefix="envhub-fork") as threads:
            asked = [threads.submit(env._ask, call) for env, call in calls]
        failures = [failure for future in asked if (failure := future.exception()) is not None]
        if failures:
            made = [future.result().sessions for future in asked if future.exception() is None]
            self._release([session.id for sessions in made for session in sessions])
            raise failures[0]
        return [env._twins(future.result()) for env, future in zip(envs, asked, strict=True)]

    # -- closing ------------------------------------------------------------------------------------

    def close(self) -> None:
        """Close every session that was opened through this hub, and the connections.

        Sessions the hub cannot be told about expire there. Closing again does nothing.
        """
        _open_hubs.discard(self)
        idle_s = self._heartbeat.idle_timeout_s()
        sessions = self._heartbeat.stop()
        if sessions and not self._client.is_closed:
            self._tell_closed(sessions, idle_s)
        self._client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- input and output ---------------------------------------------------------------------------

    def _attempts(self, call: Call[Any]) -> _retry.Attempts:
        return _retry.Attempts(call, self._retries, self._patience)

    def _send(self, call: Call[T]) -> T:
        attempts = self._attempts(call)
        while True:
            request = self._request(self._client, call)
            try:
                with _exceptions.transport_errors(request, call.session):
                    response = self._client.send(request)
                return self._result(call, response)
            except EnvHubError as error:
                pause = attempts.pause_after(error)
            time.sleep(pause)

    def _open(self, call: Call[_wire.OpenedSessions]) -> _wire.OpenedSessions:
        """Open sessions; after Ctrl-C close what the hub may have opened: the same request gets it again."""
        try:
            return self._send(call)
        except KeyboardInterrupt:
            with contextlib.suppress(EnvHubError):
                opened = self._send(replace(call, once_s=_calls.CLOSE_TIMEOUT_S)).sessions
                self._release([session.id for session in opened])
            raise

    def _release(self, sessions: Sequence[str]) -> None:
        """Close sessions; one that the hub cannot be told about expires there."""
        if sessions and not self._client.is_closed:
            self._tell_closed(sessions, self._heartbeat.idle_timeout_s(*sessions))
        self._heartbeat.drop(*sessions)  # only now: after Ctrl-C amid this `close` tells of them

    def _tell_closed(self, sessions: Sequence[str], idle_s: float | None) -> None:
        try:
            self._send(_calls.close(sessions))
        except EnvHubError as error:
            self._not_closed(sessions, idle_s, error)


def _as_kwargs(settings: Settings, seed: int | None) -> dict[str, Any]:
    names = ("task", "split", "wait_s", "idle_timeout_s", "labels", "heartbeat")
    return {name: getattr(settings, name) for name in names} | {"seed": seed}


_open_hubs: weakref.WeakSet[Hub] = weakref.WeakSet()
os.register_at_fork(after_in_child=_open_hubs.clear)  # they are the parent's to close


@atexit.register
def _close_hubs() -> None:
    for hub in list(_open_hubs):
        hub.close()
