"""What OpenRLHF says of its steps, read off what it prints."""

from __future__ import annotations

import ast
import json
import math
import re
from pathlib import Path
from typing import TextIO

__all__ = ["Metrics", "append", "from_line", "pace", "rows"]

Metrics = dict[str, float]

_STEP = re.compile(r"Global step (\d+): (\{.*\})\s*$")
_EVALUATION = re.compile(r"global_step (\d+), eval_metrics: (\{.*\})\s*$")
_WEIGHTS = re.compile(r"envhub: weights (\d+) .*log-probability ([\d.e+-]+), ([\d.]+) s")


def from_line(line: str) -> Metrics | None:
    """The numbers of a step or an evaluation, if the line has any. "step" says of which step."""
    if found := _STEP.search(line) or _EVALUATION.search(line):
        try:
            values = ast.literal_eval(re.sub(r"\bnan\b", "None", found[2]).replace("inf", "1e999"))
        except (ValueError, SyntaxError):
            return None
        numbers = {
            str(name): float(value) for name, value in values.items() if isinstance(value, int | float)
        }
        return {"step": float(found[1]), **{name: n for name, n in numbers.items() if math.isfinite(n)}}
    if found := _WEIGHTS.search(line):
        return {
            "weights": float(found[1]),
            "weights/gap": float(found[2]),
            "weights/seconds": float(found[3]),
        }
    return None


def pace(metrics: Metrics, episodes: int) -> Metrics:
    """What follows from the numbers of a step: the tokens that were sampled in a second of its rollouts."""
    seconds, tokens = metrics.get("timing/generation"), metrics.get("sampled_tokens")
    return {"tokens_per_s": tokens * episodes / seconds} if tokens is not None and seconds else {}


def append(metrics: Metrics, out: TextIO) -> None:
    """Write a line of metrics."""
    out.write(json.dumps(metrics) + "\n")
    out.flush()


def rows(file: Path) -> list[Metrics]:
    """The metrics of a run so far, as they were written."""
    if not file.exists():
        return []
    return [json.loads(line) for line in file.read_text().splitlines()]
