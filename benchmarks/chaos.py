"""Nothing is lost while workers are killed: the same episodes, disturbed and undisturbed.

    python benchmarks/chaos.py [--seconds S] [--json FILE]

Starts the hub by its real command with 64 WebShop and 64 FrozenLake replicas and plays both at once through
the SDK, with fixed seeds and a scripted policy that looks only at what it is shown. Blocks of some seconds
are played undisturbed and then, exactly the same episodes, while a random worker is killed with SIGKILL every
second, and a template a third and two thirds of the way. So whatever else the machine does hits both runs.
Every episode of both is compared: observations, infos, actions, rewards, ends, task and seed. Exits with 1 if
an episode was lost, if one differs, or if the disturbed run had less than half the throughput.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import os
import random
import re
import signal
import sys
import time
import urllib.request
import zlib
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from load.contestants import Server, serve_hub
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from webshop_walk import Walker

from envhub_sdk import AsyncHub, Trajectory

REPLICAS = 64
ROUND = 2 * REPLICAS
"""Episodes of each environment in one round."""
LONGEST = 30
"""Steps after which an episode is left."""
SEED = 20_000
BLOCK_S = 10.0
KILL_EVERY_S = 1.0
SLOWEST = 0.5
"""Least throughput of the disturbed run, as a share of the undisturbed one's."""


class Shopper:
    """Plays one WebShop episode like those that were recorded; the same page, the same choice."""

    def __init__(self) -> None:
        self._walker: Walker | None = None

    def __call__(self, observation: str, info: dict[str, Any]) -> str:
        """The next action."""
        if self._walker is None:
            self._walker = Walker(zlib.crc32(observation.encode()))
            self._walker.begin(info["instruction"])
        return self._walker.action(info["available_actions"])[1]


class Skater:
    """Plays one FrozenLake episode at random; the same start, the same moves."""

    def __init__(self) -> None:
        self._random: random.Random | None = None

    def __call__(self, observation: str, info: dict[str, Any]) -> str:
        """The next action."""
        if self._random is None:
            self._random = random.Random(zlib.crc32(f"{observation}{info['task']}".encode()))
        return self._random.choice(["left", "down", "right", "up"])


POLICIES: dict[str, Callable[[], Any]] = {"webshop": Shopper, "frozenlake": Skater}


@dataclass
class Run:
    """What came of one run.

    Attributes:
        digests: Of each episode, by environment and seed.
        lost: Episodes that ended with an error, by its code.
    """

    seconds: float = 0.0
    rounds: int = 0
    steps: int = 0
    digests: dict[str, str] = field(default_factory=dict)
    lost: Counter[str] = field(default_factory=Counter)

    @property
    def steps_per_s(self) -> float:
        """Throughput, both environments together."""
        return self.steps / self.seconds

    def add(self, trajectory: Trajectory) -> None:
        """Takes in an episode."""
        self.steps += trajectory.steps
        self.digests[f"{trajectory.env} {trajectory.seed}"] = digest(trajectory)
        if trajectory.error is not None:
            self.lost[trajectory.error.code] += 1


def digest(trajectory: Trajectory) -> str:
    """A fingerprint of all that must be the same when an episode is played again."""
    facts = [trajectory.task, trajectory.seed, trajectory.observations, trajectory.actions]
    facts += [trajectory.rewards, trajectory.terminated, trajectory.truncated, trajectory.infos]
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


# -- the disturbance --------------------------------------------------------------------------------


class Killer:
    """Kills workers and templates of a hub, by pid.

    Workers are found by their process group, which is their template's, so that those whose template was
    killed are found as well.
    """

    def __init__(self, hub: int, seed: int, seconds: float) -> None:
        self._seconds, self._ticks = seconds, 0
        self.workers_killed = self.templates_killed = 0
        self._hub = hub
        self._random = random.Random(seed)
        self._groups: set[int] = set()

    @property
    def done(self) -> bool:
        """Whether it has killed every template it should."""
        return self.templates_killed == 2

    def look(self) -> tuple[list[int], list[int]]:
        """The pids of the templates and of the workers that run now."""
        processes = dict(_processes())
        templates = [pid for pid, (parent, _) in processes.items() if parent == self._hub]
        self._groups.update(templates)
        workers = [
            pid for pid, (_, group) in processes.items() if group in self._groups and pid not in self._groups
        ]
        return sorted(templates), sorted(workers)

    def kill(self) -> None:
        """Kills a random worker, if one runs; when it is time, the oldest template: none is killed twice."""
        templates, workers = self.look()
        self.workers_killed += self._kill(workers)
        self._ticks += 1
        if self._ticks * KILL_EVERY_S >= self._seconds * (self.templates_killed + 1) / 3 and not self.done:
            self.templates_killed += self._kill(templates[:1])

    def _kill(self, pids: list[int]) -> bool:
        if not pids:
            return False
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._random.choice(pids), signal.SIGKILL)
            return True
        return False


def _processes() -> list[tuple[int, tuple[int, int]]]:
    """Parent and process group of every process that is no zombie."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            state, parent, group, *_ = Path(f"/proc/{name}/stat").read_text().rpartition(") ")[2].split()
            if state not in "ZX":
                found.append((int(name), (int(parent), int(group))))
    return found


@contextlib.asynccontextmanager
async def killing(killer: Killer) -> AsyncIterator[None]:
    """Kills every second until the body is done."""

    async def kill() -> None:
        while True:
            await asyncio.sleep(KILL_EVERY_S)
            killer.kill()

    task = asyncio.create_task(kill())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


# -- the runs ---------------------------------------------------------------------------------------


async def play_round(hub: AsyncHub, number: int) -> list[Trajectory]:
    """Some episodes for every replica of both environments."""
    both = await asyncio.gather(
        *(
            hub.collect(
                env,
                policy,
                per_episode=True,
                episodes=ROUND,
                concurrency=REPLICAS,
                seed=SEED + number * ROUND,
                max_steps=LONGEST,
            )
            for env, policy in POLICIES.items()
        )
    )
    return [trajectory for trajectories in both for trajectory in trajectories]


async def play(hub: AsyncHub, run: Run, over: Callable[[], bool]) -> None:
    """Plays rounds, from the run's next one on, until it is over."""
    while not over():
        begin = time.monotonic()
        trajectories = await play_round(hub, run.rounds)
        run.seconds += time.monotonic() - begin
        run.rounds += 1
        for trajectory in trajectories:
            run.add(trajectory)


def counted(url: str, name: str) -> int:
    """A counter of the hub's, over all labels."""
    with urllib.request.urlopen(url + "/metrics", timeout=30) as answer:
        text = answer.read().decode()
    return int(sum(float(value) for value in re.findall(rf"^{name}{{.*}} (\S+)$", text, re.MULTILINE)))


async def compare(server: Server, seconds: float, progress: Progress) -> dict[str, Any]:
    """Both runs, and what they say."""
    calm, wild = Run(), Run()
    killer = Killer(server.pid, SEED, seconds)
    bar = progress.add_task("playing", total=seconds)
    async with AsyncHub(server.url) as hub:
        while calm.seconds < seconds or not killer.done:  # a machine that stood still has killed too few
            end = calm.seconds + min(BLOCK_S, max(seconds - calm.seconds, KILL_EVERY_S))
            await play(hub, calm, lambda end=end: calm.seconds >= end)
            async with killing(killer):
                await play(hub, wild, lambda: wild.rounds >= calm.rounds)
            progress.update(bar, completed=calm.seconds)
    different = [name for name, found in calm.digests.items() if wild.digests.get(name) != found]
    return {
        "seconds": {"undisturbed": calm.seconds, "disturbed": wild.seconds},
        "steps_per_s": {"undisturbed": calm.steps_per_s, "disturbed": wild.steps_per_s},
        "episodes": len(calm.digests),
        "steps": calm.steps,
        "lost": {"undisturbed": dict(calm.lost), "disturbed": dict(wild.lost)},
        "different": different,
        "throughput": wild.steps_per_s / calm.steps_per_s,
        "workers_killed": killer.workers_killed,
        "templates_killed": killer.templates_killed,
        "replays": counted(server.url, "envhub_replays_total"),
        "restarts": counted(server.url, "envhub_worker_restarts_total"),
    }


# -- the verdict ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """One bar and whether it is met."""

    what: str
    measured: str
    bar: str
    passed: bool


def judge(found: dict[str, Any]) -> list[Verdict]:
    """The bars."""
    lost = sum(map(sum, (by_code.values() for by_code in found["lost"].values())))
    different, share = len(found["different"]), found["throughput"]
    return [
        Verdict("episodes lost", str(lost), "0", lost == 0),
        Verdict("episodes that differ", str(different), "0", different == 0),
        Verdict("throughput, disturbed / undisturbed", f"{share:.2f}", f"> {SLOWEST}", share > SLOWEST),
        Verdict("workers killed", str(found["workers_killed"]), "> 0", found["workers_killed"] > 0),
        Verdict("templates killed", str(found["templates_killed"]), "2", found["templates_killed"] == 2),
    ]


def show(console: Console, found: dict[str, Any], verdicts: list[Verdict]) -> None:
    table = Table(title="Chaos: 64 WebShop and 64 FrozenLake replicas, a worker killed every second")
    for column in ("", "measured", "bar"):
        table.add_column(column, justify="left" if not column else "right")
    for verdict in verdicts:
        style = "green" if verdict.passed else "bold red"
        table.add_row(verdict.what, f"[{style}]{verdict.measured}[/]", verdict.bar)
    table.add_section()
    for name in ("episodes", "steps", "replays", "restarts"):
        table.add_row(name, f"{found[name]:,}", "")
    for name in ("undisturbed", "disturbed"):
        rate, took = found["steps_per_s"][name], found["seconds"][name]
        table.add_row(f"steps a second, {name}", f"{rate:,.0f}", f"{took:.1f} s")
    console.print(table)
    for name in found["different"][:5]:
        console.print(f"differs: {name}", style="red")
    for run, by_code in found["lost"].items():
        for code, count in by_code.items():
            console.print(f"lost, {run}: {count} x {code}", style="red")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument(
        "--seconds", type=float, default=60.0, help="length of the undisturbed run, from 3 on"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers there")
    arguments = parser.parse_args()
    if arguments.seconds < 3:
        parser.error("--seconds must be at least 3, so that some workers are killed")
    console = Console(width=None if sys.stdout.isatty() else 100)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    envs = [part for env in POLICIES for part in ("--env", f"{env}={REPLICAS}")]
    with serve_hub(*envs) as server, Progress(*columns, console=console, transient=True) as progress:
        found = asyncio.run(compare(server, arguments.seconds, progress))
    verdicts = judge(found)
    show(console, found, verdicts)
    if arguments.json is not None:
        bars = [asdict(verdict) for verdict in verdicts]
        arguments.json.write_text(json.dumps({**found, "bars": bars}, indent=2) + "\n")
    return 0 if all(verdict.passed for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
