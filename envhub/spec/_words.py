"""Numbers in messages."""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """A number of things: `1 replica`, `2 replicas`, `0 processes`."""
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"1 {noun}" if number == 1 else f"{number} {plural}"
