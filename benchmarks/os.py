"""The OS environment and its sandboxes: how fast they start, answer, fork and end, and what many cost.

    python benchmarks/os.py [--backend NAME] [--rootfs FOLDER] [--rounds N] [--held N]

Times are of the wall clock; a start lasts until the login shell has shown its prompt. `CPU` is what all
processes together need for a start and a close, which tells even on a machine that does other work meanwhile.
Memory is what all processes of the sandboxes hold (proportional set size), and, where there are control
groups, what those say, files and kernel included. What is "of a session" goes through a hub that this starts,
by HTTP and the SDK, in the episode of a task with some dozens of files: an open and reset makes a machine
and sets it up, a restore and a fork make one of a snapshot. Exits with 1 when a bar is missed; the bars are
for our own namespaces.
"""

from __future__ import annotations

import argparse
import contextlib
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "env_specs" / "os"))

from envhub_os.sandbox import Sandbox, Settings, launcher, report
from envhub_os.sandbox.settings import AUTO
from load.contestants import serve_hub

from envhub_sdk import Hub

BARS_MS = {"start": 60.0, "trivial command": 5.0, "close": 10.0, "trivial step of a session": 5.0}
HELD_MB = 300.0
OF_ALL_CORES = 0.75
"""So much of one worker's starts a second, times the processors, is to be had by as many workers."""
TASK = {"task": {"id": "files-find-text-0"}}
SCRIPT = "Act: bash\n\n```bash\n{}\n```"


@contextlib.contextmanager
def timed(times: list[float]) -> Iterator[None]:
    """Notes how many milliseconds its body takes."""
    begun = time.perf_counter()
    yield
    times.append((time.perf_counter() - begun) * 1e3)


def cpu_ms() -> float:
    """CPU time of this process, its launcher, and all sandboxes that the launcher has ended."""
    ticks = Path(f"/proc/{launcher.launcher().pid}/stat").read_text().rpartition(")")[2].split()[11:15]
    return time.process_time() * 1e3 + sum(map(int, ticks)) * 1e3 / os.sysconf("SC_CLK_TCK")


def measure_times(settings: Settings, rounds: int) -> dict[str, list[float]]:
    """Starts, uses and ends one sandbox after the other."""
    times: dict[str, list[float]] = {name: [] for name in ("start", "trivial command", "helper", "close")}
    Sandbox.start(settings).close()  # starts the launcher
    before = cpu_ms()
    for _ in range(rounds):
        with timed(times["start"]):
            box = Sandbox.start(settings)
        with timed(times["close"]):
            box.close()
    times["start and close, CPU"] = [(cpu_ms() - before) / rounds] * rounds
    with Sandbox.start(settings) as box:
        for _ in range(rounds):
            with timed(times["trivial command"]):
                box.run("echo hi", timeout_s=30, limit_bytes=100)
            with timed(times["helper"]):
                box.exec(["true"])
    return times


def measure_saving(settings: Settings, rounds: int) -> dict[str, list[float]]:
    """Saves a sandbox and makes another one of that."""
    times: dict[str, list[float]] = {"save": [], "start of a saved one": []}
    with Sandbox.start(settings) as box:
        box.run("cd /srv; for i in {1..50}; do echo $i > $i; done; X=1", timeout_s=30, limit_bytes=100)
        for _ in range(rounds):
            with timed(times["save"]):
                saved = box.save()
            with timed(times["start of a saved one"]):
                other = Sandbox.start(settings, saved)
            other.close()
    return times


def measure_sessions(settings: Settings, rounds: int) -> dict[str, list[float]]:
    """Uses the environment as its clients do."""
    names = ("open and reset", "trivial step", "snapshot", "restore", "fork", "close")
    times: dict[str, list[float]] = {f"{name} of a session": [] for name in names}
    options = ["--set", f"os.sandbox={settings.backend}", "--set", f"os.max_episode_steps={3 * rounds + 2}"]
    if settings.rootfs:
        options += ["--set", f"os.rootfs={settings.rootfs.resolve()}"]
    with serve_hub("--env", "os=4", *options) as server, Hub(server.url) as hub:
        for _ in range(rounds):
            env: Any = hub.make("os")
            with timed(times["open and reset of a session"]):
                env.reset(seed=1, options=TASK)
            with timed(times["close of a session"]):
                env.close()
        with hub.make("os") as env:
            env.reset(seed=1, options=TASK)
            env.step(SCRIPT.format("cd /srv; X=1"))
            for _ in range(rounds):
                with timed(times["trivial step of a session"]):
                    env.step(SCRIPT.format("echo hi"))
            for _ in range(rounds):
                env.step(SCRIPT.format("ls"))  # so that the point is a new one
                with timed(times["snapshot of a session"]):
                    point = env.snapshot()
                assert point.kind == "native"
                env.step(SCRIPT.format("ls"))
                with timed(times["fork of a session"]):
                    (fork,) = env.fork()
                with timed(times["restore of a session"]):
                    fork.restore(point)
                fork.close()
    return times


def inside(pid: int) -> list[int]:
    """All processes of a sandbox, by its first."""
    namespace = os.stat(f"/proc/{pid}/ns/pid").st_ino
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.stat(f"/proc/{name}/ns/pid").st_ino == namespace:
                found.append(int(name))
        except OSError:  # it has ended, or is another user's
            continue
    return found


def proportional_mb(pids: list[int]) -> float:
    """The proportional set size of processes together."""
    kilobytes = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                kilobytes += int(line.split()[1])
    return kilobytes / 1024


def group_mb(boxes: list[Sandbox]) -> float | None:
    """What the control groups of sandboxes say, or None where there are none for memory."""
    total = 0
    for box in boxes:
        for line in Path(f"/proc/{box.pid}/cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            if names == "memory":
                total += int(Path(f"/sys/fs/cgroup/memory{path}/memory.usage_in_bytes").read_text())
            elif not names and Path(f"/sys/fs/cgroup{path}/memory.current").exists():
                total += int(Path(f"/sys/fs/cgroup{path}/memory.current").read_text())
    return total / 1e6 if total else None


def measure_held(settings: Settings, held: int) -> tuple[float, float | None]:
    """What `held` sandboxes cost beyond one, in MB: by processes, and by control groups."""
    boxes = [Sandbox.start(settings)]
    try:
        one, one_group = proportional_mb(inside(boxes[0].pid)), group_mb(boxes)
        boxes += [Sandbox.start(settings) for _ in range(held - 1)]
        for box in boxes:
            box.run("echo hi", timeout_s=30, limit_bytes=100)
        all_groups = group_mb(boxes)
        groups = all_groups - one_group if all_groups is not None and one_group is not None else None
        return sum(proportional_mb(inside(box.pid)) for box in boxes) - one, groups
    finally:
        for box in boxes:
            box.close()


def start_some(settings: Settings, count: int) -> None:
    """Starts and ends sandboxes in a process of its own, as a worker does."""
    for _ in range(count):
        Sandbox.start(settings).close()


def measure_rate(settings: Settings, workers: int, each: int) -> float:
    """Starts a second by so many workers at the same time."""
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=start_some, args=(settings, each)) for _ in range(workers)]
    begun = time.perf_counter()
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    return workers * each / (time.perf_counter() - begun)


def main() -> int:
    """Measures all and prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rootfs", type=Path, help="a root file system; without one, this machine's own programs"
    )
    parser.add_argument("--backend", choices=("auto", *AUTO), default="auto")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--held", type=int, default=64)
    options = parser.parse_args()
    settings, console = Settings(rootfs=options.rootfs, backend=options.backend), Console()
    found = report(settings)
    for line in found.lines():
        console.print(line)
    if found.problem:
        return 1
    cores = len(os.sched_getaffinity(0))
    rates = {workers: measure_rate(settings, workers, options.rounds // 2) for workers in (1, cores)}
    table = Table("measure", "p50", "p95", "bar")
    missed, barred = False, found.backend == AUTO[0]
    times = measure_times(settings, options.rounds) | measure_saving(settings, options.rounds)
    times |= measure_sessions(settings, options.rounds)
    for name, values in times.items():
        median, bar = statistics.median(values), BARS_MS.get(name) if barred else None
        missed |= bar is not None and median >= bar
        p95 = statistics.quantiles(values, n=20)[-1]
        table.add_row(name, f"{median:.2f} ms", f"{p95:.2f} ms", f"< {bar:g} ms" if bar else "")
    by_processes, by_groups = measure_held(settings, options.held)
    worst = max(by_processes, by_groups or 0.0)
    missed |= barred and worst >= HELD_MB * options.held / 64
    table.add_row(
        f"{options.held} held beyond one: processes",
        f"{by_processes:.0f} MB",
        "",
        f"< {HELD_MB:g} MB for 64" if barred else "",
    )
    if by_groups is not None:
        table.add_row(f"{options.held} held beyond one: control groups", f"{by_groups:.0f} MB", "", "")
    for workers, rate in rates.items():
        bar = OF_ALL_CORES * workers * rates[1] if workers > 1 else 0.0
        missed |= rate < bar
        table.add_row(
            f"starts a second, {workers} worker{'s' * (workers > 1)}",
            f"{rate:.1f}",
            "",
            f"> {bar:.1f}" if bar else "",
        )
    console.print(table)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
