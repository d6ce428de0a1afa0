"""What tables are filled with. The same name draws the same, in any process."""

from __future__ import annotations

import datetime
import functools
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


@functools.cache
def words(kind: str) -> tuple[str, ...]:
    """Return all words of a kind, such as "first", "last", "city" or "firm"."""
    found = json.loads(Path(__file__).with_name("words.json").read_text(encoding="utf-8"))
    return tuple(found[kind])


class Draw:
    """A random generator that knows some words.

    Args:
        name: Its seed.
    """

    def __init__(self, name: str) -> None:
        self._random = random.Random(name)

    def number(self, low: int, high: int) -> int:
        """Return an integer, both ends included."""
        return self._random.randint(low, high)

    def choice(self, values: Sequence[T]) -> T:
        """Return one of them."""
        return self._random.choice(values)

    def sample(self, values: Sequence[T], count: int) -> list[T]:
        """Return so many different ones of them, in any order."""
        return self._random.sample(values, count)

    def shuffled(self, values: Sequence[T]) -> list[T]:
        """Return all of them in another order."""
        return self.sample(values, len(values))

    def chance(self, share: float) -> bool:
        """Tell whether something that happens so often happens now."""
        return self._random.random() < share

    def person(self) -> str:
        """Return a full name."""
        return f"{self.choice(words('first'))} {self.choice(words('last'))}"

    def title(self) -> str:
        """Return a title, as of a book."""
        adjective, noun, other = self.choice(words("adjective")), *self.sample(words("noun"), 2)
        return self.choice(
            (
                f"The {adjective} {noun}",
                f"{adjective} {noun}",
                f"The {noun} and the {other}",
                f"A {noun} of {other}s",
            )
        )

    def firm(self) -> str:
        """Return the name of a firm."""
        kind = self.choice(("Group", "Partners", "Trading", "Works", "and Sons"))
        return f"{self.choice(words('firm'))} {kind}"

    def address(self) -> str:
        """Return an address in a street."""
        return f"{self.number(1, 180)} {self.choice(words('street'))}"

    def word(self, kind: str) -> str:
        """Return one of `words`."""
        return self.choice(words(kind))

    def code(self, prefix: str) -> str:
        """Return a code such as BK-48213."""
        return f"{prefix}-{self.number(10000, 99999)}"

    def date(self, first: int, last: int) -> datetime.date:
        """Return a day of these years, both included."""
        start = datetime.date(first, 1, 1)
        return start + datetime.timedelta(days=self.number(0, 365 * (last - first + 1) - 1))
