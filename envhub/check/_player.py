"""Playing episodes on a replica and comparing them."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from envhub.pool import Replica
from envhub.worker import frames
from envhub_sdk import spaces

Action = bytes
"""An action as it travels: JSON."""


class Refused(Exception):
    """The worker answered with an error: `code` is the API's; of failures there is a `traceback`."""

    def __init__(self, code: str, message: str, details: dict[str, Any]) -> None:
        super().__init__(message)
        self.code = code
        self.traceback = str(details.get("traceback", ""))


class CannotAct(Exception):
    """No actions are offered and there is no action space to draw from."""


@dataclass(frozen=True, slots=True)
class Point:
    """What reset or a step returned; a refused action is a point at which nothing changed."""

    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    info: Any
    offered: bool = False
    """Whether the action was one that the environment itself offered."""
    refusal: str = ""

    @property
    def over(self) -> bool:
        """Whether the episode ended here."""
        return self.terminated or self.truncated


@dataclass(slots=True)
class Episode:
    """A seed, the actions taken, and what came back: one point for the reset and one for each action."""

    seed: int
    actions: list[Action] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)


class Player:
    """One replica, asked as the hub asks it."""

    def __init__(self, replica: Replica) -> None:
        self.replica = replica

    async def ask(self, operation: int, payload: bytes = b"") -> tuple[int, Any]:
        """Have the replica do one operation.

        Raises:
            Refused: the answer is an error.
        """
        code, body = await self.replica.call(operation, payload)
        answer = json.loads(body)
        if code >= frames.FIRST_ERROR:
            raise Refused(frames.ERRORS[code], answer["message"], answer.get("details", {}))
        return code, answer

    async def reset(self, seed: int, options: dict[str, Any] | None = None) -> Point:
        """Start an episode."""
        request = json.dumps({"seed": seed, "options": options or {}}).encode()
        _, answer = await self.ask(frames.RESET, request)
        return Point(answer["observation"], 0.0, False, False, answer["info"])

    async def step(self, action: Action, offered: bool = False) -> Point:
        """Take a step; an action that the environment refuses is a point too."""
        try:
            _, answer = await self.ask(frames.STEP, action)
        except Refused as refused:
            if refused.code != "invalid_action":
                raise
            return Point(None, 0.0, False, False, {}, offered, str(refused))
        return Point(**answer, offered=offered)

    async def play(self, seed: int, action_space: Any, max_steps: int) -> Episode:
        """Play an episode with random actions that depend on nothing but the seed and what is offered."""
        episode = Episode(seed)
        drawn = random.Random(seed)
        point = await self.reset(seed)
        episode.points.append(point)
        before = point
        while not point.over and len(episode.actions) < max_steps:
            action, offered = _choose(drawn, before, action_space)
            point = await self.step(action, offered)
            episode.actions.append(action)
            episode.points.append(point)
            before = before if point.refusal else point
        return episode

    async def take(self, actions: Sequence[Action]) -> list[Point]:
        """Take these steps in the running episode."""
        return [await self.step(action) for action in actions]

    async def replay(self, episode: Episode, steps: int | None = None) -> list[Point]:
        """Start the episode again and take its first steps, or all of them."""
        return [await self.reset(episode.seed), *await self.take(episode.actions[:steps])]


def difference(expected: Sequence[Point], found: Sequence[Point], first_step: int = 0) -> str | None:
    """Return where two runs differ first, or None. Step 0 is the reset.

    Observations, rewards, ends and offered actions count; the rest of `info` may hold clock times.
    """
    for step, (one, other) in enumerate(zip(expected, found, strict=True), first_step):
        where = f"step {step}" if step else "the reset"
        for name in ("observation", "reward", "terminated", "truncated", "refusal"):
            before, after = getattr(one, name), getattr(other, name)
            if before != after:
                return f"at {where} the {name} was {after!r:.120} instead of {before!r:.120}"
        if _offers(one.info) != _offers(other.info):
            return f"at {where} other actions were available"
    return None


def _offers(info: Any) -> Any:
    return info.get("available_actions") if isinstance(info, dict) else None


def _choose(drawn: random.Random, point: Point, action_space: Any) -> tuple[Action, bool]:
    offers = _texts(drawn, _offers(point.info), point.observation)
    if offers:
        return json.dumps(drawn.choice(offers)).encode(), True
    if action_space is None:
        raise CannotAct
    action_space.seed(drawn.randrange(2**31))
    return spaces.encode(action_space.sample()), False


def _texts(drawn: random.Random, offers: Any, observation: Any) -> list[str]:
    """Return the offered actions as texts: a list of them, or WebShop's published form."""
    if isinstance(offers, list) and all(isinstance(offer, str) for offer in offers):
        return offers
    if isinstance(offers, dict) and {"has_search_bar", "clickables"} <= offers.keys():
        if offers["has_search_bar"]:
            return [f"search[{drawn.choice(str(observation).split() or ['a'])}]"]
        return [f"click[{label}]" for label in offers["clickables"]]
    return []
