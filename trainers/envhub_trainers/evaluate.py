"""What a run's episodes say of its policy, and what two runs say of each other.

Invariants:
- Every kept episode counts, a policy's own failure as no success. What infrastructure faults ended counts
  nowhere but among the faults.
- Runs are compared task by task, and only if they were played on the same environment: same version,
  settings, limits, lock and data.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from envhub_trainers import _hooks
from envhub_trainers._runs import Facts, Result, Run
from envhub_trainers._stats import (
    Difference,
    Interval,
    mcnemar,
    mean_interval,
    paired_bootstrap,
    wilson,
)

__all__ = ["Comparison", "Evaluation", "Group", "NotComparable", "compare", "evaluate"]

TYPE_KEYS = {"frozenlake": "size"}
"""The key of an environment's tasks that says of what type a task is."""
USUAL_TYPE_KEYS = ("type", "task_type")
"""Those of other environments: the first that some task has."""
SAME = ("env", "env_version", "config", "limits", "isolation", "lock_digest", "data_digest", "max_steps")
"""What has to be the same of two runs that are compared."""


class NotComparable(ValueError):
    """Two runs can't be compared; the message says why."""


@dataclass(frozen=True, slots=True)
class Group:
    """Some episodes of a run, summed up. Intervals hold with a confidence of 95 %."""

    episodes: int
    successes: int
    success_rate: float
    success_interval: Interval
    """Wilson."""
    mean_return: float
    return_interval: Interval
    """Percentile bootstrap."""
    mean_steps: float
    invalid_actions: int
    """Actions that did nothing or could not be read."""
    failed: int
    """Ended by a failure of the policy."""
    unfinished: int
    """Cut by the run's own limit of steps."""
    truncated: int
    """Cut by the environment."""

    @classmethod
    def of(cls, episodes: Sequence[Result]) -> Group:
        """Sum up one or more episodes."""
        count = len(episodes)
        successes = sum(episode.success for episode in episodes)
        returns = [episode.total_reward for episode in episodes]
        outcomes = Counter(episode.outcome for episode in episodes)
        return cls(
            episodes=count,
            successes=successes,
            success_rate=successes / count,
            success_interval=wilson(successes, count),
            mean_return=sum(returns) / count,
            return_interval=mean_interval(returns),
            mean_steps=sum(episode.steps for episode in episodes) / count,
            invalid_actions=sum(episode.invalid_actions for episode in episodes),
            failed=outcomes["failed"],
            unfinished=outcomes["unfinished"],
            truncated=outcomes["truncated"],
        )


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a run brought."""

    run: Facts
    total: Group
    by: str | None
    """The key of tasks that says of what type they are; None where they have none."""
    types: dict[str, Group]
    failures: dict[str, int]
    """Failures of the policy that ended an episode, in words, the most frequent first."""
    faults: dict[str, int]
    """Tries that infrastructure faults ended, by code."""
    retried: int
    """Episodes that were played again after a fault, and kept."""
    lost: list[int]
    """Jobs of which nothing is kept, because of faults."""
    without_success: list[str]
    """Ids of the tasks in which the policy did not succeed."""
    steps: list[tuple[int, bool]]
    """Of each episode its number of steps, and whether it succeeded."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs on the same tasks: what the second brought more than the first."""

    first: Facts
    second: Facts
    pairs: int
    unpaired: int
    """Episodes of tasks that only one of them has."""
    first_total: Group
    second_total: Group
    only_first: int
    """Tasks in which only the first succeeded."""
    only_second: int
    success: Difference
    """Of the rate of successes, the p-value by McNemar's exact test."""
    returns: Difference
    """Of the returns, the p-value by paired bootstrap."""
    by: str | None
    types: dict[str, tuple[Group, Group]]


def evaluate(run: Run, by: str | None = None) -> Evaluation:
    """Sum a run up.

    Args:
        run: The run.
        by: The key of tasks that says of what type they are, or a function `(task) -> type` of the user's,
            `module:function` or `file.py:function`; None: the environment's own.

    Raises:
        NotComparable: The run has no episode.
        RunInvalid: A line of it can't be read.
        HookNotFound: The function can't be had.
    """
    episodes = list(run.results())
    if not episodes:
        raise NotComparable(f"{run.folder} has no episode: play it first")
    kept = {episode.job for episode in episodes}
    faults = run.faults()
    used, groups = _typed(episodes, by, run.facts.env)
    failures = Counter(str(episode.error) for episode in episodes if episode.outcome == "failed")
    without = dict.fromkeys(episode.task_id for episode in episodes if not episode.success)
    return Evaluation(
        run=run.facts,
        total=Group.of(episodes),
        by=used,
        types={name: Group.of(some) for name, some in groups.items()},
        failures=dict(failures.most_common()),
        faults=dict(Counter(fault.code for fault in faults)),
        retried=len({fault.job for fault in faults} & kept),
        lost=sorted({fault.job for fault in faults} - kept),
        without_success=list(without),
        steps=[(episode.steps, episode.success) for episode in episodes],
    )


def compare(first: Run, second: Run, by: str | None = None) -> Comparison:
    """Compare two runs, task by task.

    Args:
        first: A run.
        second: Another run on the same environment.
        by: As for `evaluate`.

    Raises:
        NotComparable: They were not played on the same environment, or have no task in common.
        RunInvalid: A line of one can't be read.
        HookNotFound: The function can't be had.
    """
    _check_same(first, second)
    mine, others = ({(one.task_id, one.repeat): one for one in run.results()} for run in (first, second))
    keys = [key for key in mine if key in others]
    if not keys:
        raise NotComparable(
            f"{first.folder} and {second.folder} have no task in common: play the same split and tasks"
        )
    ours, theirs = [mine[key] for key in keys], [others[key] for key in keys]
    wins = [(a.success, b.success) for a, b in zip(ours, theirs, strict=True)]
    only_first, only_second = wins.count((True, False)), wins.count((False, True))
    rates = paired_bootstrap([float(a) for a, _ in wins], [float(b) for _, b in wins])
    used, groups = _typed(ours, by, first.facts.env)
    return Comparison(
        first=first.facts,
        second=second.facts,
        pairs=len(keys),
        unpaired=len(mine) + len(others) - 2 * len(keys),
        first_total=Group.of(ours),
        second_total=Group.of(theirs),
        only_first=only_first,
        only_second=only_second,
        success=Difference(rates.mean, rates.interval, mcnemar(only_first, only_second)),
        returns=paired_bootstrap([one.total_reward for one in ours], [one.total_reward for one in theirs]),
        by=used,
        types={
            name: (Group.of(some), Group.of([others[one.task_id, one.repeat] for one in some]))
            for name, some in groups.items()
        },
    )


def _check_same(first: Run, second: Run) -> None:
    for key in SAME:
        one, other = getattr(first.facts, key), getattr(second.facts, key)
        if one != other:
            raise NotComparable(
                f"{first.folder} and {second.folder} can't be compared: their {key} differs ({one} and "
                f"{other}). Play both on the same environment, built and set the same"
            )


def _typed(
    episodes: Iterable[Result], by: str | None, env: str
) -> tuple[str | None, dict[str, list[Result]]]:
    """The key that was used, if tasks have it, and the episodes by type, in the order of their names."""
    chosen = by or TYPE_KEYS.get(env)
    played = list(episodes)
    for key in USUAL_TYPE_KEYS if chosen is None else (chosen,):
        type_of = _hooks.load(key) if ":" in key else _reader(key)
        groups: dict[str, list[Result]] = {}
        for episode in played:
            name = type_of(episode.task)
            groups.setdefault("none" if name is None else str(name), []).append(episode)
        if set(groups) != {"none"}:
            return key, {name: groups[name] for name in sorted(groups, key=_natural)}
    return None, {}


def _reader(key: str) -> Callable[[Any], Any]:
    return lambda task: task.get(key) if isinstance(task, dict) else None


def _natural(name: str) -> tuple[int, float, str]:
    """Sorts numbers by their value, before other names."""
    try:
        return 0, float(name), name
    except ValueError:
        return 1, 0.0, name
