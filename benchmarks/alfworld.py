"""ALFWorld, side by side: our rules and the published packages, on one game, in turns.

    python benchmarks/alfworld.py [--original PYTHON] [--game FOLDER] [--rounds N] [--commands N]

Both play the same commands on the largest of the embedded games (or on the game of a folder); every
observation, list of admissible commands and win has to be the same. The published packages (alfworld 0.4.2,
textworld 1.7.0) are installed into a throw-away virtual environment, or taken from the interpreter that
--original names. Each measurement is a process of its own; times are CPU times. Exits with 1 when an answer
differs or a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "env_specs" / "alfworld"))

from envhub_alfworld.data import open_library
from envhub_alfworld.game import Game
from envhub_alfworld.original import REQUIREMENTS
from envhub_alfworld.state import State

INSTALL_S = 900
MEASURE_S = 900


class Row(NamedTuple):
    """One line of the table.

    Attributes:
        key: What it is called in the measurements.
        label: What it says.
        unit: The unit, and how many of the measurement's (seconds, bytes) it has.
        bar: What the native value has to be below, in that unit.
        ratio: How many times the native value the original has to be, at least.
    """

    key: str
    label: str
    unit: tuple[str, float]
    bar: float | None = None
    ratio: float | None = None


MS, KB = ("ms", 1e-3), ("KB", 1e3)
ROWS = [
    Row("load", "load, in a fresh process", MS),
    Row("reset", "reset", MS, bar=5.0, ratio=1000),
    Row("step", "step with admissible commands, median", MS, bar=0.3, ratio=1000),
    Row("snapshot", "snapshot, as JSON", MS, bar=0.1),
    Row("restore", "restore", MS, bar=0.1),
    Row("fork", "fork", MS, bar=0.1),
    Row("first", "memory of the game and its first replica", KB),
    Row("further", "memory of a further replica", KB, bar=200),
]


def largest(folder: Path) -> Path:
    """Write the largest of the embedded games into a folder."""
    library = open_library()
    games = [entry.id for entries in library.entries.values() for entry in entries]
    chosen = max(games, key=lambda one: len(library.game(one).rank))
    text = library.file(chosen)
    assert isinstance(text, str)
    (folder / "game.tw-pddl").write_text(text, encoding="utf-8")
    return folder


def commands(game: Game, count: int) -> list[str]:
    """Draw commands that are possible, a verb first and then a command that has it; every tenth is not."""
    draw = random.Random(0)
    state = State(game)
    played = []
    for at in range(count):
        verbs: dict[str, list[str]] = {}
        for command in state.commands():
            verbs.setdefault(command.partition(" ")[0], []).append(command)
        command = draw.choice(verbs[draw.choice(sorted(verbs))]) if at % 10 else "dance"
        state.do(command)
        played.append(command)
    return played


def install(folder: Path) -> str:
    """Install the published packages into a virtual environment; returns its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=INSTALL_S)
    python = str(folder / "bin" / "python")
    command = [
        python,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *REQUIREMENTS.split(),
    ]
    subprocess.run(command, check=True, timeout=INSTALL_S)
    return python


def measure(python: str, engine: str, folder: Path, played: list[str]) -> dict[str, Any]:
    command = [python, "-I", str(Path(__file__).with_name("alfworld_engine.py")), engine, str(folder)]
    done = subprocess.run(
        command, input=json.dumps(played), stdout=subprocess.PIPE, text=True, check=True, timeout=MEASURE_S
    )
    measured: dict[str, Any] = json.loads(done.stdout)
    return measured


def shown(value: float, row: Row) -> str:
    return f"{value:,.0f} {row.unit[0]}" if value >= 100 else f"{value:.3g} {row.unit[0]}"


def report(console: Console, results: dict[str, list[dict[str, list[float]]]]) -> bool:
    """Print the medians and their ratios; tells whether all bars are met."""
    table = Table("", "original", "native", "ratio", "bar")
    met = True
    for row in ROWS:
        values = {}
        for engine, rounds in results.items():
            found = [value for one in rounds for value in one.get(row.key, ())]
            if found:
                values[engine] = statistics.median(found) / row.unit[1]
        native, original = values["native"], values.get("original")
        ratio = original / native if original is not None and native > 0 else None
        below = row.bar is None or native < row.bar
        above = row.ratio is None or (ratio is not None and ratio >= row.ratio)
        met = met and below and above
        bars = [] if row.bar is None else [f"< {row.bar:g} {row.unit[0]}"]
        bars += [] if row.ratio is None else [f"x{row.ratio:,.0f}"]
        table.add_row(
            row.label,
            "none" if original is None else shown(original, row),
            shown(native, row),
            "" if ratio is None else f"x{ratio:,.0f}",
            ", ".join(bars) + ("" if not bars else " met" if below and above else " MISSED"),
        )
    console.print(table)
    return met


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--original", metavar="PYTHON", help="interpreter that has the published packages")
    parser.add_argument("--game", type=Path, metavar="FOLDER", help="folder of a game.tw-pddl")
    parser.add_argument("--rounds", type=int, default=3, help="measurements of each engine")
    parser.add_argument("--commands", type=int, default=40, help="steps of a measurement")
    arguments = parser.parse_args()
    console = Console(width=None if sys.stdout.isatty() else 130)
    with tempfile.TemporaryDirectory(prefix="envhub-bench-") as scratch:
        folder = arguments.game or largest(Path(scratch))
        game = Game.load(folder)
        played = commands(game, arguments.commands)
        things = len(game.facts["objecttype"])
        console.print(f"{len(game.receptacles)} receptacles, {things} objects, {len(played)} commands")
        original = arguments.original or install(Path(scratch) / "original")
        pythons = {"original": original, "native": sys.executable}
        results: dict[str, list[dict[str, list[float]]]] = {"original": [], "native": []}
        for _ in range(arguments.rounds):
            answers = []
            for engine, python in pythons.items():
                measured = measure(python, engine, folder, played)
                results[engine].append(measured["measured"])
                answers.append(measured["answers"])
            for at, (theirs, ours) in enumerate(zip(*answers, strict=True)):
                if theirs != ours:
                    console.print(f"the answers differ after {['reset', *played][at]!r}:\n{theirs}\n{ours}")
                    return 1
        console.print(f"all {len(played) + 1} answers are the same")
        return 0 if report(console, results) else 1


if __name__ == "__main__":
    sys.exit(main())
