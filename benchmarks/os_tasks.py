"""Plays every task of the OS environment: by its own solution, which must win, and by none, which must not.

    python benchmarks/os_tasks.py [--data-dir FOLDER] [--rootfs FOLDER] [--mode MODE] [--split SPLIT ...]

All cores play at once. Prints the tasks that are lost, won by who finishes at once, or could not be set up,
and how many there are. Exits with 1 when there are any; AgentBench has some.
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
import time
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "env_specs" / "os"))

from envhub_os import OSEnv
from envhub_os.errors import SetupFailed
from envhub_os.expert import Expert
from envhub_os.library import SPLITS

ACTIONS = 8


@functools.cache
def environment(settings: tuple[tuple[str, str], ...]) -> OSEnv:
    """This process's environment."""
    return OSEnv(expert=True, **dict(settings))  # type: ignore[arg-type]


def solved(env: OSEnv, task: str) -> bool:
    """Plays a task as its own solution does."""
    observation, info = env.reset(seed=1, options={"task": {"id": task}})
    expert = Expert()
    for _ in range(ACTIONS):
        observation, reward, terminated, _, info = env.step(expert(observation, info))
        if terminated:
            return reward == 1.0
    return False


def play(settings: tuple[tuple[str, str], ...], task: str) -> tuple[str, str]:
    """Returns a task and what is wrong with it, if anything is."""
    env = environment(settings)
    try:
        env.reset(seed=1, options={"task": {"id": task}})
        if env.step("Act: finish")[1]:
            return task, "won by who finishes at once"
        return task, "" if solved(env, task) else "lost"
    except (SetupFailed, ValueError) as error:
        return task, str(error)


def main() -> int:
    """Plays all tasks."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", default="", help="AgentBench's data; without it, the embedded tasks")
    parser.add_argument("--rootfs", default="", help="a root file system; without one, this machine's own")
    parser.add_argument("--mode", default="fixed", choices=("fixed", "faithful"))
    parser.add_argument("--split", nargs="+", default=SPLITS, choices=SPLITS)
    options = parser.parse_args()
    settings = (("data_dir", options.data_dir), ("rootfs", options.rootfs), ("mode", options.mode))
    env, begun = environment(settings), time.monotonic()
    tasks = [task["id"] for split in options.split for task in env.tasks(split)]
    wrong = 0
    with get_context("fork").Pool(len(os.sched_getaffinity(0))) as pool:
        for task, what in pool.imap_unordered(functools.partial(play, settings), tasks):
            if what:
                wrong += 1
                print(f"{task}: {what}", flush=True)
    print(f"{len(tasks)} tasks, {wrong} with something wrong, {time.monotonic() - begun:.0f} s")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
