"""Several hubs as one, against real ones."""

import asyncio
import contextlib

import msgspec
import pytest

from envhub_sdk import ConnectFailed, EnvHubError, Hub, UnknownEnv
from envhub_trainers import _hubs
from envhub_trainers._faults import is_hopeless
from envhub_trainers._hubs import Hubs, HubsDiffer, NoHub

NOBODY = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(_hubs, "PROBE_S", 0.05)
    monkeypatch.setattr(_hubs, "AWAY_S", 0.5)


@contextlib.asynccontextmanager
async def opened(*urls, env="echo", patience_s=30.0):
    hubs = Hubs(urls, env, token=None, patience_s=patience_s)
    try:
        yield hubs
    finally:
        await hubs.close()


class Holder:
    """Takes places and keeps them until it is told to let go."""

    def __init__(self, hubs):
        self._hubs = hubs
        self._let_go = asyncio.Event()
        self.seen = []
        self.tasks = []

    def take(self, age):
        self.tasks.append(asyncio.create_task(self._hold(age)))

    async def _hold(self, age):
        async with self._hubs.place(age) as place:
            self.seen.append((age, place.hub.url))
            await self._let_go.wait()

    async def let_go(self):
        self._let_go.set()
        await asyncio.gather(*self.tasks)


@pytest.fixture(scope="module")
def two(serve_hub):
    """Hubs with 4 and with 2 replicas of echo."""
    with serve_hub("--env", "echo=4") as large, serve_hub("--env", "echo=2") as small:
        yield large, small


async def test_episodes_go_where_the_share_of_busy_replicas_is_smallest(two, eventually):
    async with opened(*two) as hubs:
        holder = Holder(hubs)
        for age in range(3):
            holder.take(age)
        await eventually(lambda: len(holder.seen) == 3)
        assert sorted(place.playing for place in hubs.places) == [1, 2]
        for age in range(3, 8):
            holder.take(age)
        await eventually(lambda: len(holder.seen) == 6)
        assert [place.playing for place in hubs.places] == [4, 2]  # two wait
        await holder.let_go()
        assert len(holder.seen) == 8 and [place.playing for place in hubs.places] == [0, 0]


async def test_the_oldest_sample_goes_first(two, eventually):
    async with opened(two[1]) as hubs:
        first, second = Holder(hubs), Holder(hubs)
        for age in (9, 8):
            first.take(age)
        await eventually(lambda: len(first.seen) == 2)
        for age in (5, 3, 7, 1):
            second.take(age)
        await eventually(lambda: len(hubs._waiting) == 4)
        await first.let_go()
        await second.let_go()
        assert [age for age, _ in second.seen] == [1, 3, 5, 7]


async def test_who_gives_up_waiting_leaves_no_place_behind(two, eventually):
    async with opened(two[1]) as hubs:
        holder, impatient = Holder(hubs), Holder(hubs)
        for age in (1, 2):
            holder.take(age)
        await eventually(lambda: len(holder.seen) == 2)
        for age in (3, 4):
            impatient.take(age)
        await eventually(lambda: len(hubs._waiting) == 2)
        for task in impatient.tasks:
            task.cancel()
        await asyncio.gather(*impatient.tasks, return_exceptions=True)
        await holder.let_go()
        assert hubs.places[0].playing == 0 and not impatient.seen


async def test_a_hub_that_dies_is_left_alone_until_it_is_back(two, mortal, eventually):
    frail = mortal("--env", "echo=4")
    async with opened(two[0], frail.url) as hubs:
        steady, other = hubs.places
        async with hubs.place(0), hubs.place(0):
            assert steady.playing == other.playing == 1
        frail.kill()
        assert steady.load == other.load == 0  # so that the first comes first
        async with hubs.place(1) as first:
            with pytest.raises(EnvHubError):
                async with hubs.place(2) as second:
                    assert {first.hub.url, second.hub.url} == {steady.hub.url, other.hub.url}
                    await other.hub.make("echo")
        assert steady.lives and not other.lives
        for age in range(3):
            async with hubs.place(age) as place:
                assert place is steady
        frail.start()
        frail.wait()
        await eventually(lambda: other.lives)
        async with hubs.place(2), hubs.place(2):
            assert steady.playing == other.playing == 1


async def test_a_run_may_begin_while_a_hub_is_down(two):
    async with opened(NOBODY, two[0]) as hubs, hubs.place(0) as place:
        assert place.hub.url == two[0]


async def test_without_any_hub_who_waits_is_told(two):
    async with opened(NOBODY, patience_s=0.2) as hubs:
        with pytest.raises(NoHub, match=NOBODY):
            async with hubs.place(0):
                raise AssertionError("there is none")


async def test_hubs_that_serve_different_settings_are_refused(two, serve_hub):
    with serve_hub("--env", "echo=1", "--set", "echo.length=3") as other:
        async with opened(two[0], other) as hubs:
            with pytest.raises(HubsDiffer, match=r"config\.length: 0 and 3"):
                async with hubs.place(0):
                    raise AssertionError("they differ")


async def test_an_environment_that_is_not_served_is_hopeless(two):
    async with opened(two[0], env="chess") as hubs:
        with pytest.raises(UnknownEnv) as error:
            async with hubs.place(0):
                raise AssertionError("it is not served")
        assert is_hopeless(error.value)


def test_a_hub_that_can_not_be_reached_is_not():
    assert not is_hopeless(ConnectFailed("down"))


def test_hubs_are_compared_by_what_decides_an_episode_not_by_where_their_files_lie(two):
    with Hub(two[0]) as hub:
        served = hub.env("echo")
    there = msgspec.structs.replace(served, config={"data_dir": "/a", "length": 1}, replicas={"total": 9})
    same = msgspec.structs.replace(there, config={"data_dir": "/b", "length": 1})
    assert _hubs._difference(there, same) is None
    for change in (
        {"version": "2"},
        {"config": {"data_dir": "/a", "length": 2}},
        {"config": {"data_dir": "", "length": 1}},
        {"data": {"digest": "sha256:other"}},
        {"lock_digest": "sha256:other"},
        {"limits": {"max_episode_steps": 3}},
    ):
        assert _hubs._difference(there, msgspec.structs.replace(there, **change))
