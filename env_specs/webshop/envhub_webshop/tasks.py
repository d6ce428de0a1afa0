"""The tasks of a shop: one for each goal, in splits."""

from __future__ import annotations

import bisect
import random
import re
from array import array
from collections.abc import Mapping, Sequence
from typing import Any, overload

from envhub_webshop.errors import InvalidOptions, UnknownTask
from envhub_webshop.goal import Goal

NAMES = ("train", "validation", "test")

_ID = re.compile(r"goal-(0|[1-9][0-9]*)")


class Tasks:
    """Which goal belongs to which split.

    Where the data names the products of each split, a goal belongs to its product's. Otherwise goals are
    split by position, as published (princeton-nlp/WebShop, issue 1): 0-499 test, 500-1499 validation, the
    rest train. With 1,500 goals or fewer the first tenth is test and the next two tenths are validation; with
    one or two goals, each split holds them all.
    """

    def __init__(self, goals: Sequence[Goal], asins: Mapping[str, Sequence[str]] | None) -> None:
        self._goals = goals
        self._splits: dict[str, Sequence[int]] = _by_position(len(goals))
        if asins is not None:
            split_of = {asin: name for name, members in asins.items() for asin in members}
            positions = {name: array("q") for name in NAMES}
            for at, goal in enumerate(goals):
                positions[split_of[goal.product.asin]].append(at)
            self._splits = dict(positions)

    def of_split(self, split: str) -> TaskList:
        """Return the tasks of a split.

        Raises:
            UnknownTask: There is no such split.
        """
        if not isinstance(split, str) or split not in self._splits:
            raise UnknownTask(f"there is no split {split!r}. Use one of: {', '.join(NAMES)}")
        return TaskList(split, self._splits[split], self._goals)

    def position(self, task: Any) -> int:
        """Return the position of the goal that a task names by its id.

        Raises:
            UnknownTask: It names none of this shop.
        """
        identity = task.get("id") if isinstance(task, dict) else None
        match = _ID.fullmatch(identity) if isinstance(identity, str) else None
        if match is None or int(match[1]) >= len(self._goals):
            raise UnknownTask(f"there is no task {identity!r}. Use goal-0 to goal-{len(self._goals) - 1}")
        return int(match[1])

    def draw(self, split: str, seed: int | None) -> int:
        """Return the position of a goal of a split, drawn evenly from the seed.

        Raises:
            UnknownTask: There is no such split.
            InvalidOptions: It has no goal.
        """
        members = self.of_split(split).positions
        if not members:
            raise InvalidOptions(f"split {split!r} has no task. Choose another split, or keep more goals")
        return members[random.Random(seed).randrange(len(members))]

    def task(self, position: int) -> dict[str, Any]:
        """Return the task of the goal at a position."""
        split = next(name for name, members in self._splits.items() if _contains(members, position))
        return {"id": f"goal-{position}", "split": split}


class TaskList(Sequence[dict[str, Any]]):
    """The tasks of one split; each is made when it is asked for."""

    def __init__(self, split: str, positions: Sequence[int], goals: Sequence[Goal]) -> None:
        self.split = split
        self.positions = positions
        self._goals = goals

    def __len__(self) -> int:
        return len(self.positions)

    @overload
    def __getitem__(self, at: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, at: slice) -> TaskList: ...

    def __getitem__(self, at: int | slice) -> dict[str, Any] | TaskList:
        if isinstance(at, slice):
            return TaskList(self.split, self.positions[at], self._goals)
        position = self.positions[at]
        return {
            "id": f"goal-{position}",
            "split": self.split,
            "instruction": self._goals[position].instruction,
        }


def _by_position(count: int) -> dict[str, Sequence[int]]:
    if count < 3:
        return {name: range(count) for name in NAMES}
    test, validation = (500, 1500) if count > 1500 else (max(1, count // 10), max(2, count * 3 // 10))
    return {"train": range(validation, count), "validation": range(test, validation), "test": range(test)}


def _contains(positions: Sequence[int], position: int) -> bool:
    if isinstance(positions, range):
        return position in positions
    at = bisect.bisect_left(positions, position)
    return at < len(positions) and positions[at] == position
