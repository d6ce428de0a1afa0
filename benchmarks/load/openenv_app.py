"""A plain echo environment of OpenEnv, written and served as its own template does.

Runs in the virtual environment that `contestants` installs OpenEnv into.
"""

from __future__ import annotations

from typing import Any

from openenv.core.env_server.http_server import create_app
from openenv.core.env_server.interfaces import Environment
from openenv.core.env_server.types import Action, Observation, State


class EchoAction(Action):
    """A message."""

    message: str


class EchoObservation(Observation):
    """The message again."""

    message: str = ""


class EchoEnvironment(Environment):
    """Says every message back."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self) -> None:
        super().__init__()
        self._state = State(step_count=0)

    def reset(self, seed: int | None = None, episode_id: str | None = None, **kwargs: Any) -> EchoObservation:
        """Starts an episode."""
        self._state = State(episode_id=episode_id, step_count=0)
        return EchoObservation(done=False, reward=0.0)

    def step(self, action: EchoAction, timeout_s: float | None = None, **kwargs: Any) -> EchoObservation:
        """Says the message back."""
        self._state.step_count += 1
        return EchoObservation(message=action.message, done=False, reward=0.0)

    @property
    def state(self) -> State:
        """The episode and its steps so far."""
        return self._state


app = create_app(EchoEnvironment, EchoAction, EchoObservation, env_name="echo", max_concurrent_envs=1024)
