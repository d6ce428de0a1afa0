"""Evaluations and comparisons as pictures. Needs matplotlib (extra `eval`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from envhub_trainers._report import policy_name
from envhub_trainers.evaluate import Comparison, Evaluation, Group

COLOURS = ("#0072b2", "#e69f00")
"""Blue and orange, told apart by everybody (M. Okabe and K. Ito, "Color Universal Design", 2008)."""


def evaluation(found: Evaluation, file: Path) -> None:
    """Draw the rates of success with their intervals, and the lengths of the episodes.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
        OSError: The file can't be written.
    """
    from matplotlib.figure import Figure

    groups = {"all": found.total, **found.types}
    figure = Figure(figsize=(4.5 + 0.5 * len(groups) + 4, 4), layout="constrained")
    rates, lengths = figure.subplots(1, 2, width_ratios=[max(3, len(groups)), 6])
    _bars(rates, list(groups), [("", list(groups.values()))], found.by)
    most = max(steps for steps, _ in found.steps)
    won = [[steps for steps, success in found.steps if success is wanted] for wanted in (True, False)]
    bins = [start - 0.5 for start in range(0, most + 2, max(1, most // 30))] + [most + 0.5]
    labels = ["success", "no success"]
    lengths.hist(won, bins=sorted(set(bins)), stacked=True, label=labels, color=COLOURS)
    lengths.set(xlabel="steps", ylabel="episodes")
    lengths.legend(frameon=False)
    figure.suptitle(f"{found.run.env} {found.run.env_version}: {policy_name(found.run)}")
    figure.savefig(file, dpi=120)


def comparison(found: Comparison, file: Path) -> None:
    """Draw the rates of success of both runs side by side.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
        OSError: The file can't be written.
    """
    from matplotlib.figure import Figure

    pairs = {"all": (found.first_total, found.second_total), **found.types}
    figure = Figure(figsize=(4.5 + 0.9 * len(pairs), 4), layout="constrained")
    first = [one for one, _ in pairs.values()], [other for _, other in pairs.values()]
    names = (policy_name(found.first), policy_name(found.second))
    if names[0] == names[1]:
        names = (f"{names[0]} (first)", f"{names[1]} (second)")
    _bars(figure.subplots(), list(pairs), list(zip(names, first, strict=True)), found.by)
    figure.suptitle(f"{found.first.env} {found.first.env_version}, {found.pairs} tasks")
    figure.savefig(file, dpi=120)


def _bars(axes: Any, names: list[str], series: list[tuple[str, list[Group]]], by: str | None) -> None:
    width = 0.8 / len(series)
    for number, (label, groups) in enumerate(series):
        at = [place - 0.4 + width * (number + 0.5) for place in range(len(names))]
        rates = [group.success_rate for group in groups]
        below = [max(0.0, group.success_rate - group.success_interval[0]) for group in groups]
        above = [max(0.0, group.success_interval[1] - group.success_rate) for group in groups]
        axes.bar(at, rates, width, color=COLOURS[number], label=label)
        axes.errorbar(at, rates, yerr=[below, above], fmt="none", ecolor="black", capsize=3)
    axes.set(ylim=(0, 1.02), ylabel="success, with 95 % interval", xlabel=by if by and ":" not in by else "")
    axes.set_xticks(range(len(names)), names)
    if len(series) > 1:
        axes.figure.legend(loc="outside lower center", ncols=2, frameon=False)
