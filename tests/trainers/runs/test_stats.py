"""Intervals and tests, against values of statsmodels 0.15 and against what must hold."""

import math
import random

import pytest

from envhub_trainers import _stats


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        (0, 10, 0.0, 0.27753279986288926),
        (10, 10, 0.7224672001371106, 1.0),
        (7, 10, 0.39677814746114537, 0.8922087325936989),
        (83, 100, 0.7445199523239887, 0.8910643388594006),
        (1, 500, 0.00035313639455927543, 0.01124070670514676),
        (250, 500, 0.4563412653024843, 0.5436587346975157),
    ],
)
def test_wilson_intervals_are_those_of_statsmodels(
    successes: int, trials: int, low: float, high: float
) -> None:
    assert _stats.wilson(successes, trials) == pytest.approx((low, high), abs=1e-12)


def test_nothing_is_known_without_trials() -> None:
    assert _stats.wilson(0, 0) == (0.0, 1.0)
    assert all(map(math.isnan, _stats.mean_interval([])))


@pytest.mark.parametrize(
    ("first", "second", "p"),
    [
        (0, 0, 1.0),
        (1, 0, 1.0),
        (5, 1, 0.21875),
        (10, 3, 0.09228515625),
        (30, 12, 0.007915897334896727),
        (7, 7, 1.0),
        (60, 95, 0.006132892626972146),
    ],
)
def test_mcnemar_is_that_of_statsmodels(first: int, second: int, p: float) -> None:
    assert _stats.mcnemar(first, second) == pytest.approx(p, rel=1e-12)
    assert _stats.mcnemar(second, first) == _stats.mcnemar(first, second)


def test_mcnemar_counts_thousands_of_pairs() -> None:
    assert 0 < _stats.mcnemar(4000, 4600) < 1e-9


def test_a_mean_lies_in_its_interval_which_narrows_with_more_values() -> None:
    rng = random.Random(5)
    values = [rng.random() for _ in range(400)]
    few, many = _stats.mean_interval(values[:40]), _stats.mean_interval(values)
    assert few[0] < sum(values[:40]) / 40 < few[1]
    assert many[1] - many[0] < few[1] - few[0]
    assert _stats.mean_interval(values) == many


def test_the_interval_of_a_mean_is_near_that_of_the_normal_distribution() -> None:
    values = [float(k % 10) for k in range(1000)]
    deviation = math.sqrt(sum((value - 4.5) ** 2 for value in values) / len(values))
    half = _stats.Z95 * deviation / math.sqrt(len(values))
    assert _stats.mean_interval(values) == pytest.approx((4.5 - half, 4.5 + half), abs=0.02)


def test_pairs_show_a_difference_that_single_values_hide() -> None:
    rng = random.Random(1)
    first = [rng.uniform(0, 10) for _ in range(200)]
    second = [value + rng.gauss(0.2, 0.5) for value in first]
    found = _stats.paired_bootstrap(first, second)
    assert found.interval[0] > 0 and found.p < 0.001
    assert found.mean == pytest.approx(0.2, abs=0.1)
    none = _stats.paired_bootstrap(first, first)
    assert (none.mean, none.interval, none.p) == (0.0, (0.0, 0.0), 1.0)


def test_the_two_runs_of_a_comparison_are_interchangeable() -> None:
    rng = random.Random(2)
    first, second = ([rng.random() for _ in range(50)] for _ in range(2))
    one, other = _stats.paired_bootstrap(first, second), _stats.paired_bootstrap(second, first)
    assert one.mean == pytest.approx(-other.mean)
    assert one.p == pytest.approx(other.p, abs=0.02)


@pytest.mark.parametrize(("first", "second"), [([], []), ([1.0], [1.0, 2.0])])
def test_what_are_no_pairs_is_refused(first: list[float], second: list[float]) -> None:
    with pytest.raises(ValueError, match="pairs are needed"):
        _stats.paired_bootstrap(first, second)
