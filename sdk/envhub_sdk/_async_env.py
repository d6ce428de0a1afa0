"""A session of a hub, driven from asyncio."""

from __future__ import annotations

from collections.abc import Awaitable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from envhub_sdk import _calls, _wire, spaces
from envhub_sdk._calls import Call
from envhub_sdk._exceptions import ReplayDiverged, SessionGone
from envhub_sdk._session import (
    Seeds,
    Session,
    Settings,
    Transition,
    action_space,
    grace_s,
    observation_space,
)
from envhub_sdk._snapshot import Snapshot
from envhub_sdk._trajectory import Trajectory, from_wire

if TYPE_CHECKING:
    from envhub_sdk._async_hub import AsyncHub

__all__ = ["AsyncEnv"]

T = TypeVar("T")


class AsyncEnv:
    """The twin of `Env` for asyncio, made by `AsyncHub.make`: `await` reset, step, render and close.

    Calls of one environment must follow each other; calls of many may run at the same time. Leaving an
    `async with` block closes it.

    Attributes:
        env_info: What the hub says of the environment: version, splits, limits, data.
        action_space: Space of the actions.
        observation_space: Space of the observations.
    """

    def __init__(
        self, hub: AsyncHub, env: _wire.EnvInfo, settings: Settings, *, seed: int | None = None
    ) -> None:
        self.env_info = env
        self.action_space = action_space(env)
        self.observation_space = observation_space(env)
        self._hub = hub
        self._session = Session(env, settings)
        self._seeds = Seeds(seed)
        self._closed = False

    @property
    def session_id(self) -> str | None:
        """Id of the session on the hub; None before the first reset and after the session's end."""
        return self._session.id

    @property
    def task(self) -> Any:
        """The task the last reset asked for; None where the environment drew one."""
        return self._session.task

    @property
    def episode_seed(self) -> int | None:
        """The seed of the running episode."""
        return self._session.seed

    async def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode; as `Env.reset`, errors included."""
        self._check_open()
        wire_seed = self._seeds.next(seed)
        if self._session.id is not None:
            try:
                return self._session.started(await self._ask(self._session.reset_call(wire_seed, options)))
            except SessionGone:
                pass
        return await self._open(wire_seed, options)

    async def step(self, action: Any) -> Transition:
        """Take one step; as `Env.step`, errors included.

        After a cancellation call `step` again with the same action: it may have been taken, and is not taken
        twice.
        """
        together = self._hub._together
        if together is None:
            return self._session.stepped(await self._ask(self._session.step_call(action)))
        item = self._session.step_item(spaces.encode(action))
        return self._session.stepped(await self._noted(together.step(item, grace_s(self.env_info, "step"))))

    async def snapshot(self) -> Snapshot:
        """Save where the episode stands; as `Env.snapshot`, errors included."""
        return self._session.saved(await self._ask(self._session.snapshot_call()))

    async def restore(self, snapshot: Snapshot) -> tuple[Any, dict[str, Any]]:
        """Go on from a saved point; as `Env.restore`, errors included.

        After a cancellation call `restore` or `reset` again: it may have happened.
        """
        self._check_open()
        if self._session.id is not None:
            try:
                return await self._restore(snapshot)
            except ReplayDiverged:
                raise
            except SessionGone:
                pass
        (opened,) = (await self._hub._open(self._hub._send(self._session.open_empty_call()))).sessions
        self._keep(opened)
        self._session.id = opened.id
        return await self._restore(snapshot)

    async def fork(self, count: int = 1, snapshot: Snapshot | None = None) -> list[AsyncEnv]:
        """Make environments that go on from where this one stands; as `Env.fork`, errors included."""
        call = self._session.fork_call(count, snapshot)
        try:
            reply = await self._hub._open(self._hub._send(call))
        except SessionGone:
            self._forget()
            raise
        return self._twins(reply, snapshot)

    async def render(self) -> str | NDArray[np.uint8]:
        """Draw the environment, as text or as an RGB picture, whichever it draws.

        Raises:
            NotJson: It draws nothing.
        """
        picture: str | NDArray[np.uint8] = await self._hub._send(_calls.render(self._session.known_id()))
        return picture

    async def trajectory(self) -> Trajectory:
        """The running episode as the hub recorded it."""
        reply = await self._hub._send(_calls.trajectory(self._session.known_id()))
        return from_wire(reply, self.observation_space)

    async def close(self) -> None:
        """End the session and give its replica back. Closing again does nothing."""
        self._closed = True
        if self._session.id is not None:
            session = self._session.id
            self._session.forget()
            await self._hub._release([session])

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncEnv({self.env_info.name}, session={self._session.id})"

    async def _open(self, seed: int, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
        opening, together = self._session.opening(seed, options), self._hub._together
        asking = self._hub._send(opening.call()) if together is None else together.open(opening)
        (opened,) = (await self._hub._open(asking)).sessions
        self._keep(opened)
        return self._session.opened(opened)

    def _keep(self, opened: _wire.OpenedSession) -> None:
        heartbeat = self._session.settings.heartbeat
        self._hub._heartbeat.add(opened.id, opened.idle_timeout_s, self, heartbeat)

    async def _restore(self, snapshot: Snapshot) -> tuple[Any, dict[str, Any]]:
        return self._session.restored(await self._ask(self._session.restore_call(snapshot)), snapshot)

    def _twins(self, reply: _wire.OpenedSessions, snapshot: Snapshot | None) -> list[AsyncEnv]:
        """Make the environments of the sessions that a fork opened."""
        task = self._session.task if snapshot is None else snapshot.task
        twins = []
        for opened, seeds in zip(reply.sessions, self._seeds.spawn(len(reply.sessions)), strict=True):
            twin = AsyncEnv(self._hub, self.env_info, self._session.settings)
            twin._seeds = seeds
            twin._keep(opened)
            twin._session.forked(opened, task)
            twins.append(twin)
        return twins

    async def _ask(self, call: Call[T]) -> T:
        """Send a call of the session, and note that it was used, or that it is gone."""
        return await self._noted(self._hub._send(call))

    async def _noted(self, asked: Awaitable[T]) -> T:
        try:
            reply = await asked
        except SessionGone:
            self._forget()
            raise
        if self._session.id is not None:
            self._hub._heartbeat.used(self._session.id)
        return reply

    def _check_open(self) -> None:
        if self._closed:
            raise gymnasium.error.ClosedEnvironmentError(f"{self} is closed: make another")

    def _forget(self) -> None:
        if self._session.id is not None:
            self._hub._heartbeat.drop(self._session.id)
            self._session.forget()
