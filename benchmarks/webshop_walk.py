"""A seeded walk through the shop with the mix of actions of recorded WebShop episodes."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

SHARES = {
    "search": 232,
    "product": 246,
    "option": 300,
    "< prev": 204,
    "next >": 109,
    "buy now": 138,
    "features": 48,
    "description": 45,
    "reviews": 44,
    "back to search": 23,
}
"""How often each kind of action was taken in 174 recorded episodes: buyers, wrong buyers and random walks."""

_NAMED = SHARES.keys() - {"search", "product", "option"}


class Walker:
    """Chooses actions; of those that a page offers, each kind as often as it was recorded."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._instruction = ""

    def begin(self, instruction: str) -> None:
        """Start an episode."""
        self._instruction = instruction

    def action(self, available: Mapping[str, Any]) -> tuple[str, str]:
        """Return the kind of an action, and the action."""
        labels: dict[str, list[str]] = {}
        for label in available["clickables"]:
            labels.setdefault(kind_of(label), []).append(label)
        if available["has_search_bar"]:
            labels = {"search": []}
        kinds = [kind for kind in labels if kind in SHARES]
        kind = self._random.choices(kinds, [SHARES[kind] for kind in kinds])[0]
        if kind == "search":
            return kind, f"search[{self._keywords()}]"
        return kind, f"click[{self._random.choice(labels[kind])}]"

    def _keywords(self) -> str:
        """Return what an agent types: the instruction from its start, or some neighbouring words of it."""
        words = self._instruction.split(", and price lower")[0].split()
        if self._random.random() < 0.2:
            return " ".join(words)
        start = self._random.randrange(max(1, len(words) - 2))
        return " ".join(words[start : start + self._random.randint(1, 8)])


def kind_of(label: str) -> str:
    """Return the kind of action that clicking a label is."""
    if label in _NAMED:
        return label
    return "product" if len(label) == 10 and label[0] == "b" and label[1].isdigit() else "option"
