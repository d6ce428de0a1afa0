"""Leasing: all or none, in the order of arrival, and nothing leaks."""

import asyncio
import random
from typing import Any

import pytest

from envhub.pool import NoFreeReplica, Pool, QueueFull, Replica


async def turns(count: int = 5) -> None:
    """Let every task that can go on do so."""
    for _ in range(count):
        await asyncio.sleep(0)


def free(pool: Pool) -> int:
    return pool.status().free


async def test_all_or_none(start_pool: Any) -> None:
    pool = await start_pool(replicas=3)
    taken = await pool.acquire(2, 0)
    assert free(pool) == 1
    with pytest.raises(NoFreeReplica, match="2 free replicas of echo"):
        await pool.acquire(2, 0)
    with pytest.raises(NoFreeReplica, match=r"did not come free in 0\.05 s"):
        await pool.acquire(2, 0.05)
    assert free(pool) == 1
    for replica in taken:
        pool.release(replica)
    assert len({id(replica) for replica in await pool.acquire(3, 0)}) == 3


async def test_more_than_there_are_is_refused_at_once(start_pool: Any) -> None:
    pool = await start_pool(replicas=2)
    with pytest.raises(NoFreeReplica, match="2 replicas in all"):
        await pool.acquire(3, 1000)


async def test_callers_are_served_in_the_order_in_which_they_came(start_pool: Any) -> None:
    pool = await start_pool(replicas=4)
    held = await pool.acquire(4, 0)
    served: list[str] = []

    async def caller(name: str, count: int) -> list[Replica]:
        replicas = await pool.acquire(count, 60)
        served.append(name)
        return replicas

    big = asyncio.create_task(caller("big", 3))
    await turns()
    small = asyncio.create_task(caller("small", 1))
    await turns()
    assert pool.status().queued == 2
    pool.release(held.pop())
    await turns()
    assert served == [], "a small caller must not overtake a big one, or the big one starves"
    with pytest.raises(NoFreeReplica):
        await pool.acquire(1, 0)
    pool.release(held.pop())
    pool.release(held.pop())
    await turns()
    assert served == ["big"]
    pool.release(held.pop())
    await turns()
    assert served == ["big", "small"]
    assert len(await big) == 3 and len(await small) == 1
    assert (free(pool), pool.status().queued) == (0, 0)


async def test_a_first_caller_who_leaves_lets_the_next_one_in(start_pool: Any) -> None:
    pool = await start_pool(replicas=2)
    held = await pool.acquire(2, 0)
    big = asyncio.create_task(pool.acquire(2, 60))
    await turns()
    small = asyncio.create_task(pool.acquire(1, 60))
    await turns()
    pool.release(held[0])
    big.cancel()
    with pytest.raises(asyncio.CancelledError):
        await big
    assert len(await small) == 1
    assert (free(pool), pool.status().queued) == (0, 0)


@pytest.mark.parametrize("release_first", [True, False])
async def test_leaving_just_as_the_replica_comes_leaks_nothing(start_pool: Any, release_first: bool) -> None:
    pool = await start_pool()
    (held,) = await pool.acquire(1, 0)
    waiting = asyncio.create_task(pool.acquire(1, 60))
    await turns()
    if release_first:
        pool.release(held)
        waiting.cancel()
    else:
        waiting.cancel()
        pool.release(held)
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert (free(pool), pool.status().queued) == (1, 0)


async def test_a_time_out_just_as_the_replica_comes_leaks_nothing(start_pool: Any) -> None:
    pool = await start_pool()
    loop = asyncio.get_running_loop()
    for _ in range(50):
        (held,) = await pool.acquire(1, 0)
        loop.call_later(0.002, pool.release, held)
        try:
            (taken,) = await pool.acquire(1, 0.002)
        except NoFreeReplica:
            (taken,) = await pool.acquire(1, 60)
        pool.release(taken)
        assert (free(pool), pool.status().queued) == (1, 0)


async def test_the_queue_is_bounded(start_pool: Any) -> None:
    pool = await start_pool(max_queue=2)
    await pool.acquire(1, 0)
    waiting = [asyncio.create_task(pool.acquire(1, 60)) for _ in range(2)]
    await turns()
    with pytest.raises(QueueFull, match="has 2 callers already"):
        await pool.acquire(1, 60)
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    assert pool.status().queued == 0


async def test_a_crowd_of_impatient_callers_leaves_the_pool_whole(start_pool: Any) -> None:
    pool = await start_pool(replicas=5, workers=2)
    chance = random.Random(4)
    in_use: set[int] = set()

    async def caller() -> None:
        count = chance.randint(1, 5)
        replicas = await pool.acquire(count, chance.choice([0, 0.005, 60]))
        assert len(replicas) == count
        assert not in_use & {id(replica) for replica in replicas}, "a replica was leased twice"
        in_use.update(map(id, replicas))
        try:
            await asyncio.sleep(0)
        finally:
            in_use.difference_update(map(id, replicas))
            for replica in replicas:
                pool.release(replica)

    crowd = [asyncio.create_task(caller()) for _ in range(400)]
    for task in crowd:
        if chance.random() < 0.2:
            await asyncio.sleep(0)
            task.cancel()
    outcomes = await asyncio.gather(*crowd, return_exceptions=True)
    assert {type(outcome) for outcome in outcomes} <= {NoFreeReplica, asyncio.CancelledError, type(None)}
    assert outcomes.count(None) > 100
    assert (free(pool), pool.status().queued) == (5, 0)
