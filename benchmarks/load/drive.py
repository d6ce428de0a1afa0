"""One measurement: clients that step back to back for a while, and what that cost the server.

`python -m load.drive PROTOCOL URL CLIENTS SECONDS SERVER_PID` runs one in a process of its own, so that a
contestant's client can be driven by the interpreter it is installed in, and prints it as one JSON line.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from load.clients import CONNECT, Client, Connect
from load.processes import cpu_seconds, tree

WARM_UP_S = 0.5
"""Stepping before the measurement begins."""


@dataclass(frozen=True)
class Measurement:
    """What was counted.

    Attributes:
        requests: Requests answered.
        seconds: How long that took.
        server_cpu_s: CPU time that the server's whole process tree used meanwhile.
        load_cpu_s: CPU time that the load itself used.
        p50_ms: Median time from a request to its answer.
        p99_ms: The same for the slowest hundredth.
    """

    requests: int
    seconds: float
    server_cpu_s: float
    load_cpu_s: float
    p50_ms: float
    p99_ms: float


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least `share` of the values do not exceed."""
    ranked = sorted(values)
    return ranked[max(0, -int(-share * len(ranked) // 1) - 1)]


async def step_for(clients: Sequence[Client], seconds: float) -> list[float]:
    """Lets every client step back to back; returns the time each answer took, in seconds."""
    times: list[float] = []
    clock = time.perf_counter
    end = clock() + seconds

    async def drive(client: Client) -> None:
        while (asked := clock()) < end:
            await client.step()
            times.append(clock() - asked)

    async with asyncio.TaskGroup() as group:
        for client in clients:
            group.create_task(drive(client))
    return times


async def measure(connect: Connect, url: str, count: int, seconds: float, server_pid: int) -> Measurement:
    """Connects `count` clients, warms up, measures, closes.

    Raises:
        ExceptionGroup: A step failed; a load with failures is no measurement.
    """
    clients = await connect(url, count)
    await step_for(clients, WARM_UP_S)
    members = tree(server_pid)
    started, load_cpu, server_cpu = time.perf_counter(), time.process_time(), cpu_seconds(members)
    times = await step_for(clients, seconds)
    took = time.perf_counter() - started
    measurement = Measurement(
        requests=len(times),
        seconds=took,
        server_cpu_s=cpu_seconds(members) - server_cpu,
        load_cpu_s=time.process_time() - load_cpu,
        p50_ms=percentile(times, 0.5) * 1e3,
        p99_ms=percentile(times, 0.99) * 1e3,
    )
    for client in clients:
        await client.close()
    return measurement


def main(protocol: str, url: str, count: str, seconds: str, server_pid: str) -> None:
    measurement = asyncio.run(measure(CONNECT[protocol], url, int(count), float(seconds), int(server_pid)))
    print(json.dumps(asdict(measurement)))


if __name__ == "__main__":
    main(*sys.argv[1:])
