"""Evaluations and comparisons as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from envhub_trainers._runs import Facts
from envhub_trainers._stats import Interval
from envhub_trainers.evaluate import Comparison, Evaluation, Group

SHOWN = 20
"""Tasks that a report lists."""

GROUP_COLUMNS = ("", "episodes", "success [95 %]", "return [95 %]", "steps", "invalid")
DIFFERENCE_COLUMNS = ("second minus first", "difference", "95 %", "p", "test")


def evaluation(found: Evaluation) -> str:
    """The report of one run."""
    parts = [
        f"# {found.run.env}: {policy_name(found.run)}",
        table(("", ""), facts_rows(found.run)),
        table(GROUP_COLUMNS, group_rows(found)),
        *remarks(found),
    ]
    if found.without_success:
        names = ", ".join(found.without_success[:SHOWN])
        more = f" and {len(found.without_success) - SHOWN} more" if len(found.without_success) > SHOWN else ""
        parts.append(f"Without success: {names}{more}.")
    return "\n\n".join(parts) + "\n"


def comparison(found: Comparison) -> str:
    """The report of two runs."""
    first, second = policy_name(found.first), policy_name(found.second)
    parts = [
        f"# {found.first.env}: {first} and {second}",
        table(("", ""), [row for row in facts_rows(found.first) if row[0] != "policy"]),
        table(GROUP_COLUMNS, comparison_rows(found)),
        table(DIFFERENCE_COLUMNS, difference_rows(found)),
        *pairs(found),
    ]
    return "\n\n".join(parts) + "\n"


def pairs(found: Comparison) -> list[str]:
    """On how many tasks the runs agree, and what was left out."""
    same = found.pairs - found.only_first - found.only_second
    said = [
        f"Of {found.pairs} tasks the runs agree in {same}; only the first succeeded in {found.only_first}, "
        f"only the second in {found.only_second}."
    ]
    if found.unpaired:
        said.append(f"Left out, because only one of the runs has their task: {found.unpaired}.")
    return said


def policy_name(run: Facts) -> str:
    """A policy's name, with its share of random moves."""
    name = str(run.policy.get("name", "?"))
    share = run.policy.get("random_moves")
    return f"{name} ({share:.0%} random moves)" if share is not None else name


def facts_rows(run: Facts) -> list[tuple[str, str]]:
    """What was played."""
    return [
        ("policy", policy_name(run)),
        ("environment", f"{run.env} {run.env_version}"),
        ("split", f"{run.split or 'none'}, from task {run.offset} on, seed {run.seed}"),
        ("data", run.data_digest or "none"),
        ("lock", run.lock_digest or f"none ({run.isolation})"),
    ]


def group_rows(found: Evaluation) -> list[tuple[str, ...]]:
    """A row for the whole run and one for each type of task."""
    types = [(f"{_key(found.by)} {name}", group) for name, group in found.types.items()]
    return [group_row(name, group) for name, group in [("all", found.total), *types]]


def comparison_rows(found: Comparison) -> list[tuple[str, ...]]:
    """Rows of the first and the second run in turn: the whole, then each type of task."""
    rows = []
    groups = {"all": (found.first_total, found.second_total)}
    groups |= {f"{_key(found.by)} {name}": both for name, both in found.types.items()}
    for name, both in groups.items():
        rows += [group_row(f"{name} (1)", both[0]), group_row(f"{name} (2)", both[1])]
    return rows


def difference_rows(found: Comparison) -> list[tuple[str, ...]]:
    """What the second run brought more."""
    success, returns = found.success, found.returns
    return [
        ("success", f"{success.mean:+.1%}", _signed(success.interval, "%"), _p(success.p), "McNemar, exact"),
        ("return", f"{returns.mean:+.3f}", _signed(returns.interval, "f"), _p(returns.p), "paired bootstrap"),
    ]


def group_row(name: str, group: Group) -> tuple[str, ...]:
    """One row of numbers."""
    low, high = group.success_interval
    least, most = group.return_interval
    return (
        name,
        str(group.episodes),
        f"{group.success_rate:.1%} [{100 * low:.1f}, {100 * high:.1f}]",
        f"{group.mean_return:.2f} [{least:.2f}, {most:.2f}]",
        f"{group.mean_steps:.1f}",
        str(group.invalid_actions),
    )


def remarks(found: Evaluation) -> list[str]:
    """How episodes ended that did not end by themselves, and what infrastructure faults there were."""
    total = found.total
    most = [f" {count} of them: {words}" for words, count in found.failures.items()][:1]
    ends = (
        ("Ended by a failure of the policy", total.failed, "".join(most)),
        ("Cut by the run's limit of steps", total.unfinished, ""),
        ("Cut by the environment", total.truncated, ""),
    )
    return [f"{said}: {count}.{more}" for said, count, more in ends if count] + [_faults(found)]


def _faults(found: Evaluation) -> str:
    if not found.faults:
        return "No infrastructure faults."
    said = ", ".join(f"{count} {code}" for code, count in sorted(found.faults.items()))
    return (
        f"Infrastructure faults, which are no scores: {said}. Episodes played again: {found.retried}; "
        f"missing: {len(found.lost)}."
    )


def table(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines
    )


def _key(by: str | None) -> str:
    return "type" if by is None or ":" in by else by


def _signed(interval: Interval, kind: str) -> str:
    low, high = (f"{bound:+.1%}" if kind == "%" else f"{bound:+.3f}" for bound in interval)
    return f"{low} to {high}"


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
