"""Sessions over real processes: what is reproducible, what is lost, what is left."""

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest

from envhub.pool import Pool
from envhub.session import HubError, Sessions
from envhub.spec import find
from envhub_sdk._wire import BatchStep, OpenRequest, StepItem


@contextlib.asynccontextmanager
async def serving(name: str, replicas: int, workers: int = 2, **settings: Any) -> AsyncIterator[Sessions]:
    pool = Pool(find(name).resolve(settings), replicas, workers)
    await pool.start()
    try:
        yield Sessions({name: pool})
    finally:
        await pool.stop()


async def opened(sessions: Sessions, env: str, **request: Any) -> list[dict[str, Any]]:
    reply: list[dict[str, Any]] = json.loads(await sessions.openings.open(env, OpenRequest(**request)))[
        "sessions"
    ]
    return reply


async def batch(sessions: Sessions, ids: list[str], action: str, autoreset: bool = False) -> list[Any]:
    items = [StepItem(one, msgspec.Raw(json.dumps(action).encode())) for one in ids]
    results: list[Any] = json.loads(await sessions.step_batch(BatchStep(items, autoreset)))["results"]
    return results


async def test_the_same_seeds_give_the_same_episodes_on_any_worker() -> None:
    async def play() -> list[Any]:
        seen: list[Any] = []
        starts = await opened(sessions, "frozenlake", count=3, seeds=[1, 2, 3])
        seen.append([start["observation"] for start in starts])
        for move in ["right", "down", "left", "down", "right"] * 6:
            results = await batch(sessions, [start["id"] for start in starts], move, autoreset=True)
            seen.append(
                [(one["observation"], one["reward"], one.get("reset", {}).get("seed")) for one in results]
            )
        return seen

    async with serving("frozenlake", 12, workers=3) as sessions:
        first, second, third = await play(), await play(), await play()
        assert first == second == third
        assert any(seed is not None for step in first[1:] for *_, seed in step), (
            "some episode must have ended"
        )


async def test_a_refused_task_opens_nothing() -> None:
    async with serving("frozenlake", 4) as sessions:
        with pytest.raises(HubError) as caught:
            await opened(sessions, "frozenlake", count=2, tasks=["train-0", "nowhere"])
        assert caught.value.code == "unknown_task"
        assert sessions.pools["frozenlake"].status().free == 4


async def test_a_hostile_repeat_behind_a_step_under_way_costs_nobody_else_anything() -> None:
    async with serving("echo", 2, workers=1) as sessions:
        first, second = (one["id"] for one in await opened(sessions, "echo", count=2))
        await batch(sessions, [first], "go")
        hostile = StepItem(first, msgspec.Raw(b"1" * 5000), 0)
        items = [StepItem(first, msgspec.Raw(b'"go"'), 1), hostile, StepItem(second, msgspec.Raw(b'"go"'), 0)]
        results = json.loads(await sessions.step_batch(BatchStep(items)))["results"]
        assert [result.get("error", {}).get("code") for result in results] == [
            None,
            "step_index_conflict",
            None,
        ]
        assert sessions.pools["echo"].status().restarts == 0


async def test_workers_killed_at_odd_moments_leave_every_request_answered_and_the_pool_whole(
    eventually: Any,
) -> None:
    async with serving("echo", 8, workers=2) as sessions:
        pool = sessions.pools["echo"]
        stop = asyncio.Event()

        async def client() -> int:
            answered = 0
            while not stop.is_set():
                with contextlib.suppress(HubError):
                    (one,) = await opened(sessions, "echo", wait_s=20)
                    for _ in range(10):
                        answered += len(await batch(sessions, [one["id"]], "go"))
                    sessions.close(one["id"])
            return answered

        clients = [asyncio.create_task(client()) for _ in range(12)]
        for kill in range(6):
            await eventually(lambda: pool.status().ready_workers)
            victim = next(worker for worker in pool._workers if worker.ready)
            restarts = pool.status().restarts
            os.kill(victim.pid, signal.SIGKILL)
            await eventually(lambda restarts=restarts: pool.status().restarts > restarts)
            if kill == 3:
                os.killpg(pool._template_of[0].pid, signal.SIGKILL)
        stop.set()
        assert all(answered > 0 for answered in await asyncio.wait_for(asyncio.gather(*clients), 30))
        await eventually(lambda: pool.status().ready and pool.status().free == 8)
        assert sessions.all() == []
