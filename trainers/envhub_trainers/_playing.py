"""One episode: a policy in a session of a hub.

What ends an episode early is one of three things, and they are never mixed up:

- a fault (`Faulted`): the hub, the environment or the model's endpoint failed. It says nothing of the policy;
  the episode is played again.
- a failure of the policy: it raised an exception, or its action was refused. The episode is kept as failed.
- a refusal of the whole run (`Stopped`): nothing can be played like this; asking again would not help.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from envhub_sdk import (
    AsyncEnv,
    BodyTooLarge,
    Busy,
    EnvHubError,
    EnvInfo,
    Forbidden,
    HubClosed,
    InvalidAction,
    InvalidOptions,
    MalformedRequest,
    NotFound,
    Unauthorized,
    UnknownEnv,
    UnknownTask,
    spaces,
)
from envhub_trainers._endpoint import NEVER_ANSWERED, EndpointFailed, EndpointRefused
from envhub_trainers._policies import Policy, Unreadable
from envhub_trainers._runs import Episode

_HOPELESS = (
    Unauthorized,
    Forbidden,
    UnknownEnv,
    UnknownTask,
    InvalidOptions,
    MalformedRequest,
    NotFound,
    HubClosed,
)
_ENDPOINT_HOPELESS = frozenset({NEVER_ANSWERED, 401, 402, 403, 404, 405, 429})


class Faulted(Exception):
    """An infrastructure fault ended an episode.

    Attributes:
        code: The hub's error code, or "endpoint_failed".
        step: How many steps had been taken.
    """

    def __init__(self, code: str, message: str, step: int) -> None:
        super().__init__(message)
        self.code = code
        self.step = step


class Stopped(Exception):
    """The run can't be played; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Job:
    """An episode to be played.

    Attributes:
        number: Its number in the run, from 0.
        task: The task to ask for; None to play what the seed draws.
        repeat: Which episode of its task it is, from 0.
        seed: Of the reset and of the policy.
        options: Further options of the reset.
    """

    number: int
    task: dict[str, Any] | None
    repeat: int
    seed: int
    options: Mapping[str, Any] = field(default_factory=dict)


async def play(env: AsyncEnv, policy: Policy, job: Job, attempt: int, max_steps: int | None) -> Episode:
    """Play an episode.

    Raises:
        Busy: The hub has no replica for it.
        Faulted: A fault ended it.
        Stopped: The run can't be played.
    """
    episode = _blank(env.env_info, job, attempt)
    clock = time.perf_counter()
    observation, info = await _reset(env, job)
    episode.reset_s = time.perf_counter() - clock
    episode.session = env.session_id or ""
    episode.episode = f"{episode.session}.{job.number}"
    episode.seed = job.seed if env.episode_seed is None else env.episode_seed
    if episode.task is None:
        episode.task = info.get("task")
    _see(episode, observation, info)
    while not (episode.terminated or episode.truncated):
        if max_steps is not None and len(episode.actions) >= max_steps:
            episode.outcome = "unfinished"
            return episode
        try:
            action = await _decide(policy, observation, info, episode)
            observation, info = await _step(env, action, episode)
            _keep_words(policy, episode)
            episode.invalid_actions += acted_in_vain(info)
        except (InvalidAction, BodyTooLarge) as refusal:
            tell = getattr(policy, "refused", None)
            if tell is not None:
                tell(str(refusal))
                continue
            episode.invalid_actions += 1
            episode.outcome, episode.error = "failed", f"{refusal.code}: {refusal}"
            return episode
        except _PolicyFailed as failure:
            episode.invalid_actions += len(getattr(policy, "problems", ()))
            episode.outcome, episode.error = "failed", str(failure)
            return episode
    episode.outcome = "terminated" if episode.terminated else "truncated"
    said = info.get("success")
    episode.success = said if isinstance(said, bool) else episode.terminated and episode.total_reward >= 1.0
    return episode


class _PolicyFailed(Exception):
    """The policy can't go on; the message begins with a code."""


async def _reset(env: AsyncEnv, job: Job) -> tuple[Any, dict[str, Any]]:
    options = dict(job.options) if job.task is None else {**job.options, "task": job.task}
    try:
        return await env.reset(seed=job.seed, options=options)
    except Busy:
        raise
    except EnvHubError as error:
        raise _sorted(error, 0) from error


async def _decide(policy: Policy, observation: Any, info: dict[str, Any], episode: Episode) -> Any:
    steps = len(episode.actions)
    clock = time.perf_counter()
    try:
        action = policy(observation, info)
        if inspect.isawaitable(action):
            action = await action
    except EndpointFailed as error:
        raise Faulted("endpoint_failed", str(error), steps) from error
    except EndpointRefused as error:
        if steps == 0 or error.status in _ENDPOINT_HOPELESS:
            raise Stopped(f"the model can't be asked: {error}") from error
        raise _PolicyFailed(f"model_refused: {error}") from error
    except Unreadable as error:
        raise _PolicyFailed(f"unreadable_answers: {error}") from error
    except Exception as error:
        raise _PolicyFailed(f"policy_error: {type(error).__name__}: {error}") from error
    finally:
        episode.policy_s += time.perf_counter() - clock
    return action


def _keep_words(policy: Policy, episode: Episode) -> None:
    """Keep what the policy says of the action it took."""
    problems = list(getattr(policy, "problems", ()))
    episode.replies.append(list(getattr(policy, "replies", ())))
    episode.problems.append(problems)
    episode.thoughts.append(getattr(policy, "thought", None) or None)
    episode.invalid_actions += len(problems)


async def _step(env: AsyncEnv, action: Any, episode: Episode) -> tuple[Any, dict[str, Any]]:
    """Take a step and keep it.

    Raises:
        InvalidAction: The environment refuses the action.
        BodyTooLarge: The hub does.
        _PolicyFailed: The action can't be sent.
    """
    clock = time.perf_counter()
    try:
        observation, reward, terminated, truncated, info = await env.step(action)
    except (InvalidAction, BodyTooLarge):
        raise
    except EnvHubError as error:
        raise _sorted(error, len(episode.actions)) from error
    except (TypeError, ValueError) as error:  # it has no JSON form
        raise _PolicyFailed(f"policy_error: the action can't be sent: {error}") from error
    episode.step_s.append(time.perf_counter() - clock)
    episode.actions.append(spaces.plain(action))
    episode.rewards.append(reward)
    episode.total_reward = sum(episode.rewards)
    episode.terminated, episode.truncated = terminated, truncated
    _see(episode, observation, info)
    return observation, info


def _see(episode: Episode, observation: Any, info: dict[str, Any]) -> None:
    episode.observations.append(spaces.plain(observation))
    episode.infos.append(info)


def _sorted(error: EnvHubError, step: int) -> Exception:
    if isinstance(error, _HOPELESS):
        return Stopped(f"{error.code}: {error}")
    return Faulted(error.code, str(error), step)


def acted_in_vain(info: Mapping[str, Any]) -> bool:
    """Whether a step's info says that its action was none: `valid_action` false, or a `reason` why not."""
    return info.get("valid_action") is False or bool(info.get("reason"))


def limits_of(served: EnvInfo) -> dict[str, int | float]:
    """The limits of an environment as records have them: seconds (`…_s`) as they are, counts as integers."""
    return {name: limit if name.endswith("_s") else int(limit) for name, limit in served.limits.items()}


def facts_of(served: EnvInfo) -> dict[str, Any]:
    """What a record says of the environment it was made in."""
    return {
        "env": served.name,
        "env_version": served.version,
        "config": served.config,
        "limits": limits_of(served),
        "isolation": served.isolation,
        "conda_locked": served.conda_locked,
        "lock_digest": served.lock_digest,
        "data_digest": (served.data or {}).get("digest"),
    }


def _blank(served: EnvInfo, job: Job, attempt: int) -> Episode:
    return Episode(
        **facts_of(served),
        labels={},
        session="",
        episode="",
        seed=job.seed,
        task=job.task,
        asked_task=job.task,
        options=dict(job.options),
        started_at=time.time(),
        reset_s=0.0,
        step_s=[],
        outcome="unfinished",
        error=None,
        total_reward=0.0,
        success=False,
        observations=[],
        actions=[],
        rewards=[],
        infos=[],
        terminated=False,
        truncated=False,
        job=job.number,
        repeat=job.repeat,
        attempts=attempt,
        replies=[],
        problems=[],
        thoughts=[],
        invalid_actions=0,
        policy_s=0.0,
    )
