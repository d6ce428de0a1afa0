"""Real pools, each checked at its end to have left no process behind."""

import dataclasses
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from envhub.pool import Pool
from envhub.spec import HOST, Runtime, Spec, find

StartPool = Callable[..., Awaitable[Pool]]


@pytest.fixture
async def start_pool(processes: Any, eventually: Any) -> AsyncIterator[StartPool]:
    """Start a pool of a spec (echo by default) with settings."""
    pools: list[Pool] = []
    before = processes.descendants(os.getpid())

    async def start(
        spec: Spec | str = "echo",
        replicas: int = 1,
        workers: int | None = 1,
        max_queue: int = 1024,
        runtime: Runtime = HOST,
        **settings: object,
    ) -> Pool:
        found = find(spec) if isinstance(spec, str) else spec
        served = dataclasses.replace(found.resolve(settings), runtime=runtime)
        pools.append(Pool(served, replicas, workers, max_queue))
        await pools[-1].start()
        return pools[-1]

    yield start
    for pool in pools:
        groups = [template.pid for template in pool._templates if template._process]
        await pool.stop()
        for group in groups:
            await eventually(lambda group=group: not processes.group(group))
    await eventually(lambda: processes.descendants(os.getpid()) <= before)
