"""How good an answer is: AgentBench's measures."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class Score:
    """The measures of one answer.

    Attributes:
        f1: Harmonic mean of precision and recall over the members, 0 to 1.
        exact: Whether it has all that are right, and no others.
        executable: Whether it has any.
    """

    f1: float
    exact: bool
    executable: bool


NO_ANSWER = Score(0.0, False, False)


def score(predicted: Collection[str], gold: Collection[str]) -> Score:
    """Compare two sets of names and values, as texts."""
    found, right = set(predicted), set(gold)
    hits = len(found & right)
    f1 = 2 * hits / (len(found) + len(right)) if hits else 0.0
    return Score(f1, found == right, bool(found))
