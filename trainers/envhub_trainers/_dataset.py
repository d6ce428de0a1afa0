"""Prompts for OpenRLHF from an environment's tasks: what is played, not what is said.

A line has the task as JSON for its label, which the agent executor plays; its input only names the task, and
tells OpenRLHF's evaluation which results belong together.
"""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

from envhub_sdk import Hub
from envhub_trainers._config import ConfigRefused

__all__ = ["write"]


def write(hub: Hub, env: str, split: str, count: int, file: Path, *, multiple_of: int = 1) -> int:
    """Write the first tasks of a split.

    Args:
        hub: A hub that serves the environment.
        env: Its name.
        split: The split.
        count: How many; fewer where there are fewer. An environment that lists no tasks plays seeds instead.
        file: The JSON lines to write.
        multiple_of: What the number of lines is to be a multiple of.

    Returns:
        The number of lines.

    Raises:
        ConfigRefused: There is no such split, or it has fewer tasks than `multiple_of`.
    """
    splits = hub.env(env).splits
    if splits and split not in splits:
        raise ConfigRefused(f"data.split: {env} has no split {split!r}; it has {', '.join(splits)}")
    listed = bool(splits) and splits[split]["tasks"] is not None
    tasks = hub.iter_tasks(env, split) if listed else ({"seed": seed} for seed in itertools.count())
    labels: list[dict[str, Any]] = list(itertools.islice(tasks, count))
    labels = labels[: len(labels) // multiple_of * multiple_of]
    if not labels:
        raise ConfigRefused(
            f"train.prompts_per_step: split {split!r} of {env} has fewer tasks than the {multiple_of} of a "
            "step"
        )
    with file.open("w") as out:
        for number, label in enumerate(labels):
            name = f"{env}/{split}/{label.get('id', number)}"
            line = {"input": name, "label": json.dumps(label, sort_keys=True), "datasource": f"{env}_{split}"}
            out.write(json.dumps(line, ensure_ascii=False) + "\n")
    return len(labels)
