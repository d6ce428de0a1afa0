"""The curve: success while training, and on the held-out tasks before, during and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from learn.stages import Rate

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
"""Told apart by everybody (M. Okabe and K. Ito, "Color Universal Design", 2008)."""
SMOOTHED = 5


@dataclass(frozen=True)
class Curve:
    """One run.

    Attributes:
        name: What it is called.
        steps: The steps, from 1.
        training: Share of each step's episodes that succeeded.
        held_out: The held-out tasks, by the number of steps before.
    """

    name: str
    steps: Sequence[float]
    training: Sequence[float]
    held_out: Sequence[tuple[float, Rate]]


def draw(curves: Sequence[Curve], title: str, file: Path) -> None:
    """Write the chart as PNG."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.8), layout="constrained")
    axes = figure.subplots()
    for number, curve in enumerate(curves):
        colour = COLOURS[number % len(COLOURS)]
        axes.plot(curve.steps, curve.training, color=colour, alpha=0.25, linewidth=0.8)
        label = f"{curve.name}: training, mean of {SMOOTHED} steps"
        axes.plot(curve.steps, smoothed(curve.training), color=colour, label=label)
        at = [step for step, _ in curve.held_out]
        shares = [rate.share for _, rate in curve.held_out]
        below = [max(0.0, rate.share - rate.interval[0]) for _, rate in curve.held_out]
        above = [max(0.0, rate.interval[1] - rate.share) for _, rate in curve.held_out]
        label = f"{curve.name}: held-out tasks, 95 % interval"
        axes.errorbar(at, shares, yerr=[below, above], color=colour, fmt="o", capsize=4, label=label)
    axes.set(xlabel="step", ylabel="success", ylim=(0, 1.02), title=title)
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="lower right", fontsize=8)
    figure.savefig(file, dpi=120)


def smoothed(values: Sequence[float]) -> list[float]:
    """The mean of each value and those before it, `SMOOTHED` at most."""
    windows = [values[max(0, end - SMOOTHED) : end] for end in range(1, len(values) + 1)]
    return [sum(window) / len(window) for window in windows]
