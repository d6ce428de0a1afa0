"""A session of a hub as a Gymnasium environment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import gymnasium
import numpy as np
from numpy.typing import NDArray

from envhub_sdk import _calls, _wire
from envhub_sdk._calls import Call
from envhub_sdk._exceptions import ReplayDiverged, SessionGone
from envhub_sdk._session import Session, Settings, Transition, action_space, draw, observation_space
from envhub_sdk._snapshot import Snapshot
from envhub_sdk._trajectory import Trajectory, from_wire

if TYPE_CHECKING:
    from envhub_sdk._hub import Hub

__all__ = ["Env"]

T = TypeVar("T")

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
        self._on_fork: Callable[[], None] | None = None
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
        self._check_open()
        if seed is None and self._np_random is None:
            seed = self._first_seed
        super().reset(seed=seed)
        wire_seed = draw(self.np_random) if seed is None else seed
        if self._session.id is not None:
            try:
                return self._session.started(self._ask(self._session.reset_call(wire_seed, options)))
            except SessionGone:
                pass
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
        return self._session.stepped(self._ask(self._session.step_call(action)))

    def snapshot(self) -> Snapshot:
        """Save where the episode stands; the hub keeps it for `restore` and `fork`.

        Raises:
            NoEpisode: There was no reset yet, or the session is gone.
            EpisodeFailed: The environment failed in this episode.
            CallNotImplemented: The environment has no state methods and is not replayable.
            SessionGone: The session expired or was lost.
        """
        return self._session.saved(self._ask(self._session.snapshot_call()))

    def restore(self, snapshot: Snapshot) -> tuple[Any, dict[str, Any]]:
        """Go on from a saved point, of this environment or of another session of it; no reset is needed.

        Args:
            snapshot: The point.

        Returns:
            The observation and info at that point.

        Raises:
            UnknownSnapshot: The hub does not keep it (any more), or it is of another environment.
            ReplayDiverged: The environment went another way when its episode was played again.
            NoFreeReplica: A session had to be opened and every replica was taken for as long as `wait_s`.
        """
        self._check_open()
        if self._session.id is not None:
            try:
                return self._restore(snapshot)
            except ReplayDiverged:
                raise
            except SessionGone:
                pass
        (opened,) = self._hub._open(self._session.open_empty_call()).sessions
        self._keep(opened)
        self._session.id = opened.id
        return self._restore(snapshot)

    def fork(self, count: int = 1, snapshot: Snapshot | None = None) -> list[Env]:
        """Make environments that go on from where this one stands, each on its own.

        A reset of one without a seed draws it from a stream of its own, which follows from this one's seed.

        Args:
            count: How many; all or none.
            snapshot: Go on from this point instead.

        Raises:
            NoEpisode: There was no reset yet, or the session is gone.
            UnknownSnapshot: The hub does not keep it (any more).
            ReplayDiverged: The environment went another way when its episode was played again.
            NoFreeReplica: There were not enough free replicas for as long as `wait_s`.
            SessionGone: The session expired or was lost.
        """
        call = self._session.fork_call(count, snapshot)
        try:
            reply = self._hub._open(call)
        except SessionGone:
            self._forget()
            raise
        return self._twins(reply, snapshot)

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
        (opened,) = self._hub._open(self._session.open_call(seed, options)).sessions
        self._keep(opened)
        return self._session.opened(opened)

    def _keep(self, opened: _wire.OpenedSession) -> None:
        heartbeat = self._session.settings.heartbeat
        self._hub._heartbeat.add(opened.id, opened.idle_timeout_s, self, heartbeat)

    def _restore(self, snapshot: Snapshot) -> tuple[Any, dict[str, Any]]:
        return self._session.restored(self._ask(self._session.restore_call(snapshot)), snapshot)

    def _twins(self, reply: _wire.OpenedSessions, snapshot: Snapshot | None = None) -> list[Env]:
        """Make the environments of the sessions that a fork opened."""
        task = self._session.task if snapshot is None else snapshot.task
        twins = []
        for opened, stream in zip(reply.sessions, self.np_random.spawn(len(reply.sessions)), strict=True):
            twin = Env(self._hub, self.env_info, self._session.settings, render_mode=self.render_mode)
            twin.spec, twin.np_random = self.spec, stream
            twin._on_close, twin._on_fork = self._on_close, self._on_fork
            if self._on_fork is not None:
                self._on_fork()
            twin._keep(opened)
            twin._session.forked(opened, task)
            twins.append(twin)
        return twins

    def _ask(self, call: Call[T]) -> T:
        """Send a call of the session, and note that it was used, or that it is gone."""
        try:
            reply = self._hub._send(call)
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
