"""Rewards: what an episode is worth to the trainer, in parts that are added up.

Each part has a value for every turn; their sum, clipped and weighted, is what the part adds to the episode's
reward. OpenRLHF trains on the episode's reward alone, the values of the turns are kept in the records. A part
that can't be computed, or is no finite number, is a fault and never a number in its place.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from envhub_trainers import _hooks
from envhub_trainers._rollout import Rollout
from envhub_trainers._settings import (
    FormatReward,
    FunctionReward,
    ModelReward,
    OutcomeReward,
    Reward,
    StepPenalty,
)

__all__ = ["RewardFailed", "Rewards", "Worth"]

FIRST_PAUSE_S = 0.5
"""Before a reward model is asked again; the next pauses are longer."""


class RewardFailed(Exception):
    """A part of the reward could not be computed."""

    code = "reward_failed"


@dataclass(frozen=True, slots=True)
class Worth:
    """A part of an episode's reward."""

    turns: list[float]
    """What each turn brought, unclipped and unweighted; the last one has what is said of the whole."""
    total: float
    """What the part adds to the reward."""


Judge = Callable[[Rollout, str], Awaitable[list[float]]]
"""Gives every turn of a rollout, whose conversation is the text, its value."""


class Rewards:
    """The reward of a run.

    Args:
        parts: Its parts, as configured.

    Raises:
        HookNotFound: A user's function isn't there.
    """

    def __init__(self, parts: Sequence[Reward]) -> None:
        self._parts = [(part, _judge(part)) for part in parts]

    @property
    def names(self) -> list[str]:
        """What the parts are called."""
        return [part.called for part, _ in self._parts]

    async def of(self, rollout: Rollout, text: str) -> dict[str, Worth]:
        """Compute every part.

        Args:
            rollout: An episode that was played to its end.
            text: Its whole conversation, as the model saw it.

        Raises:
            RewardFailed: A part can't be computed.
        """
        return {part.called: await _worth(part, judge, rollout, text) for part, judge in self._parts}


async def _worth(part: Reward, judge: Judge, rollout: Rollout, text: str) -> Worth:
    try:
        turns = await judge(rollout, text)
        total = sum(turns)
    except Exception as error:
        raise RewardFailed(f"the reward {part.called!r} failed: {type(error).__name__}: {error}") from error
    if not math.isfinite(total):
        raise RewardFailed(f"the reward {part.called!r} is {total}: it has to be a finite number")
    if part.clip is not None:
        total = min(max(total, part.clip[0]), part.clip[1])
    return Worth(turns, part.weight * total)


def _judge(part: Reward) -> Judge:
    match part:
        case OutcomeReward():
            return _outcome
        case FormatReward():
            return _form
        case StepPenalty():
            return _steps
        case FunctionReward():
            return _Function(part)
        case ModelReward():
            return _Model(part)


async def _outcome(rollout: Rollout, text: str) -> list[float]:
    return [turn.reward for turn in rollout.turns]


async def _form(rollout: Rollout, text: str) -> list[float]:
    return [0.0 if turn.well_formed else -1.0 for turn in rollout.turns]


async def _steps(rollout: Rollout, text: str) -> list[float]:
    return [-1.0] * len(rollout.turns)


class _Function:
    """A function of the user's."""

    def __init__(self, part: FunctionReward) -> None:
        self._call: Callable[[Rollout], Any] = _hooks.load(part.call)

    async def __call__(self, rollout: Rollout, text: str) -> list[float]:
        if inspect.iscoroutinefunction(self._call):
            value = await self._call(rollout)
        else:
            value = await asyncio.to_thread(self._call, rollout)
        return _per_turn(value, rollout)


class _Model:
    """A reward model behind HTTP."""

    def __init__(self, part: ModelReward) -> None:
        self._part = part

    async def __call__(self, rollout: Rollout, text: str) -> list[float]:
        first = rollout.turns[0].message if rollout.turns else ""
        body = {"query": [text], "prompts": [first], "labels": [json.dumps(rollout.task)]}
        async with httpx.AsyncClient(timeout=self._part.timeout_s) as client:
            answer = await self._post(client, body)
        return _per_turn(float(answer["rewards"][0]), rollout)

    async def _post(self, client: httpx.AsyncClient, body: dict[str, Any]) -> Any:
        pause = FIRST_PAUSE_S
        for left in range(self._part.retries, -1, -1):
            try:
                response = await client.post(self._part.url, json=body)
                response.raise_for_status()
                return response.json()
            except (httpx.TransportError, httpx.HTTPStatusError) as error:
                refused = isinstance(error, httpx.HTTPStatusError) and error.response.status_code < 500
                if refused or not left:
                    raise
            await asyncio.sleep(pause)
            pause *= 2
        raise AssertionError("the last try returns or raises")


def _per_turn(value: Any, rollout: Rollout) -> list[float]:
    """A judgement as one number a turn; one of the whole episode belongs to its last turn."""
    count = len(rollout.turns)
    if not isinstance(value, list | tuple):
        return [0.0] * (count - 1) + [float(value)]
    if len(value) != count:
        raise ValueError(f"it returned {len(value)} numbers for {count} turns")
    return [float(one) for one in value]
