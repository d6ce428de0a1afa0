"""What replicas cost in memory: the proportional set size of the hub's whole process tree.

Serves WebShop with 1 replica and then with many, by the real command; resets every replica and takes a few
steps in it (a search and clicks), then adds up Pss over the hub, its template and its workers. Prints
private and shared memory of every process, and the ratio beside its bar; exits with 1 if it is missed.
"""

from __future__ import annotations

import argparse
import sys

from load.contestants import serve_hub
from load.processes import Memory, memory, tree
from rich.console import Console
from rich.table import Table

from envhub_sdk import Hub

BAR = 1.5
CLICKS = 3


def weigh(env: str, replicas: int) -> list[Memory]:
    """Serves, plays a few steps in every replica, and weighs every process."""
    with serve_hub("--env", f"{env}={replicas}") as server, Hub(server.url) as hub:
        envs = [hub.make(env) for _ in range(replicas)]
        for seed, one in enumerate(envs):
            _, info = one.reset(seed=seed)
            _, _, _, _, info = one.step(f"search[{info['instruction']}]")
            for _ in range(CLICKS):
                _, _, _, _, info = one.step(f"click[{info['available_actions']['clickables'][-1]}]")
        return [memory(pid) for pid in tree(server.pid)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--replicas", type=int, default=64, help="how many are compared with one")
    replicas = parser.parse_args().replicas
    console = Console(width=None if sys.stdout.isatty() else 110)
    totals = []
    for count in (1, replicas):
        processes = weigh("webshop", count)
        table = Table(title=f"envhub serve --env webshop={count}, MiB", show_footer=True)
        table.add_column("process", footer="all", max_width=70, no_wrap=True)
        for title, sizes in (
            ("proportional", [one.proportional for one in processes]),
            ("private", [one.private for one in processes]),
            ("shared", [one.shared for one in processes]),
        ):
            footer = "" if title == "shared" else f"{sum(sizes) / 1024:.1f}"
            table.add_column(title, footer=footer, justify="right")
        for one in processes:
            three = (one.proportional, one.private, one.shared)
            table.add_row(f"{one.pid} {one.command}", *(f"{size / 1024:.1f}" for size in three))
        console.print(table)
        totals.append(sum(one.proportional for one in processes))
    ratio = totals[1] / totals[0]
    passed = ratio <= BAR
    verdict = "[green]PASS[/]" if passed else "[red]FAIL[/]"
    console.print(f"{replicas} replicas / 1 replica: {ratio:.2f} (at most {BAR:g}) {verdict}")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
