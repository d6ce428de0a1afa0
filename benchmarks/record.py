"""What recording costs: two hubs side by side, one of them with `--record` and `--state-dir`.

Drives both with the same closed-loop clients, one right after the other, round after round, in both orders
in turn, so that whatever else the machine does hits both alike. Two shares are told, each the median of the
rounds' own: of steps a second, which clients see, and of steps a CPU second of the server's processes, which
other programs on the machine disturb less. Exits with 1 if by that one recording costs more than a tenth.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from statistics import median

from load.clients import BATCH
from load.contestants import Load, Server, serve_hub
from load.drive import Measurement
from rich.console import Console
from rich.table import Table

BAR = 0.9
"""Throughput with recording, as a share of that without."""
MODES = {"record": ("--record",), "state": ("--state-dir",), "both": ("--record", "--state-dir")}


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--what", choices=MODES, default="record", help="which logs are kept")
    parser.add_argument("--clients", type=int, default=16, help="how many at once, where it is not a batch")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one measurement, at most 60")
    parser.add_argument("--rounds", type=int, default=7, help="measurements of each load; medians count")
    parser.add_argument("--folder", type=Path, help="where the logs go; default the temporary folder")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers there")
    arguments = parser.parse_args()
    if not 0.1 <= arguments.seconds <= 60 or arguments.rounds < 1 or arguments.clients < 1:
        parser.error("--seconds must be 0.1 to 60, --rounds and --clients at least 1")
    return arguments


def _steps_per_s(load: Load, measured: Measurement) -> float:
    return measured.requests * load.steps / measured.seconds


def _steps_per_cpu_s(load: Load, measured: Measurement) -> float:
    return measured.requests * load.steps / measured.server_cpu_s


def main() -> int:
    arguments = _parse()
    console = Console(width=None if sys.stdout.isatty() else 130)
    loads = {
        Load("hub-step", "one request a step", "hub"): arguments.clients,
        Load("hub-stream-shared", "stream, one connection", "hub"): arguments.clients,
        Load("hub-batch", f"batches of {BATCH}", "hub", steps=BATCH): 1,
    }
    found: dict[str, list[tuple[Measurement, Measurement]]] = {load.label: [] for load in loads}
    with ExitStack() as stack:
        temporary = tempfile.TemporaryDirectory(prefix="envhub-record-", dir=arguments.folder)
        folder = stack.enter_context(temporary)
        env = ("--env", f"echo={max(arguments.clients, BATCH)}")
        options = [part for option in MODES[arguments.what] for part in (option, f"{folder}/{option[2:]}")]
        plain = stack.enter_context(serve_hub(*env))
        recording = stack.enter_context(serve_hub(*env, *options))
        for number in range(arguments.rounds):
            for load, clients in loads.items():
                with console.status(f"Round {number + 1}: {load.label} …"):
                    pair = _pair(load, clients, plain, recording, arguments.seconds, number)
                found[load.label].append(pair)
        written = sum(file.stat().st_size for file in Path(folder).rglob("*.jsonl"))
    table = Table(
        "load", "steps/s", "recording", "share", "CPU µs/step", "recording", "share", "bar", box=None
    )
    passed = True
    for load in loads:
        pairs = found[load.label]
        rates, rate = _compared([[_steps_per_s(load, one) for one in pair] for pair in pairs])
        speeds, share = _compared([[_steps_per_cpu_s(load, one) for one in pair] for pair in pairs])
        passed = passed and share >= BAR
        cells = [*(f"{one:.0f}" for one in rates), f"{rate:.3f}"]
        cells += [*(f"{1e6 / one:.1f}" for one in speeds), f"{share:.3f}"]
        table.add_row(load.label, *cells, f"at least {BAR}")
    console.print(table)
    console.print(f"{written / 2**20:.1f} MiB of logs", style="dim")
    if arguments.json is not None:
        numbers = {label: [[asdict(one) for one in pair] for pair in pairs] for label, pairs in found.items()}
        arguments.json.write_text(json.dumps(numbers, indent=2) + "\n")
    return 0 if passed else 1


def _compared(pairs: list[list[float]]) -> tuple[list[float], float]:
    """The medians of both, and the median of what the second of each pair is of the first."""
    return [median(pair[of] for pair in pairs) for of in (0, 1)], median(two / one for one, two in pairs)


def _pair(
    load: Load, clients: int, plain: Server, recording: Server, seconds: float, number: int
) -> tuple[Measurement, Measurement]:
    """Measures both, in an order that changes from round to round."""
    if number % 2:
        two = load.measure(recording, clients, seconds)
        return load.measure(plain, clients, seconds), two
    one = load.measure(plain, clients, seconds)
    return one, load.measure(recording, clients, seconds)


if __name__ == "__main__":
    sys.exit(main())
