"""The samples of one prompt, which a trainer compares with each other.

GRPO and its kin take a sample's advantage from its group's mean reward. A masked sample has no reward, and
any number in its place would move that mean and with it the advantages of the others. So it waits for the
others and takes their mean: then the group's mean is what it is without it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from statistics import fmean

__all__ = ["Group", "Groups"]


@dataclass(slots=True)
class Group:
    """Samples that were asked for together."""

    shared: object
    """What they have in common; held so that its identity stays theirs."""
    waited_for: int = 0
    """Samples that are not done."""
    rewards: list[tuple[float, float]] = field(default_factory=list)
    """Reward and score of each that has them."""
    complete: asyncio.Event = field(default_factory=asyncio.Event)

    def done(self, reward: tuple[float, float] | None) -> None:
        """Note that a sample is done, with its reward and score; None: it has none."""
        self.waited_for -= 1
        if reward is not None:
            self.rewards.append(reward)
        if not self.waited_for:
            self.complete.set()

    async def mean(self) -> tuple[float, float]:
        """The means of rewards and scores, when all samples are done; 0.0 where none has any."""
        await self.complete.wait()
        if not self.rewards:
            return 0.0, 0.0
        rewards, scores = zip(*self.rewards, strict=True)
        return fmean(rewards), fmean(scores)


class Groups:
    """The groups that are under way."""

    def __init__(self) -> None:
        self._open: dict[tuple[int, str], Group] = {}

    def join(self, shared: object, label: str) -> Group:
        """Be one of the samples that share an object and a label. It ends when all are done."""
        key = (id(shared), label)
        group = self._open.get(key)
        if group is None or group.complete.is_set():
            group = self._open[key] = Group(shared)
        group.waited_for += 1
        return group

    def leave(self, group: Group, label: str) -> None:
        """Forget a group that is complete."""
        key = (id(group.shared), label)
        if group.complete.is_set() and self._open.get(key) is group:
            del self._open[key]
