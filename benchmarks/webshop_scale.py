"""WebShop at the size of the full catalogue: preparing, opening, searching, stepping and serving.

    python benchmarks/webshop_scale.py [--products N] [--out DIR] [--steps N] [--serve] [--replicas N]

Writes an official-format catalogue of 1,180,000 made-up products (`webshop_data`; about 1.4 GB), prepares it
(about 3 GB) and plays it in this process with the mix of recorded episodes (`webshop_walk`). With --serve it
also starts `envhub serve` on it and plays all replicas at once through the SDK. A folder given with --out is
kept, and what is prepared there already is used again.

Bars: open in 2 s, ready in 20 s, search p50 15 ms, other steps p50 1 ms, 4 GiB for all replicas together.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import webshop_data
from load.processes import first_line, memory, running, tree
from webshop_walk import Walker

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "env_specs" / "webshop"))

from envhub_webshop import WebShopEnv, prepare, store

LONGEST = 30
"""Steps after which an episode is left."""

OPEN_S, READY_S, SEARCH_MS, OTHER_MS, MEMORY_GIB = 2.0, 20.0, 15.0, 1.0, 4.0


class Report:
    """Prints figures, and remembers whether any missed its bar."""

    def __init__(self) -> None:
        self.missed = False

    def figure(self, name: str, value: float, unit: str, bar: float | None = None) -> None:
        """Print a figure; one above its bar is missed."""
        line = f"{name:46}{value:12.3f} {unit}"
        if bar is not None:
            met = value <= bar
            self.missed |= not met
            line += f"  (bar {bar:g}: {'met' if met else 'MISSED'})"
        print(line, flush=True)


def make(folder: Path, products: int, report: Report) -> Path:
    """Write and prepare the data, unless that is done already; returns the prepared folder."""
    source, out = folder / "official", folder / "prepared"
    if not store.is_prepared(out):
        begin = time.perf_counter()
        webshop_data.write(source, products)
        report.figure("writing the official files", time.perf_counter() - begin, "s")
        largest = 0.0

        def watch(stage: str, done: int, total: int) -> None:
            nonlocal largest
            largest = max(largest, own_memory("RssAnon"))

        begin = time.perf_counter()
        prepare.main_prepare(source, out, human_goals=False, progress=watch)
        report.figure("preparing", time.perf_counter() - begin, "s")
        report.figure("  private memory while preparing", largest, "GiB")
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    report.figure("prepared folder", size / 2**30, "GiB")
    return out


def own_memory(field: str) -> float:
    """Return a memory figure of this process, in GiB."""
    found = re.search(rf"{field}:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) / 2**20 if found else 0.0


def play(
    reset: Callable[[int], dict[str, Any]],
    step: Callable[[str], tuple[bool, dict[str, Any]]],
    steps: int,
    seed: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Play episodes; returns the milliseconds of each step, by kind of action, and of resets."""
    walker = Walker(seed)
    times: dict[str, list[float]] = {"reset": []}
    done = 0
    while done < steps:
        begin = clock()
        info = reset(seed * 1_000_000 + done)
        times["reset"].append((clock() - begin) * 1e3)
        walker.begin(info["instruction"])
        for _ in range(LONGEST):
            kind, action = walker.action(info["available_actions"])
            begin = clock()
            over, info = step(action)
            times.setdefault(kind, []).append((clock() - begin) * 1e3)
            done += 1
            if over:
                break
    return times


def play_here(prepared: Path, steps: int, report: Report) -> None:
    """Open the catalogue and play it in this process."""
    before = own_memory("RssAnon")
    begin = time.perf_counter()
    env = WebShopEnv(data_dir=str(prepared), human_goals=False)
    report.figure("opening in process", time.perf_counter() - begin, "s", OPEN_S)
    print(f"  {env.data_info()['products']} products, {env.data_info()['goals']} goals")

    def reset(seed: int) -> dict[str, Any]:
        return env.reset(seed=seed)[1]

    def step(action: str) -> tuple[bool, dict[str, Any]]:
        _, _, over, _, info = env.step(action)
        return over, info

    play(reset, step, steps // 4, seed=1)
    times = play(reset, step, steps, seed=2)
    other = [taken for kind, each in times.items() if kind not in ("search", "reset") for taken in each]
    for name, values, bar in (
        ("search", times["search"], SEARCH_MS),
        ("other steps", other, OTHER_MS),
        ("reset", times["reset"], None),
    ):
        report.figure(f"{name} p50 of {len(values)}", percentile(values, 50), "ms", bar)
        report.figure(f"{name} p99", percentile(values, 99), "ms")
    busy = play(reset, step, steps, seed=3, clock=time.process_time)
    report.figure("search CPU p50", percentile(busy["search"], 50), "ms")
    report.figure("private memory grown by opening and playing", own_memory("RssAnon") - before, "GiB")
    report.figure("all memory of this process (with file pages)", own_memory("VmRSS"), "GiB")


def play_served(prepared: Path, replicas: int, steps: int, report: Report) -> None:
    """Serve the catalogue and play all replicas at once through the SDK."""
    from envhub_sdk import Hub

    settings = (f"webshop.data_dir={prepared}", "webshop.human_goals=false")
    command = [
        str(Path(sys.executable).with_name("envhub")),
        "serve",
        "--env",
        "webshop",
        "--replicas",
        str(replicas),
    ]
    command += [part for setting in settings for part in ("--set", setting)]
    begin = time.perf_counter()
    with running([*command, "--port", "0", "--json"], prepared.parent) as process:
        ready = json.loads(first_line(process, timeout_s=120))
        report.figure(
            f"`envhub serve` with {replicas} replicas ready", time.perf_counter() - begin, "s", READY_S
        )
        held(process.pid, "before any step", report)
        with Hub(ready["url"]) as hub:
            envs = [hub.make("webshop") for _ in range(replicas)]

            def visit(number: int) -> dict[str, list[float]]:
                env = envs[number]

                def step(action: str) -> tuple[bool, dict[str, Any]]:
                    _, _, over, cut, info = env.step(action)
                    return over or cut, info

                return play(lambda seed: env.reset(seed=seed)[1], step, steps, seed=number + 3)

            with ThreadPoolExecutor(replicas) as pool:
                rounds = list(pool.map(visit, range(replicas)))
            count = sum(len(each) for times in rounds for each in times.values())
            print(f"  {count} steps and resets through the SDK, {replicas} clients at once")
            held(process.pid, "after playing", report)
            alone = play(
                lambda seed: envs[0].reset(seed=seed)[1], lambda action: _step(envs[0], action), 200, 99
            )
            for kind in ("search", "product"):
                report.figure(f"one client, {kind} p50 over HTTP", percentile(alone[kind], 50), "ms")


def _step(env: Any, action: str) -> tuple[bool, dict[str, Any]]:
    _, _, over, cut, info = env.step(action)
    return over or cut, info


def held(pid: int, when: str, report: Report) -> None:
    """Report what the hub and its workers hold: pages that are shared are counted once."""
    processes = [memory(member) for member in tree(pid)]
    proportional = sum(one.proportional for one in processes) / 2**20
    private = sum(one.private for one in processes) / 2**20
    report.figure(f"memory of {len(processes)} processes {when} (PSS)", proportional, "GiB", MEMORY_GIB)
    report.figure("  of it private", private, "GiB")


def percentile(values: list[float], share: int) -> float:
    """Return a percentile."""
    return sorted(values)[min(len(values) - 1, len(values) * share // 100)]


@contextlib.contextmanager
def folder_of(out: Path | None) -> Iterator[Path]:
    """Return the folder asked for, or a temporary one."""
    if out is not None:
        yield out
        return
    with tempfile.TemporaryDirectory(prefix="webshop-scale-") as made:
        yield Path(made)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--products", type=int, default=1_180_000)
    parser.add_argument("--out", type=Path, help="folder to work in, kept; a temporary one when left out")
    parser.add_argument("--steps", type=int, default=4_000, help="steps played in process")
    parser.add_argument("--serve", action="store_true", help="also serve it with `envhub serve`")
    parser.add_argument("--replicas", type=int, default=64, help="replicas to serve")
    arguments = parser.parse_args()
    report = Report()
    with folder_of(arguments.out) as folder:
        prepared = make(folder, arguments.products, report)
        play_here(prepared, arguments.steps, report)
        if arguments.serve:
            play_served(prepared.resolve(), arguments.replicas, 20, report)
    return 1 if report.missed else 0


if __name__ == "__main__":
    sys.exit(main())
