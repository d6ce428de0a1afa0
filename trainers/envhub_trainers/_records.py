"""Records of rollouts: what was said, what it brought and what went wrong, one JSON object a line.

The hub's own record of an episode is found by `session`; here is what only the trainer knows.
"""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from envhub_sdk.spaces import plain
from envhub_trainers._rewards import Worth
from envhub_trainers._rollout import Rollout

__all__ = ["Records", "as_text"]


class Records:
    """A folder of rollouts; each process writes a file of its own.

    Args:
        folder: Where; made where it is missing.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = folder / f"rollouts-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.jsonl"

    def add(
        self,
        rollout: Rollout,
        *,
        hub: str | None,
        reward: float | None,
        parts: Mapping[str, Worth],
        faults: list[str],
    ) -> None:
        """Write a rollout.

        Args:
            rollout: An episode, whole or as far as it got.
            hub: Where it was played.
            reward: What the trainer is told; None: the sample is masked.
            parts: The parts of the reward.
            faults: What went wrong, by code; the last one is why a masked sample is masked.
        """
        line = {
            "time": time.time(),
            "hub": hub,
            "session": rollout.session,
            "task": rollout.task,
            "seed": rollout.seed,
            "reward": reward,
            "parts": {name: dataclasses.asdict(worth) for name, worth in parts.items()},
            "return": rollout.episode_return,
            "success": rollout.success,
            "terminated": rollout.terminated,
            "truncated_by": rollout.truncated_by,
            "faults": faults,
            "tokens": len(rollout.ids),
            "env_s": rollout.env_s,
            "engine_s": rollout.engine_s,
            "turns": [
                {
                    "message": turn.message,
                    "answer": turn.text,
                    "action": turn.action,
                    "reward": turn.reward,
                    "problem": turn.problem,
                    "tokens": turn.end - turn.start,
                }
                for turn in rollout.turns
            ],
            "final": rollout.final,
        }
        with self._file.open("ab") as file:
            file.write(msgspec.json.encode(plain(line)) + b"\n")


def as_text(record: Mapping[str, Any]) -> str:
    """A record as a text to read."""
    ended = "terminated" if record["terminated"] else f"truncated by {record['truncated_by']}"
    lines = [f"task {msgspec.json.encode(record['task']).decode()} seed {record['seed']}", ""]
    for number, turn in enumerate(record["turns"], 1):
        lines += [f"[{number}] {turn['message']}", "", f"--> {turn['answer']}"]
        lines += [f"    ({turn['problem']})"] if turn["problem"] else []
        lines += [f"    reward {turn['reward']:g}"] if turn["reward"] else []
        lines.append("")
    parts = ", ".join(f"{name} {worth['total']:g}" for name, worth in record["parts"].items())
    reward = "masked: " + ", ".join(record["faults"]) if record["reward"] is None else f"{record['reward']:g}"
    return "\n".join([*lines, f"{ended}; reward {reward}{f' ({parts})' if parts else ''}"])
