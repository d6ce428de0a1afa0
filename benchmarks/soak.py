"""Nothing grows: 100,000 sessions opened, played and closed, or abandoned.

    python benchmarks/soak.py [--sessions N] [--minutes M] [--json FILE]

Starts the hub by its real command with `echo` and `frozenlake` and runs sessions through the HTTP API, many
at once: each is opened, reset, played a few steps and closed; every tenth is abandoned instead and expires.
After the first 10,000 the whole process tree is weighed every second: memory (Pss), file descriptors,
threads, processes. Exits with 1 if any of them has grown by the end, or if a replica is
not free.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx
from load.contestants import Server, serve_hub
from load.processes import memory, tree
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

SESSIONS = 100_000
REPLICAS = 128
CLIENTS = 8
BATCH = 8
"""Sessions a client has at once."""
STEPS = 4
ABANDONED = 10
"""One session in so many is never closed."""
IDLE_S = 0.5
"""How long an abandoned session lives."""
WARM_UP = 10_000
"""Sessions after which nothing may grow any more: so many ends are remembered."""
WEIGH_EVERY_S = 1.0
MEMORY_SLACK = 0.05
"""Growth of memory that is taken for noise: allocators and the collector are not that exact."""
ENVS = {"echo": ["hello", "soak"], "frozenlake": ["right", "down"]}


@dataclass(frozen=True)
class Weight:
    """What the hub's process tree holds at one moment."""

    sessions: int
    memory_kib: int
    descriptors: int
    threads: int
    processes: int


def weigh(pid: int, sessions: int) -> Weight:
    """Weighs a process tree."""
    held = descriptors = threads = 0
    pids = tree(pid)
    for one in pids:
        with contextlib.suppress(OSError):  # it ended meanwhile
            held += memory(one).proportional
            descriptors += len(os.listdir(f"/proc/{one}/fd"))
            threads += len(os.listdir(f"/proc/{one}/task"))
    return Weight(sessions, held, descriptors, threads, len(pids))


class Soak:
    """Clients that open, play and leave sessions until enough are done or time is up."""

    def __init__(self, url: str, sessions: int, deadline: float) -> None:
        self.started = self.abandoned = self.done = self.steps = 0
        self._url, self._wanted, self._deadline = url, sessions, deadline

    @property
    def over(self) -> bool:
        """Whether no more sessions are to be started."""
        return self.started >= self._wanted or time.monotonic() >= self._deadline

    async def client(self, number: int) -> None:
        """One client; every other one plays the other environment."""
        env = list(ENVS)[number % len(ENVS)]
        async with httpx.AsyncClient(base_url=self._url, timeout=60) as http:
            while not self.over:
                count = min(BATCH, self._wanted - self.started)
                self.started += count
                await self._visit(http, env, count)
                self.done += count

    async def _visit(self, http: httpx.AsyncClient, env: str, count: int) -> None:
        asked = {"count": count, "idle_timeout_s": IDLE_S, "wait_s": 30.0}
        opened = await _post(http, f"/v1/envs/{env}/sessions", asked)
        ids = [session["id"] for session in opened["sessions"]]
        for step in range(STEPS):
            action = ENVS[env][step % 2]
            steps = [{"session_id": one, "action": action, "step_index": step} for one in ids]
            answered = await _post(http, "/v1/step", {"steps": steps, "autoreset": False})
            self.steps += sum("error" not in result for result in answered["results"])
        left = [one for at, one in enumerate(ids, self.started) if at % ABANDONED == 0]
        self.abandoned += len(left)
        await _post(http, "/v1/close", {"session_ids": [one for one in ids if one not in left]})


async def _post(http: httpx.AsyncClient, path: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = await http.post(path, json=body)
    if answer.is_error:
        raise RuntimeError(f"{path} answered {answer.status_code}: {answer.text[:500]}")
    found: dict[str, Any] = answer.json() if answer.content else {}
    return found


async def soak(
    server: Server, sessions: int, seconds: float, told: Callable[[int], None]
) -> tuple[Soak, list[Weight]]:
    """Runs the clients; returns them and what the hub's tree held along the way, from the warm-up on."""
    run = Soak(server.url, sessions, time.monotonic() + seconds)
    clients = [asyncio.create_task(run.client(number)) for number in range(CLIENTS)]
    weights: list[Weight] = []
    due = 0.0
    while not all(client.done() for client in clients):
        await asyncio.wait(clients, timeout=0.2)
        told(run.done)
        if run.done >= WARM_UP and time.monotonic() >= due:
            weights.append(await asyncio.to_thread(weigh, server.pid, run.done))
            due = time.monotonic() + WEIGH_EVERY_S
    await asyncio.gather(*clients)
    return run, weights


async def free_replicas(url: str) -> dict[str, int]:
    """How many replicas are free once the abandoned sessions have expired."""
    async with httpx.AsyncClient(base_url=url, timeout=60) as http:
        deadline = time.monotonic() + IDLE_S + 10
        while True:
            free = {env: (await http.get(f"/v1/envs/{env}")).json()["replicas"]["free"] for env in ENVS}
            if min(free.values()) == REPLICAS or time.monotonic() > deadline:
                return free
            await asyncio.sleep(0.1)


# -- the verdict ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """One thing that may not grow."""

    what: str
    before: float
    after: float
    most: float

    @property
    def passed(self) -> bool:
        """Whether it has not grown."""
        return self.after <= self.most


def judge(weights: list[Weight], free: dict[str, int]) -> list[Verdict]:
    """Compares the median of the first weighings with that of the last ones.

    Raises:
        ValueError: There are too few weighings to compare.
    """
    part = len(weights) // 4
    if part < 1:
        raise ValueError(f"{len(weights)} weighings are too few: let it run for longer")

    def median(name: str, found: list[Weight]) -> float:
        return statistics.median(getattr(weight, name) for weight in found)

    verdicts = []
    for name, slack in (("memory_kib", MEMORY_SLACK), ("descriptors", 0), ("threads", 0), ("processes", 0)):
        before, after = median(name, weights[:part]), median(name, weights[-part:])
        verdicts.append(Verdict(name, before, after, before * (1 + slack)))
    for env, number in free.items():
        verdicts.append(Verdict(f"{env} replicas not free", 0, REPLICAS - number, 0))
    return verdicts


def show(console: Console, run: Soak, verdicts: list[Verdict], seconds: float) -> None:
    table = Table(title=f"Soak: {run.done:,} sessions, {run.abandoned:,} abandoned, in {seconds:.0f} s")
    for column in ("", "after the warm-up", "at the end", "at most"):
        table.add_column(column, justify="right" if column else "left")
    for verdict in verdicts:
        style = "green" if verdict.passed else "bold red"
        after = f"[{style}]{verdict.after:,.0f}[/]"
        table.add_row(verdict.what, f"{verdict.before:,.0f}", after, f"{verdict.most:,.0f}")
    console.print(table)
    console.print(f"{run.steps:,} steps, {run.done / seconds:,.0f} sessions a second", style="dim")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--sessions", type=int, default=SESSIONS, help="how many, at least 20,000")
    parser.add_argument("--minutes", type=float, default=60.0, help="end after so long, whatever is done")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers there")
    arguments = parser.parse_args()
    if arguments.sessions < 2 * WARM_UP or not 0.1 <= arguments.minutes <= 1440:
        parser.error("--sessions must be at least 20,000, --minutes 0.1 to 1,440")
    console = Console(width=None if sys.stdout.isatty() else 100)
    columns = (TextColumn("sessions"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    envs = [part for env in ENVS for part in ("--env", f"{env}={REPLICAS}")]
    begin = time.monotonic()
    with serve_hub(*envs) as server, Progress(*columns, console=console, transient=True) as progress:
        bar = progress.add_task("sessions", total=arguments.sessions)
        run, weights = asyncio.run(
            soak(
                server,
                arguments.sessions,
                arguments.minutes * 60,
                lambda done: progress.update(bar, completed=done),
            )
        )
        seconds = time.monotonic() - begin
        free = asyncio.run(free_replicas(server.url))
    verdicts = judge(weights, free)
    show(console, run, verdicts, seconds)
    if arguments.json is not None:
        numbers = {
            "sessions": run.done,
            "abandoned": run.abandoned,
            "steps": run.steps,
            "seconds": seconds,
            "weights": [asdict(weight) for weight in weights],
            "bars": [{**asdict(verdict), "passed": verdict.passed} for verdict in verdicts],
        }
        arguments.json.write_text(json.dumps(numbers, indent=2) + "\n")
    return 0 if all(verdict.passed for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
