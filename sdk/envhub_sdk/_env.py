"""A session of a hub as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from envhub_sdk import _calls, _wire
from envhub_sdk._exceptions import SessionGone
from envhub_sdk._session import Session, Settings, Transition, action_space, draw, observation_space
from envhub_sdk._trajectory import Trajectory, from_wire

if TYPE_CHECKING:
    from envhub_sdk._hub import Hub

__all__ = ["Env"]

RENDER_MODES = ("ansi", "rgb_array")
RENDER_FPS = 4


class Env(gymnasium.Env[Any, Any]):
    """One environment on a hub, played through the Gymnasium API; made by `Hub.make`.

    The session is opened by the first `reset()`. When it is gone (expired, or lost with its worker), the
    next `reset()` opens another.

    Attributes:
        env_info: What the hub says of the environment: version, splits, limits, data.
    """

    def __init__(
        self,
        hub: Hub,
        env: _wire.EnvInfo,
        settings: Settings,
        *,
        seed: int | None = None,
        render_mode: str | None = None,
    ) -> None:
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode {render_mode!r} is unknown: use one of {RENDER_MODES} or None")
        self.env_info = env
        self.action_space = action_space(env)
        self.observation_space = observation_space(env)
        self.render_mode = render_mode
        self.metadata = {"render_modes": [render_mode] if render_mode else [], "render_fps": RENDER_FPS}
        self._hub = hub
        self._session = Session(env, settings)
        self._first_seed = seed
        self._on_close: Callable[[], None] | None = None
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

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: Seed of the episode. Without one it is drawn from `np_random`, so that a run which began
                with a seed is reproducible as a whole.
            options: `{"task": …}` chooses the task, `{"split": …}` the split to draw one from; the rest is
                the environment's own.

        Returns:
            The first observation and its info.

        Raises:
            UnknownTask: The environment has no such task or split.
            InvalidOptions: The environment refused the seed or the options.
            NoFreeReplica: Every replica was taken for as long as `wait_s`.
            TypeError: The task is neither a dict nor an id.
            EnvHubError: Whatever else went wrong; the classes say what.
        """
        if self._closed:
            raise gymnasium.error.ClosedEnvironmentError(f"{self} is closed: make another")
        if seed is None and self._np_random is None:
            seed = self._first_seed
        super().reset(seed=seed)
        wire_seed = draw(self.np_random) if seed is None else seed
        if self._session.id is not None:
            try:
                call = self._session.reset_call(wire_seed, options)
                reply = self._hub._send(call)
                self._hub._heartbeat.used(self._session.id)
                return self._session.started(reply)
            except SessionGone:
                self._forget()
        return self._open(wire_seed, options)

    def step(self, action: Any) -> Transition:
        """Take one step.

        Should the answer be lost in spite of the retries (`TransportError`), call `step` again with the
        same action: a step is never executed twice.

        Raises:
            NoEpisode: There was no reset yet, or the session is gone.
            EpisodeOver: The episode has ended.
            InvalidAction: The action was refused; nothing changed.
            EpisodeLost: The environment failed or took too long: `reset()` starts anew.
            SessionGone: The session expired or was lost: `reset()` opens another.
        """
        call = self._session.step_call(action)
        try:
            reply = self._hub._send(call)
        except SessionGone:
            self._forget()
            raise
        if self._session.id is not None:
            self._hub._heartbeat.used(self._session.id)
        return self._session.stepped(reply)

    def render(self) -> str | NDArray[np.uint8]:
        """Draw the environment, as text or as an RGB picture, whichever it draws.

        Raises:
            NotJson: It draws nothing.
            TypeError: It draws something else than `render_mode` says.
        """
        picture: str | NDArray[np.uint8] = self._hub._send(_calls.render(self._session.known_id()))
        expected = {"ansi": str, "rgb_array": np.ndarray}.get(self.render_mode or "", object)
        if not isinstance(picture, expected):
            drawn = "text" if isinstance(picture, str) else "pictures"
            raise TypeError(f"{self.env_info.name} draws {drawn}, not render_mode={self.render_mode!r}")
        return picture

    def trajectory(self) -> Trajectory:
        """The running episode as the hub recorded it."""
        reply = self._hub._send(_calls.trajectory(self._session.known_id()))
        return from_wire(reply, self.observation_space)

    def close(self) -> None:
        """End the session and give its replica back. Closing again does nothing."""
        if self._closed:
            return
        self._closed = True
        if self._session.id is not None:
            self._hub._release([self._session.id])
            self._session.forget()
        if self._on_close is not None:
            self._on_close()

    def _open(self, seed: int, options: dict[str, Any] | None) -> tuple[Any, dict[str, Any]]:
        (opened,) = self._hub._send(self._session.open_call(seed, options)).sessions
        heartbeat = self._session.settings.heartbeat
        self._hub._heartbeat.add(opened.id, opened.idle_timeout_s, self, heartbeat)
        return self._session.opened(opened)

    def _forget(self) -> None:
        if self._session.id is not None:
            self._hub._heartbeat.drop(self._session.id)
            self._session.forget()
