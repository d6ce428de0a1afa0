"""The statistics of evaluations: intervals of rates and means, and tests of paired runs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Interval = tuple[float, float]

Z95 = 1.959963984540054
"""The 97.5 % point of the normal distribution: intervals hold with a confidence of 95 %."""
RESAMPLES = 10_000
_BLOCK = 2_000_000  # indices that are drawn at a time


def wilson(successes: int, trials: int) -> Interval:
    """The 95 % interval of a rate that was seen as `successes` of `trials`; (0, 1) without trials.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", Journal of
    the American Statistical Association 22 (1927); recommended for all sample sizes by L. D. Brown, T. T. Cai
    and A. DasGupta, "Interval estimation for a binomial proportion", Statistical Science 16 (2001).
    """
    if trials == 0:
        return 0.0, 1.0
    rate, z2 = successes / trials, Z95 * Z95
    centre = (rate + z2 / (2 * trials)) / (1 + z2 / trials)
    spread = rate * (1 - rate) / trials + z2 / (4 * trials * trials)
    half = Z95 * math.sqrt(spread) / (1 + z2 / trials)
    low, high = centre - half, centre + half
    return (0.0 if successes == 0 else low), (1.0 if successes == trials else high)


def mcnemar(only_first: int, only_second: int) -> float:
    """The two-sided exact p-value that two paired runs succeed equally often.

    Pairs in which both or neither succeeded say nothing; of the others, each is as likely to be the first's
    as the second's, if the runs are equally good.

    Args:
        only_first: Pairs in which only the first succeeded.
        only_second: Pairs in which only the second succeeded.

    Source: Q. McNemar, "Note on the sampling error of the difference between correlated proportions or
    percentages", Psychometrika 12 (1947), with the binomial distribution itself instead of its approximation.
    """
    pairs = only_first + only_second
    tail = ways = 1
    for k in range(1, min(only_first, only_second) + 1):
        ways = ways * (pairs - k + 1) // k  # pairs over k
        tail += ways
    return min(1.0, 2 * tail / (1 << pairs))


def mean_interval(values: Sequence[float], seed: int = 0) -> Interval:
    """The 95 % percentile bootstrap interval of a mean; not a number without values.

    Source: B. Efron and R. J. Tibshirani, "An Introduction to the Bootstrap" (1993), chapter 13.
    """
    if not values:
        return math.nan, math.nan
    low, high = np.quantile(_resampled_means(np.asarray(values, float), seed), [0.025, 0.975])
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class Difference:
    """How much more one run brought than another, over pairs."""

    mean: float
    interval: Interval
    """95 %, percentile bootstrap over pairs."""
    p: float
    """Two-sided, of "the mean difference is 0"."""


def paired_bootstrap(first: Sequence[float], second: Sequence[float], seed: int = 0) -> Difference:
    """The mean of `second - first` over pairs.

    The p-value is the share of resamples, of the differences shifted to a mean of 0, whose mean is as far
    from 0 as the one that was seen.

    Source: B. Efron and R. J. Tibshirani, "An Introduction to the Bootstrap" (1993), chapters 13 and 16.

    Raises:
        ValueError: There are no pairs, or not as many of one as of the other.
    """
    if not first or len(first) != len(second):
        raise ValueError(f"pairs are needed, got {len(first)} and {len(second)} values")
    differences = np.asarray(second, float) - np.asarray(first, float)
    mean = float(differences.mean())
    means = _resampled_means(differences, seed)
    low, high = np.quantile(means, [0.025, 0.975])
    far = int(np.count_nonzero(np.abs(means - mean) >= abs(mean) - 1e-12))
    return Difference(mean, (float(low), float(high)), (far + 1) / (RESAMPLES + 1))


def _resampled_means(values: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    means: list[NDArray[np.float64]] = []
    left = RESAMPLES
    while left:
        rows = min(left, max(1, _BLOCK // len(values)))
        means.append(values[rng.integers(len(values), size=(rows, len(values)))].mean(axis=1))
        left -= rows
    return np.concatenate(means)
