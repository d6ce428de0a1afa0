"""The stages of learning: demonstrations, fine-tuning, reinforcement, and evaluation between them."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from envhub_sdk import AsyncHub, Hub
from envhub_trainers import _local
from envhub_trainers._conversations import Style
from envhub_trainers._stats import Interval, wilson
from envhub_trainers.collect import Plan, Run, collect

ENV = "frozenlake"
PROMPT, FORM = "bare", "raw"
"""A model that is trained from nothing is told the observation alone, and answers with the move alone."""
ANSWER_TOKENS = 4
"""An answer has two: the move and the end."""
MAX_TOKENS = 512

Say = Callable[[str], None]


class StageFailed(RuntimeError):
    """A command ended badly; the message has its last words."""


@dataclass(frozen=True)
class Rate:
    """How often tasks were solved, with the 95 % interval (Wilson)."""

    successes: int
    tasks: int

    @property
    def share(self) -> float:
        """Between 0 and 1."""
        return self.successes / self.tasks if self.tasks else 0.0

    @property
    def interval(self) -> Interval:
        """The 95 % interval of the share."""
        return wilson(self.successes, self.tasks)

    def __str__(self) -> str:
        """The share and its interval, in percent."""
        low, high = self.interval
        return f"{self.share:.1%} [{low:.1%}, {high:.1%}]"

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return {"successes": self.successes, "tasks": self.tasks, "share": self.share, "95%": self.interval}


@dataclass(frozen=True)
class Score:
    """What a model does on the held-out tasks.

    Attributes:
        all: All of them.
        unseen: Those whose map no task shows that was demonstrated or trained on: small maps repeat.
        sizes: By rows of the map.
    """

    all: Rate
    unseen: Rate
    sizes: dict[str, Rate]

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        sizes = {size: rate.to_dict() for size, rate in self.sizes.items()}
        return {"all": self.all.to_dict(), "unseen": self.unseen.to_dict(), "sizes": sizes}


def make_model(folder: Path, size: int, seed: int) -> int:
    """Make the tiny model in a process of its own; return the number of its parameters."""
    module = ["-m", "learn.tiny", str(folder), str(size), str(seed)]
    return int(_run([sys.executable, *module], folder.with_suffix(".log"), cwd=Path(__file__).parents[1]))


def demonstrate(hub: str, folder: Path, offset: int, count: int, random_moves: float, seed: int) -> Path:
    """Let the expert play `count` tasks from number `offset` on, with a share of random moves.

    Returns:
        The file of conversations.
    """
    command = ["collect", "--hub", hub, "--env", ENV, "--policy", "expert", "--split", "train"]
    command += ["--random-moves", str(random_moves), "--offset", str(offset), "--limit", str(count)]
    command += ["--seed", str(seed), "--prompt", PROMPT, "--form", FORM, "--out", str(folder), "--json"]
    _envhub(command, folder.with_suffix(".log"))
    return folder / "conversations.jsonl"


def reinforce(
    hub: str, algorithm: str, model: Path, output: Path, settings: dict[str, Any], say: Say
) -> None:
    """Train the model through the whole stack, by `envhub train`."""
    command = ["train", algorithm, "--hub", hub, "--env", ENV, "--model", str(model), "--output", str(output)]
    for key, value in training(settings).items():
        command += ["--set", f"{key}={json.dumps(value)}"]
    _envhub(command, output.with_suffix(".log"), say)


def training(settings: dict[str, Any]) -> dict[str, Any]:
    """Every key of `envhub train` for such a model: how it is talked to, beside those given."""
    return {
        "train.max_tokens": MAX_TOKENS,
        "train.save_every": 0,
        "rollout.prompt": PROMPT,
        "rollout.actions": FORM,
        "rollout.max_turn_tokens": ANSWER_TOKENS,
        **settings,
    }


def metrics(output: Path) -> list[dict[str, float]]:
    """The numbers of each step of a training run."""
    lines = (output / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


def first_observations(hub: str, spans: list[tuple[int, int]]) -> set[str]:
    """What tasks of the train split show at first: their maps.

    Args:
        hub: URL.
        spans: Numbers of tasks, from and to before.
    """
    seen: set[str] = set()
    with Hub(hub) as client, client.make(ENV) as env:
        for number, task in enumerate(client.iter_tasks(ENV, "train")):
            if number >= max(end for _, end in spans):
                break
            if any(start <= number < end for start, end in spans):
                seen.add(str(env.reset(options={"task": task})[0]))
    return seen


def evaluate(
    hub: str, model: Path, output: Path, tasks: int, moves: int, temperature: float, known: set[str]
) -> Score:
    """Let the model play the first tasks of the test split, one episode each.

    Args:
        hub: URL.
        model: Its folder.
        output: Folder for the episodes; those that are there are not played again.
        tasks: How many.
        moves: How many it may make; a task that takes it more is not solved.
        temperature: Of its sampling; 0: always the likeliest move.
        known: What tasks show at first that it may have been trained on.
    """
    run = asyncio.run(_evaluate(hub, model, output, tasks, moves, temperature))
    won: list[tuple[str, bool, bool]] = [
        (str(one.task["size"]), str(one.observations[0]) not in known, one.success) for one in run.episodes()
    ]
    if len(won) != tasks:
        raise StageFailed(f"only {len(won)} of {tasks} episodes were played: see {output}")

    def rate(some: list[bool]) -> Rate:
        return Rate(sum(some), len(some))

    return Score(
        rate([success for _, _, success in won]),
        rate([success for _, unseen, success in won if unseen]),
        {
            n: rate([success for size, _, success in won if size == n])
            for n in sorted({one[0] for one in won})
        },
    )


async def _evaluate(hub: str, model: Path, output: Path, tasks: int, moves: int, temperature: float) -> Run:
    async with AsyncHub(hub) as client:
        served = await client.env(ENV)
        style = Style(served, PROMPT, FORM, moves)
        player = _local.player(model, style, temperature, ANSWER_TOKENS)
        plan = Plan(split="test", limit=tasks, max_steps=moves, concurrency=64, wait_s=120)
        await collect(client, served, plan, player, output)
    return Run(output)


def _envhub(arguments: list[str], log: Path, say: Say | None = None) -> str:
    return _run([sys.executable, "-m", "envhub", *arguments], log, say)


def _run(command: list[str], log: Path, say: Say | None = None, cwd: Path | None = None) -> str:
    """Run a command, what it says into the log and to the user; return the last line of it."""
    last = ""
    with log.open("w") as kept:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=kept, text=True, cwd=cwd)
        try:
            assert process.stdout is not None
            for line in process.stdout:
                kept.write(line)
                kept.flush()
                last = line.rstrip() or last
                if say is not None and line.strip():
                    say(line.rstrip())
        except BaseException:
            process.terminate()
            process.wait()
            raise
    if process.wait() != 0:
        raise StageFailed(f"{' '.join(command)}\nended with {process.returncode}:\n{log.read_text()[-3000:]}")
    return last
