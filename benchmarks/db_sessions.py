"""Whether a real server stays clean: many episodes on many replicas, while workers are killed.

    python benchmarks/db_sessions.py [--replicas 64] [--episodes 1000] [--kill-every 4] [--url mysql://…]

A hub serves the environment on a MariaDB (started here, unless `--url` names one), the expert plays episodes
of all splits, and every few seconds a worker is killed with SIGKILL. In the end the hub is stopped, and what
is left on the server is counted: databases, users, connections. Every episode has to be won.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "benchmarks"), str(ROOT / "env_specs" / "db")]

from db_server import missing, server  # noqa: E402
from envhub_db.server.address import Address  # noqa: E402

from envhub_sdk import AsyncHub  # noqa: E402

PATIENCE_S = 120.0
SPLITS = ("train", "validation", "test")


def left(url: str) -> dict[str, int]:
    """Count what there is of ours on a server."""
    questions = {
        "databases": "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME LIKE 'envhub%'",
        "users": "SELECT COUNT(*) FROM mysql.user WHERE User LIKE 'envhub%'",
        "connections": "SELECT COUNT(*) - 1 FROM information_schema.PROCESSLIST WHERE HOST != ''",
    }
    connection = Address.parse(url).connect()
    found = {}
    with connection.cursor() as cursor:
        for name, sql in questions.items():
            cursor.execute(sql)
            found[name] = int(cursor.fetchone()[0])
    connection.close()
    return found


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            stat = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            if int(stat[1]) == pid and stat[0] not in "ZX":
                found.append(int(name))
    return found


@contextlib.contextmanager
def hub(url: str, replicas: int) -> Iterator[tuple[str, int]]:
    """Serve the environment, and stop in the end; gives its address and its process."""
    command = [sys.executable, "-m", "envhub", "serve", "--json", "--port", "0", "--env", f"db={replicas}"]
    command += ["--set", f"db.url={url}", "--set", "db.expert=true", "--set", "db.actions=tools"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"], process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE_S)


@contextlib.asynccontextmanager
async def killing(pid: int, seconds: float, counts: dict[str, int]) -> AsyncIterator[None]:
    """Kill a random worker of a hub now and then."""

    async def kill() -> None:
        draw = random.Random(0)
        while True:
            await asyncio.sleep(seconds)
            workers = [worker for template in children(pid) for worker in children(template)]
            if workers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(draw.choice(workers), signal.SIGKILL)
                    counts["killed"] += 1

    task = asyncio.create_task(kill()) if seconds else None
    try:
        yield
    finally:
        if task is not None:
            task.cancel()


async def play(url: str, replicas: int, episodes: int, counts: dict[str, int]) -> None:
    """Play episodes, each on a new session every time, as many at once as there are replicas."""
    numbers = iter(range(episodes))

    async def player() -> None:
        for number in numbers:
            async with await client.make("db") as env:
                options = {"split": SPLITS[number % len(SPLITS)]}
                _, info = await env.reset(seed=number, options=options)
                ended, reward = False, 0.0
                while not ended:
                    _, reward, terminated, truncated, info = await env.step(info["expert_action"])
                    ended = terminated or truncated
                counts["won"] += reward == 1.0
                counts["played"] += 1

    async with AsyncHub(url) as client:
        await asyncio.gather(*(player() for _ in range(replicas)))


def measure(url: str, replicas: int, episodes: int, kill_every: float) -> dict[str, Any]:
    """Play on a server, and count what is left."""
    counts = {"played": 0, "won": 0, "killed": 0}

    async def run(address: str, pid: int) -> None:
        async with killing(pid, kill_every, counts):
            await play(address, replicas, episodes, counts)

    before = left(url)
    with hub(url, replicas) as (address, pid):
        started = time.monotonic()
        asyncio.run(run(address, pid))
        seconds = time.monotonic() - started
    deadline = time.monotonic() + PATIENCE_S
    while left(url) != before and time.monotonic() < deadline:
        time.sleep(0.2)
    return {**counts, "seconds": round(seconds, 1), "left": left(url), "before": before}


def main() -> int:
    """Measure, print, and fail where something was left or lost."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--replicas", type=int, default=64)
    parser.add_argument("--episodes", type=int, default=1000)
    parser.add_argument("--kill-every", type=float, default=4.0, help="seconds; 0: never")
    parser.add_argument("--url", help="a server that runs; default: a MariaDB of its own")
    asked = parser.parse_args()
    with contextlib.ExitStack() as stack:
        if not asked.url and missing():
            print(missing(), file=sys.stderr)
            return 2
        url = asked.url or f"mysql://root@localhost/?unix_socket={stack.enter_context(server())}"
        found = measure(url, asked.replicas, asked.episodes, asked.kill_every)
    print(json.dumps(found))
    return 0 if found["left"] == found["before"] and found["won"] == asked.episodes else 1


if __name__ == "__main__":
    sys.exit(main())
