"""The aggregate behind GROUP_CONCAT."""

from __future__ import annotations

from typing import Any

from .aggregates import Ordered
from .collation import sort_key
from .running import check_size


class GroupConcat:
    """Texts of a group in an order, joined and cut."""

    def __init__(self) -> None:
        self.rows: list[tuple[Ordered, str]] = []
        self.seen: set[str] = set()
        self.mark, self.limit, self.size = ",", 1024, 0

    def step(self, text: Any, mark: str, distinct: int, limit: int, *keys: Any) -> None:
        """Take a row: the text, and each key with whether it descends."""
        if text is None:
            return
        self.mark, self.limit = mark, limit
        if distinct:
            key = sort_key(text)
            if key in self.seen:
                return
            self.seen.add(key)
        self.size += len(text)
        check_size(self.size)
        pairs = [(keys[place], bool(keys[place + 1])) for place in range(0, len(keys), 2)]
        self.rows.append((Ordered(pairs), text))

    def finalize(self) -> Any:
        """The joined text, at most so many bytes of it."""
        if not self.rows:
            return None
        joined = self.mark.join(text for _, text in sorted(self.rows, key=lambda row: row[0]))
        return (
            joined.encode()[: self.limit].decode("utf-8", "ignore")
            if len(joined) * 4 > self.limit
            else joined
        )
