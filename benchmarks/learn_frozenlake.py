"""Does it learn? A tiny model imitates an expert on FrozenLake; reinforcement teaches it to walk better.

Everything goes through the stack as a user would have it: a hub serves FrozenLake in coordinates;
`envhub collect` lets the expert play, with many random moves, and writes conversations; unmodified
`openrlhf.cli.train_sft` imitates them; `envhub train` (Ray, vLLM, DeepSpeed, unmodified OpenRLHF) goes on
from there with GRPO or PPO. Before and after each stage the model plays the same held-out tasks.

The recipe (`Recipe`; docs/training.md has why): a Llama of width 64 and 2 layers, 134,592 parameters, a
token a word; maps of 2x2 and 3x3, half each, with 60 to 85 % ice; imitation of 4,000 episodes with 60 %
random moves, 5 epochs, batches of 16, learning rate 2e-3; GRPO or PPO for 100 steps of 16 tasks x 8
episodes, batches of 32, learning rate 5e-4 (critic 2e-3), 4 moves an episode.

Times on two cores beside many others (load 10 to 40): demonstrations and imitation 10 to 11 minutes, 100
steps of GRPO 6 to 9, of which 2 to 3.5 until the first step. `--short` takes 6 minutes
where little else runs.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from learn import chart, stages
from learn.stages import Rate, Score
from load.contestants import serve_hub
from rich.console import Console
from rich.table import Table

from envhub_trainers._sft import FineTuning, fine_tune

RISE = 0.15
"""The bar: by how much reinforcement has to raise the share of held-out tasks that are solved. And the 95 %
intervals have to be apart."""
TRAIN_TASKS = 10_000
REPLICAS = 64
STAGES = ("random weights", "after imitation", "after reinforcement")


@dataclass(frozen=True)
class Recipe:
    """What is done.

    Attributes:
        algorithm: grpo or ppo.
        size: Maps have 2 to this many rows and columns.
        demonstrations: Episodes of the expert, of the last tasks of the train split.
        random_moves: The share of the expert's moves that are random.
        epochs: Of imitation.
        imitation_batch: Conversations an update of it.
        imitation_lr: Its learning rate; it falls to a tenth along a cosine.
        steps: Of reinforcement.
        prompts: Tasks a step; each is new.
        samples: Episodes a task.
        batch_size: Episodes an update.
        lr: The learning rate of reinforcement; it falls to a tenth along a cosine.
        critic_lr: Of PPO's critic.
        held_out: Tasks of the test split that judge.
        evaluate_every: Steps between evaluations while training; 0: none.
    """

    algorithm: str = "grpo"
    size: int = 3
    demonstrations: int = 4000
    random_moves: float = 0.6
    epochs: int = 5
    imitation_batch: int = 16
    imitation_lr: float = 2e-3
    steps: int = 100
    prompts: int = 16
    samples: int = 8
    batch_size: int = 32
    lr: float = 5e-4
    critic_lr: float = 2e-3
    held_out: int = 400
    evaluate_every: int = 25

    @property
    def moves(self) -> int:
        """Moves that the model may make: those from corner to corner. The expert has the environment's 10."""
        return 2 * (self.size - 1)


SHORT: dict[str, Any] = {"steps": 80, "evaluate_every": 0}


@dataclass(frozen=True)
class Outcome:
    """What came of one seed."""

    seed: int
    parameters: int
    sampled: list[Score]
    """After each of `STAGES`, with temperature 1, as it was trained."""
    greedy: list[Score]
    """The same with the likeliest move always."""
    curve: chart.Curve
    seconds: dict[str, float]

    @property
    def rise(self) -> float:
        """What reinforcement brought, in the share of tasks solved."""
        return self.sampled[2].all.share - self.sampled[1].all.share

    @property
    def passed(self) -> bool:
        """Whether it meets the bar."""
        return self.rise >= RISE and self.sampled[1].all.interval[1] < self.sampled[2].all.interval[0]

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        scores = {
            stage: {"sampled": sampled.to_dict(), "greedy": greedy.to_dict()}
            for stage, sampled, greedy in zip(STAGES, self.sampled, self.greedy, strict=True)
        }
        during = [[step, rate.to_dict()] for step, rate in self.curve.held_out]
        return {
            "seed": self.seed,
            "parameters": self.parameters,
            "rise": self.rise,
            "passed": self.passed,
            "seconds": self.seconds,
            "scores": scores,
            "training": list(self.curve.training),
            "held_out": during,
        }


class Course:
    """The stages of one seed: `imitate`, then `reinforce`.

    Args:
        hub: URL of the hub that serves FrozenLake in coordinates.
        recipe: What to do.
        seed: Of the model's weights, of the order of its lessons, and of its samples in training.
        folder: For everything; a model that is there is not trained again.
        say: Is told what happens.
    """

    def __init__(self, hub: str, recipe: Recipe, seed: int, folder: Path, say: Callable[[str], None]) -> None:
        self._hub, self._recipe, self._seed, self._folder, self._say = hub, recipe, seed, folder, say
        demonstrated = (TRAIN_TASKS - recipe.demonstrations, TRAIN_TASKS)
        trained = (0, recipe.steps * recipe.prompts)
        self._known = stages.first_observations(hub, [demonstrated, trained])
        self._sampled: list[Score] = []
        self._greedy: list[Score] = []
        self._seconds: dict[str, float] = {}
        self._parameters = 0
        self.imitating = folder / "imitating"
        """Folder of the model that has imitated the expert."""

    def imitate(self) -> None:
        """Make a model and let it imitate the expert."""
        recipe, seed = self._recipe, self._seed
        base, demonstrations = self._folder / "base", self._folder / "demonstrations"
        self._parameters = stages.make_model(base, recipe.size, seed)
        self._judge("base", base)
        with _timed(self._seconds, "demonstrations"):
            first = TRAIN_TASKS - recipe.demonstrations
            conversations = stages.demonstrate(
                self._hub, demonstrations, first, recipe.demonstrations, recipe.random_moves, seed
            )
        if not (self.imitating / "config.json").is_file():
            with _timed(self._seconds, "imitation"):
                how = FineTuning(
                    recipe.epochs, recipe.imitation_batch, recipe.imitation_lr, stages.MAX_TOKENS, seed
                )
                fine_tune(base, conversations, self.imitating, how, self._folder / "imitating.log")
        self._judge("imitating", self.imitating)

    def reinforce(self) -> Outcome:
        """Let the imitating model learn from its own episodes."""
        recipe, reinforced = self._recipe, self._folder / self._recipe.algorithm
        if not (reinforced / "model").is_dir():
            with _timed(self._seconds, "reinforcement"):
                chosen = settings(recipe, self._seed)
                stages.reinforce(
                    self._hub,
                    recipe.algorithm,
                    self.imitating,
                    reinforced,
                    chosen,
                    lambda line: self._say(f"  {line}"),
                )
        self._judge(recipe.algorithm, reinforced / "model")
        curve = _curve(f"seed {self._seed}", stages.metrics(reinforced), recipe, self._sampled)
        return Outcome(self._seed, self._parameters, self._sampled, self._greedy, curve, self._seconds)

    def _judge(self, name: str, model: Path) -> None:
        recipe, stage = self._recipe, STAGES[len(self._sampled)]
        with _timed(self._seconds, f"evaluation {stage}"):
            for scores, kind, temperature in ((self._sampled, "sampled", 1.0), (self._greedy, "greedy", 0.0)):
                played = self._folder / f"{name}-{kind}"
                scores.append(
                    stages.evaluate(
                        self._hub, model, played, recipe.held_out, recipe.moves, temperature, self._known
                    )
                )
        self._say(
            f"seed {self._seed}, {stage}: {self._sampled[-1].all} sampled, {self._greedy[-1].all} greedy"
        )


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    begun = time.monotonic()
    yield
    seconds[name] = time.monotonic() - begun


def settings(recipe: Recipe, seed: int) -> dict[str, Any]:
    """Of `envhub train`."""
    chosen: dict[str, Any] = {
        "rollout.max_turns": recipe.moves,
        "data.tasks": recipe.steps * recipe.prompts,
        "data.eval_tasks": recipe.held_out if recipe.evaluate_every else 0,
        "data.eval_every": recipe.evaluate_every or 1,
        "train.prompts_per_step": recipe.prompts,
        "train.samples_per_prompt": recipe.samples,
        "train.batch_size": recipe.batch_size,
        "train.micro_batch_size": recipe.batch_size,
        "train.lr": recipe.lr,
        "train.seed": seed,
    }
    if recipe.algorithm == "ppo":
        chosen["train.critic_lr"] = recipe.critic_lr
    return chosen


def _curve(name: str, rows: list[dict[str, float]], recipe: Recipe, sampled: list[Score]) -> chart.Curve:
    steps = [row for row in rows if "success" in row]
    during = [
        (row["step"], Rate(round(value * recipe.held_out), recipe.held_out))
        for row in rows
        for key, value in row.items()
        if key.startswith("eval_") and key.endswith("_pass1") and row["step"] < recipe.steps
    ]
    held_out = [(0.0, sampled[1].all), *during, (float(recipe.steps), sampled[2].all)]
    return chart.Curve(name, [row["step"] for row in steps], [row["success"] for row in steps], held_out)


def _table(outcomes: list[Outcome]) -> Table:
    columns = ["seed", "stage", "held-out success, sampled", "greedy", "sampled, maps not seen before"]
    sizes = list(outcomes[0].sampled[0].sizes)
    table = Table(*columns, *(f"{size}x{size}" for size in sizes), box=None)
    for outcome in outcomes:
        for stage, sampled, greedy in zip(STAGES, outcome.sampled, outcome.greedy, strict=True):
            by_size = [f"{sampled.sizes[size].share:.0%}" for size in sizes]
            unseen = f"{sampled.unseen} of {sampled.unseen.tasks}"
            table.add_row(str(outcome.seed), stage, str(sampled.all), str(greedy.all), unseen, *by_size)
    return table


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--algorithm", choices=("grpo", "ppo"), default="grpo")
    parser.add_argument("--seeds", type=int, nargs="+", help="default: 1 2; with --short 1")
    parser.add_argument("--short", action="store_true", help="less of everything, for CI")
    parser.add_argument("--size", type=int, help="maps have 2 to SIZE rows; default 3, the published maps 5")
    parser.add_argument("--demonstrations", type=int, metavar="EPISODES", help="of the expert")
    parser.add_argument("--steps", type=int, help="of reinforcement; 0: only imitate, into --folder")
    parser.add_argument("--held-out", type=int, metavar="TASKS", help="tasks that judge")
    parser.add_argument("--folder", type=Path, help="keeps everything, and goes on; default: a temporary one")
    parser.add_argument("--chart", type=Path, default=Path("learn_frozenlake.png"), help="the curve")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers there")
    arguments = parser.parse_args()
    if arguments.steps == 0 and arguments.folder is None:
        parser.error("--steps 0: the imitating model is what you want, so say where it goes: --folder DIR")
    if arguments.steps != 0 and importlib.util.find_spec("matplotlib") is None:
        parser.error("the curve needs matplotlib: pip install -e '.[eval]'")
    return arguments


def _recipe(arguments: argparse.Namespace) -> Recipe:
    recipe = Recipe(algorithm=arguments.algorithm)
    if arguments.short:
        recipe = replace(recipe, **SHORT)
    names = ("size", "demonstrations", "steps", "held_out")
    given = {name: getattr(arguments, name) for name in names}
    return replace(recipe, **{key: value for key, value in given.items() if value is not None})


def main() -> int:
    arguments = _parse()
    recipe = _recipe(arguments)
    seeds = arguments.seeds or ([1] if arguments.short else [1, 2])
    spec = (
        "observation=coordinates",
        f"map_max_size={recipe.size + 1}",
        f"train_size={TRAIN_TASKS}",
        f"test_size={recipe.held_out}",
    )
    options = [word for setting in spec for word in ("--set", f"{stages.ENV}.{setting}")]
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="envhub-learn-") as temporary:
        folder = arguments.folder or Path(temporary)
        with serve_hub("--env", f"{stages.ENV}={REPLICAS}", *options) as hub:
            for seed in seeds:
                where = folder / f"seed-{seed}"
                where.mkdir(parents=True, exist_ok=True)
                course = Course(hub.url, recipe, seed, where, lambda line: print(line, flush=True))
                course.imitate()
                if recipe.steps:
                    outcomes.append(course.reinforce())
                else:
                    print(f"the imitating model is {course.imitating}")
    if not outcomes:
        return 0
    _report(outcomes, recipe, arguments)
    return 0 if all(outcome.passed for outcome in outcomes) else 1


def _report(outcomes: list[Outcome], recipe: Recipe, arguments: argparse.Namespace) -> None:
    console = Console(width=None if sys.stdout.isatty() else 150)
    title = f"{recipe.algorithm.upper()} on FrozenLake, maps of 2x2 to {recipe.size}x{recipe.size}"
    chart.draw([outcome.curve for outcome in outcomes], title, arguments.chart)
    console.print(_table(outcomes))
    for outcome in outcomes:
        minutes = sum(outcome.seconds.values()) / 60
        verdict = "PASS" if outcome.passed else "FAIL"
        console.print(
            f"seed {outcome.seed}: {recipe.algorithm} brought {100 * outcome.rise:+.1f} points (at least "
            f"{100 * RISE:.0f}, intervals apart): {verdict}. {outcome.parameters:,} parameters, "
            f"{minutes:.1f} minutes"
        )
    console.print(f"the curve is {arguments.chart}")
    if arguments.json is not None:
        found = {"recipe": asdict(recipe), "seeds": [outcome.to_dict() for outcome in outcomes]}
        arguments.json.write_text(json.dumps(found, indent=2) + "\n")


if __name__ == "__main__":
    sys.exit(main())
