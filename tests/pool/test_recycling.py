"""Workers that grow or have done their share are replaced, and no client notices."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import msgspec
import pytest

from envhub.pool import Pool, WorkerCare, _keeper, private_bytes
from envhub.session import Sessions
from envhub.spec import Spec
from envhub_sdk._wire import BatchStep, OpenRequest, StepItem

LEAKY = """
import os
KEPT = []


class Env:
    def reset(self, *, seed=None, options=None):
        self.total = seed
        return self.total, {}

    def step(self, action):
        if action == "pid":
            return os.getpid(), 0.0, False, False, {}
        if action == "hog":
            while True:
                KEPT.append(os.urandom(1) * 2**20)
        KEPT.append(os.urandom(1) * 2**20)
        self.total = (self.total * 31 + action) % 1_000_003
        return self.total, 1.0, False, False, {}

    def close(self):
        open(CLOSED, "a").write("x")
"""


@pytest.fixture
def leaky(write_spec: Any, tmp_path: Any) -> Callable[..., Spec]:
    """A spec whose environments leak a megabyte a step."""

    def write(toml: str = "") -> Spec:
        spec: Spec = write_spec(f"CLOSED = {str(tmp_path / 'closed')!r}\n" + LEAKY, toml)
        return spec

    return write


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at workers all the time."""
    for name in ("WATCH_S", "WEIGH_S", "PING_S"):
        monkeypatch.setattr(_keeper, name, 0.01)


@contextlib.asynccontextmanager
async def serving(
    spec: Spec, replicas: int, workers: int, **care: Any
) -> AsyncIterator[tuple[Sessions, Pool]]:
    pool = Pool(spec.resolve({}), replicas, workers, care=WorkerCare(**care))
    await pool.start()
    try:
        yield Sessions({"probe": pool}), pool
    finally:
        await pool.stop()


async def opened(sessions: Sessions, seeds: list[int]) -> list[str]:
    reply = json.loads(await sessions.openings.open("probe", OpenRequest(count=len(seeds), seeds=seeds)))
    return [one["id"] for one in reply["sessions"]]


async def batch(sessions: Sessions, ids: list[str], action: object) -> list[dict[str, Any]]:
    items = [StepItem(one, msgspec.Raw(json.dumps(action).encode())) for one in ids]
    results: list[dict[str, Any]] = json.loads(await sessions.step_batch(BatchStep(items)))["results"]
    return results


async def play(sessions: Sessions, pool: Pool, ids: list[str], seeds: list[int], restarts: int) -> None:
    """Plays until workers were replaced so often, and holds every observation against the rule."""
    totals, action = list(seeds), 0
    while pool.status().restarts < restarts:
        action += 1
        results = await batch(sessions, ids, action)
        totals = [(total * 31 + action) % 1_000_003 for total in totals]
        assert [result.get("observation", result) for result in results] == totals


@pytest.mark.parametrize("fork", ["true", "false"])
async def test_a_worker_that_grows_is_replaced_and_no_client_notices(fork: str, leaky: Any) -> None:
    async with serving(leaky(f"fork = {fork}\n"), 4, 2, recycle_growth_mb=24) as (sessions, pool):
        seeds = [1, 2, 3, 4]
        ids = await opened(sessions, seeds)
        await play(sessions, pool, ids, seeds, 4)
        assert set(pool.deaths) == {"recycled"}
        assert pool.replays >= 2 * (pool.deaths["recycled"] - 1)
        assert all(session.ended is None for session in sessions.all())


async def test_a_worker_is_replaced_after_its_share_of_episodes(leaky: Any) -> None:
    async with serving(leaky(), 2, 1, recycle_episodes=7) as (sessions, pool):
        (longest,) = await opened(sessions, [5])
        while pool.status().restarts < 3:
            (short,) = await opened(sessions, [6])
            assert (await batch(sessions, [short], 1))[0]["observation"] == 6 * 31 + 1
            sessions.close(short)
        assert (await batch(sessions, [longest], 1))[0]["observation"] == 5 * 31 + 1
        assert set(pool.deaths) == {"recycled"}


async def test_the_old_process_closes_its_environments_and_ends(
    leaky: Any, eventually: Any, processes: Any, tmp_path: Any
) -> None:
    async with serving(leaky(), 3, 1, recycle_episodes=1) as (sessions, pool):
        old = pool._workers[0].pid
        (one,) = await opened(sessions, [5])
        await eventually(lambda: pool.status().restarts >= 1 and pool.status().ready)
        await eventually(lambda: not processes.alive(old))
        assert (tmp_path / "closed").read_text().startswith("xxx")
        sessions.close(one)


async def test_one_that_cannot_be_replayed_is_replaced_only_when_nobody_holds_it(
    leaky: Any, eventually: Any
) -> None:
    async with serving(leaky("replayable = false\n"), 2, 1, recycle_episodes=1) as (sessions, pool):
        (one,) = await opened(sessions, [5])
        (first,) = await batch(sessions, [one], "pid")
        await eventually(lambda: pool._workers[0].episodes)
        for _ in range(20):
            await asyncio.sleep(_keeper.WATCH_S)
            assert (await batch(sessions, [one], "pid"))[0]["observation"] == first["observation"]
        assert pool.status().restarts == 0
        sessions.close(one)
        await eventually(lambda: pool.deaths == {"recycled": 1} and pool.status().ready)


async def test_one_that_takes_all_memory_is_killed_and_its_neighbours_go_on(leaky: Any) -> None:
    async with serving(leaky(), 2, 1, max_mb=200) as (sessions, pool):
        hog, other = await opened(sessions, [5, 6])
        await batch(sessions, [other], 1)
        (hogged,) = await batch(sessions, [hog], "hog")
        error = hogged["error"]
        assert (error["code"], error["details"]["death"]) == ("environment_error", "memory")
        assert "of its own and may hold 200 MB" in error["message"]
        assert (await batch(sessions, [other], 1))[0]["observation"] == (6 * 31 + 1) * 31 + 1
        assert pool.deaths == {"memory": 3}


async def test_a_session_that_cannot_go_on_says_how_its_worker_died(leaky: Any) -> None:
    async with serving(leaky("replayable = false\n"), 2, 1, max_mb=200) as (sessions, _):
        hog, idle = await opened(sessions, [5, 6])
        (hogged,) = await batch(sessions, [hog], "hog")
        (waited,) = await batch(sessions, [idle], 1)
        assert hogged["error"]["code"] == waited["error"]["code"] == "session_lost"
        assert hogged["error"]["details"] == {"death": "memory", "request_under_way": True}
        assert waited["error"]["details"] == {"death": "memory", "request_under_way": False}
        assert "while a request of this session was under way" in hogged["error"]["message"]
        assert "while no request of this session was under way" in waited["error"]["message"]


async def test_only_private_memory_counts(write_spec: Any, eventually: Any) -> None:
    shared = "DATA = bytearray(b'x') * (128 * 2**20)\n\n\n" + LEAKY
    async with serving(write_spec("CLOSED = '/dev/null'\n" + shared), 2, 2, max_mb=100) as (_, pool):
        await eventually(lambda: len(pool.memory()) == 2)
        assert all(held < 64 * 2**20 for held in pool.memory().values())
        assert pool.status().restarts == 0


def test_a_process_that_is_gone_weighs_nothing() -> None:
    assert private_bytes(2**22 + 1) is None


async def test_clients_that_come_and_go_meet_no_error_while_workers_are_replaced_all_the_time(
    leaky: Any, eventually: Any
) -> None:
    async with serving(leaky(), 8, 2, recycle_episodes=1) as (sessions, pool):

        async def client(seed: int) -> int:
            episodes = 0
            while pool.status().restarts < 12:
                (one,) = await opened(sessions, [seed])
                total = seed
                for action in range(9):
                    total = (total * 31 + action) % 1_000_003
                    (result,) = await batch(sessions, [one], action)
                    assert result.get("observation", result) == total
                sessions.close(one)
                episodes += 1
            return episodes

        played = await asyncio.wait_for(asyncio.gather(*(client(seed) for seed in range(12))), 60)
        assert all(played)
        await eventually(lambda: pool.status().ready and pool.status().free == 8)
        assert set(pool.deaths) == {"recycled"}
