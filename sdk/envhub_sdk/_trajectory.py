"""The record of an episode."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import msgspec

from envhub_sdk import _wire, spaces
from envhub_sdk._exceptions import EnvHubError

if TYPE_CHECKING:
    from envhub_sdk._session import Transition

__all__ = ["EpisodeError", "Timings", "Trajectory"]


@dataclass(slots=True)
class EpisodeError:
    """Why an episode ended before its time."""

    code: str
    """The exception's code, as in the API; "policy_error" where the policy raised it."""
    message: str
    type: str
    """Name of the exception's class."""


@dataclass(slots=True)
class Timings:
    """Where an episode's time went, in seconds."""

    started_at: float = 0.0
    """Unix time of the reset."""
    reset_s: float = 0.0
    """Until the first observation, with any wait for a replica."""
    policy_s: float = 0.0
    """In the policy, all steps together."""
    step_s: float = 0.0
    """In `step`, all steps together."""


@dataclass(slots=True)
class Trajectory:
    """One episode, whole.

    `observations` and `infos` are one longer than `actions` and `rewards`: they begin with the reset's.
    An episode that ended with an error has the transitions up to it and nothing made up after it.
    """

    env: str
    """Name of the environment."""
    version: str | None = None
    """Version of its spec."""
    data_digest: str | None = None
    """Digest of the data it runs on."""
    lock_digest: str | None = None
    """Digest of the lock its environment runs on; None on the hub's own interpreter."""
    task: Any = None
    """The task asked for; else the one the environment named in `info["task"]`."""
    seed: int | None = None
    observations: list[Any] = field(default_factory=list)
    actions: list[Any] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)
    infos: list[dict[str, Any]] = field(default_factory=list)
    terminated: bool = False
    truncated: bool = False
    """Also set where `max_steps` of a rollout cut the episode short."""
    error: EpisodeError | None = None
    timings: Timings = field(default_factory=Timings)

    @property
    def steps(self) -> int:
        """Number of steps taken."""
        return len(self.actions)

    @property
    def episode_return(self) -> float:
        """Sum of the rewards."""
        return sum(self.rewards)

    def to_json(self) -> str:
        """Write it as one JSON object; arrays become lists, non-finite numbers strings."""
        return msgspec.json.encode(spaces.plain(dataclasses.asdict(self))).decode()


def from_wire(reply: _wire.Trajectory, observation_space: spaces.Space) -> Trajectory:
    """Decode an episode as the hub recorded it."""

    def observed(raw: msgspec.Raw) -> Any:
        return spaces.decode(observation_space, msgspec.json.decode(raw))

    started = reply.episode_id is not None
    raw_infos = ([reply.info] if started else []) + [step.info for step in reply.steps]
    infos: list[dict[str, Any]] = [msgspec.json.decode(info) for info in raw_infos]
    return Trajectory(
        env=reply.env,
        version=reply.env_version,
        data_digest=digest_of(reply.data),
        lock_digest=reply.lock_digest,
        task=infos[0].get("task") if reply.task is None and infos else reply.task,
        seed=reply.seed,
        observations=([observed(reply.observation)] if started else [])
        + [observed(step.observation) for step in reply.steps],
        actions=[msgspec.json.decode(step.action) for step in reply.steps],
        rewards=[step.reward for step in reply.steps],
        infos=infos,
        terminated=bool(reply.steps) and reply.steps[-1].terminated,
        truncated=bool(reply.steps) and reply.steps[-1].truncated,
    )


def digest_of(data: Mapping[str, Any] | None) -> str | None:
    """The digest in what a hub says of an environment's data."""
    return None if data is None else data.get("digest")


class Recorder:
    """Writes a trajectory while an episode is played.

    Args:
        trajectory: The trajectory to fill.
    """

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self._clock = time.perf_counter()
        trajectory.timings.started_at = time.time()

    def started(self, observation: Any, info: dict[str, Any], task: Any, seed: int | None) -> None:
        """Record the answer to the reset."""
        self.trajectory.timings.reset_s += self._lap()
        self.trajectory.observations.append(observation)
        self.trajectory.infos.append(info)
        self.trajectory.task = info.get("task") if task is None else task
        self.trajectory.seed = seed

    def decided(self) -> None:
        """Note that the policy has answered."""
        self.trajectory.timings.policy_s += self._lap()

    def stepped(self, action: Any, transition: Transition, max_steps: int | None) -> bool:
        """Record a transition; return whether the episode has ended."""
        into = self.trajectory
        into.timings.step_s += self._lap()
        observation, reward, into.terminated, into.truncated, info = transition
        into.actions.append(action)
        into.observations.append(observation)
        into.rewards.append(float(reward))
        into.infos.append(info)
        if not into.terminated and max_steps is not None and into.steps >= max_steps:
            into.truncated = True
        return into.terminated or into.truncated

    def failed(self, error: Exception) -> None:
        """Record what ended the episode."""
        code = error.code if isinstance(error, EnvHubError) else "policy_error"
        self.trajectory.error = EpisodeError(code, str(error), type(error).__name__)

    def _lap(self) -> float:
        before, self._clock = self._clock, time.perf_counter()
        return self._clock - before
