"""A session of a hub, driven from asyncio."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import gymnasium
import numpy as np
from numpy.typing import NDArray

from envhub_sdk import _calls, _wire
from envhub_sdk._exceptions import SessionGone
from envhub_sdk._session import Seeds, Session, Settings, Transition, action_space, observation_space
from envhub_sdk._trajectory import Trajectory, from_wire

if TYPE_CHECKING:
    from envhub_sdk._async_hub import AsyncHub

__all__ = ["AsyncEnv"]


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
        if self._closed:
            raise gymnasium.error.ClosedEnvironmentError(f"{self} is closed: make another")
        wire_seed = self._seeds.next(seed)
        if self._session.id is not None:
            try:
                reply = await self._hub._send(self._session.reset_call(wire_seed, options))
                self._hub._heartbeat.used(self._session.id)
                return self._session.started(reply)
            except SessionGone:
                self._forget()
        return await self._open(wire_seed, options)

    async def step(self, action: Any) -> Transition:
        """Take one step; as `Env.step`, errors included.

        After a cancellation call `step` again with the same action: it may have been taken, and is not taken
        twice.
        """
        call = self._session.step_call(action)
        try:
            reply = await self._hub._send(call)
        except SessionGone:
            self._forget()
            raise
        if self._session.id is not None:
            self._hub._heartbeat.used(self._session.id)
        return self._session.stepped(reply)

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
        (opened,) = (await self._hub._open(self._session.open_call(seed, options))).sessions
        heartbeat = self._session.settings.heartbeat
        self._hub._heartbeat.add(opened.id, opened.idle_timeout_s, self, heartbeat)
        return self._session.opened(opened)

    def _forget(self) -> None:
        if self._session.id is not None:
            self._hub._heartbeat.drop(self._session.id)
            self._session.forget()
