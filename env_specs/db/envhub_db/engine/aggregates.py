"""Aggregates that SQLite has not, or not with MySQL's arithmetic, in the form that sqlite3 takes."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from .errors import DatabaseError
from .numbers import number, quotient


class First:
    """The value in a group's first row: what a column that is not aggregated shows."""

    def __init__(self) -> None:
        self.seen, self.value = False, None

    def step(self, value: Any) -> None:
        """Take a row."""
        if not self.seen:
            self.seen, self.value = True, value

    def finalize(self) -> Any:
        """The first row's value."""
        return self.value


class Single:
    """The only value of a scalar subquery; MySQL's error 1242 where there are two."""

    def __init__(self) -> None:
        self.count, self.value = 0, None

    def step(self, value: Any) -> None:
        """Take a row."""
        self.count, self.value = self.count + 1, value
        if self.count > 1:
            raise DatabaseError(1242, "Subquery returns more than 1 row")

    def finalize(self) -> Any:
        """The value."""
        return self.value


class _Total:
    def __init__(self) -> None:
        self.count = 0
        self.total: Any = 0
        self.seen: set[Any] | None = None

    def take(self, value: Any, distinct: Any) -> bool:
        if value is None:
            return False
        if distinct:
            self.seen = set() if self.seen is None else self.seen
            if value in self.seen:
                return False
            self.seen.add(value)
        self.count += 1
        return True


class Sum(_Total):
    """`SUM` of doubles, one after the other as MySQL adds."""

    def step(self, value: Any, distinct: Any = 0) -> None:
        """Take a row."""
        value = number(value)
        if self.take(value, distinct):
            self.total += float(value)

    def finalize(self) -> Any:
        """The sum."""
        return float(self.total) if self.count else None


class Average(Sum):
    """`AVG` of doubles."""

    def finalize(self) -> Any:
        """The mean."""
        return self.total / self.count if self.count else None


class ExactSum(_Total):
    """`SUM` of whole numbers and decimals."""

    scale = 0

    def step(self, value: Any, scale: int, distinct: Any = 0) -> None:
        """Take a row."""
        if self.take(value, distinct):
            self.scale = scale
            self.total += value if isinstance(value, int) else Decimal(repr(value))

    def finalize(self) -> Any:
        """The sum: a whole number where it is one that fits, else the double nearest to it."""
        if not self.count:
            return None
        if isinstance(self.total, int):
            return self.total if abs(self.total) < 1 << 62 else float(self.total)
        return float(self.total)


class ExactAverage(ExactSum):
    """`AVG` of whole numbers and decimals: four more digits."""

    def finalize(self) -> Any:
        """The mean."""
        return quotient(self.total, self.count, min(30, self.scale + 4)) if self.count else None


class Variance:
    """`VAR_POP`, `VAR_SAMP`, `STD` and `STDDEV_SAMP`, by Welford's recurrence as MySQL has it."""

    def __init__(self) -> None:
        self.count, self.mean, self.squares = 0, 0.0, 0.0
        self.kind = ""

    def step(self, value: Any, kind: str) -> None:
        """Take a row."""
        self.kind = kind
        value = number(value)
        if value is None:
            return
        self.count += 1
        before = self.mean
        self.mean += (value - before) / self.count
        self.squares += (value - before) * (value - self.mean)

    def finalize(self) -> Any:
        """The variance or its root."""
        sample = self.kind.endswith("samp")
        if self.count <= sample:
            return None
        variance = self.squares / (self.count - sample)
        return math.sqrt(variance) if self.kind.startswith("std") else variance


class Bits:
    """`BIT_AND`, `BIT_OR` and `BIT_XOR`."""

    def __init__(self) -> None:
        self.all, self.any, self.odd = -1, 0, 0
        self.kind = ""

    def step(self, value: Any, kind: str) -> None:
        """Take a row."""
        self.kind = kind
        if value is not None:
            bits = int(number(value))
            self.all, self.any, self.odd = self.all & bits, self.any | bits, self.odd ^ bits

    def finalize(self) -> Any:
        """The bits."""
        return {"and": self.all, "or": self.any, "xor": self.odd}.get(self.kind, -1)


class Ordered:
    """One more row for a sort by several keys, some of them descending; NULL comes first."""

    __slots__ = ("keys",)

    def __init__(self, keys: list[tuple[Any, bool]]) -> None:
        self.keys = keys

    def __lt__(self, other: Ordered) -> bool:
        for (one, descending), (another, _) in zip(self.keys, other.keys):
            if one == another:
                continue
            if one is None or another is None:
                return (one is None) != descending
            return bool(one < another) != descending
        return False
