"""How long calls took, in fixed buckets: plain integers, so that counting one costs next to nothing."""

from __future__ import annotations

from bisect import bisect_left

BOUNDS_S = (5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0)
"""The upper ends of the buckets in seconds; one more bucket takes what is longer."""


class Times:
    """A histogram.

    Attributes:
        counts: Calls by bucket.
        seconds: The time of all calls together.
    """

    __slots__ = ("counts", "seconds")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS_S) + 1)
        self.seconds = 0.0

    def add(self, seconds: float, calls: int) -> None:
        """Counts calls that took so many seconds each."""
        self.counts[bisect_left(BOUNDS_S, seconds)] += calls
        self.seconds += calls * seconds

    def include(self, counts: list[int], seconds: float) -> None:
        """Adds another histogram's numbers."""
        self.counts = [mine + other for mine, other in zip(self.counts, counts)]
        self.seconds += seconds

    def take(self) -> tuple[list[int], float]:
        """The numbers so far, which begin anew; the list `counts` stays the same one."""
        taken = self.counts[:], self.seconds
        self.counts[:], self.seconds = [0] * len(self.counts), 0.0
        return taken
