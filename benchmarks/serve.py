"""Load, side by side: the hub, OpenEnv and a bare handler, on loopback, in turns.

Starts the hub with `echo` by its real command, OpenEnv's plain echo in a throw-away virtual environment, and
a bare Starlette handler under the hub's uvicorn settings; drives each with closed-loop clients, one load
after the other, round after round, so that whatever else the machine does hits all alike. Prints a table
and the ratios of steps per server-CPU-second beside their bars; exits with 1 if one is missed.

A server's CPU time is that of its whole process tree. A load runs in a process of its own, and its
connections are the same for all servers (`load/connections.py`), except for OpenEnv's own client.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from load.clients import BATCH
from load.contestants import Load, install_openenv, serve_bare, serve_hub, serve_openenv, versions
from load.report import Results, show
from rich.console import Console

PACKAGES = "envhub openenv uvicorn uvloop httptools h11 websockets starlette fastapi".split()


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 16, 64], help="how many at once")
    parser.add_argument("--seconds", type=float, default=2.0, help="length of one measurement, at most 60")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each load; medians count")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers there")
    arguments = parser.parse_args()
    if not 0.1 <= arguments.seconds <= 60 or arguments.rounds < 1 or min(arguments.clients) < 1:
        parser.error("--seconds must be 0.1 to 60, --rounds and --clients at least 1")
    return arguments


def _loads(openenv_python: str) -> list[Load]:
    """The loads, in the order of their turns: those that are compared are neighbours."""
    return [
        Load("hub-step", "hub, one request a step", "hub"),
        Load("openenv-step", "OpenEnv, one request a step", "openenv"),
        Load("bare-step", "bare handler, one request a step", "bare"),
        Load("hub-stream", "hub, stream", "hub"),
        Load("openenv-client", "OpenEnv, its WebSocket client", "openenv", python=openenv_python),
        Load("openenv-frames", "OpenEnv, plain WebSocket frames", "openenv"),
        Load("hub-stream-shared", "hub, stream, one connection for all", "hub"),
        Load("hub-batch", f"hub, batches of {BATCH}", "hub", steps=BATCH),
    ]


def main() -> int:
    arguments = _parse()
    console = Console(width=None if sys.stdout.isatty() else 130)
    counts = sorted(arguments.clients)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="envhub-bench-")))
        with console.status("Installing OpenEnv …"):
            openenv_python = install_openenv(folder / "openenv")
        loads = _loads(openenv_python)
        servers = {
            "hub": stack.enter_context(serve_hub("--env", f"echo={max(*counts, BATCH)}")),
            "openenv": stack.enter_context(serve_openenv(openenv_python)),
            "bare": stack.enter_context(serve_bare()),
        }
        pythons = {"hub, bare handler": sys.executable, "OpenEnv": openenv_python}
        used = {name: versions(python, PACKAGES) for name, python in pythons.items()}
        results = Results(loads)
        for number in range(arguments.rounds):
            for clients in counts:
                for load in loads:
                    if load.steps > 1 and clients != counts[0]:
                        continue  # a batch has one sender
                    count = 1 if load.steps > 1 else clients
                    with console.status(f"Round {number + 1}: {load.label}, {count} clients …"):
                        measured = load.measure(servers[load.server], count, arguments.seconds)
                    results.add(load.protocol, count, measured)
    rows, verdicts = results.rows(), results.verdicts()
    show(console, rows, verdicts)
    for name, found in used.items():
        console.print(
            f"{name}: " + ", ".join(f"{package} {version}" for package, version in found.items()), style="dim"
        )
    if arguments.json is not None:
        numbers = {
            "versions": used,
            "rows": [asdict(row) for row in rows],
            "ratios": [{**asdict(verdict), "passed": verdict.passed} for verdict in verdicts],
            "measurements": results.rounds(),
        }
        arguments.json.write_text(json.dumps(numbers, indent=2) + "\n")
    return 0 if all(verdict.passed for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
