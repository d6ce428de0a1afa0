"""Snapshots, restores and forks from the client's side."""

import asyncio
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import httpx
import pytest

import envhub_sdk
from envhub_sdk import AsyncHub, Env, Hub

GAMES = {"frozenlake": ("native", ["right", "down"]), "CartPole-v1": ("replay", [0, 1])}
"""Kind of snapshot and two actions, by environment."""


def play(env: Env, actions: list[Any]) -> list[Any]:
    return [env.step(action) for action in actions]


def same(one: Any, other: Any) -> bool:
    """Whether two results are equal, arrays included."""
    return str(one) == str(other)


@pytest.mark.parametrize("name", GAMES)
def test_a_restored_environment_goes_on_as_it_went_on_before(hub: Hub, name: str) -> None:
    kind, actions = GAMES[name]
    with hub.make(name) as env:
        env.reset(seed=5)
        reached = env.step(actions[0])
        point = env.snapshot()
        assert (point.kind, point.step_index) == (kind, 1)
        onward = play(env, actions)
        observation, info = env.restore(point)
        assert same((observation, info), (reached[0], reached[4]))
        assert env.episode_seed == 5
        assert env.trajectory().actions == [actions[0]]
        assert same(play(env, actions), onward)


def test_a_snapshot_outlives_its_session_and_opens_another_one(hub: Hub) -> None:
    with hub.make("frozenlake") as env:
        env.reset(seed=1, options={"task": "test-1"})
        reached = env.step("right")
        point = pickle.loads(pickle.dumps(env.snapshot()))
        onward = env.step("down")
    with hub.make("frozenlake") as other:
        observation, _ = other.restore(point)
        assert same(observation, reached[0])
        assert (other.task, other.episode_seed) == ("test-1", 1)
        assert same(other.step("down"), onward)
        hub._send(envhub_sdk._calls.close([other.session_id or ""]))
        observation, _ = other.restore(point)
        assert same(observation, reached[0])
        other.reset(seed=9)
        assert other.task is None


def test_an_unknown_snapshot_changes_nothing(hub: Hub) -> None:
    nowhere = envhub_sdk.Snapshot("p-nowhere", 0, "native")
    with hub.make("frozenlake") as env, hub.make("echo") as echo:
        env.reset(seed=1)
        env.step("down")
        echo.reset()
        for unknown in (nowhere, echo.snapshot()):
            with pytest.raises(envhub_sdk.UnknownSnapshot):
                env.restore(unknown)
            with pytest.raises(envhub_sdk.UnknownSnapshot):
                env.fork(1, unknown)
        env.step("down")
        assert env.trajectory().actions == ["down", "down"]


def test_what_has_no_episode_has_no_points(hub: Hub) -> None:
    with hub.make("echo") as env:
        for ask in (env.snapshot, env.fork):
            with pytest.raises(envhub_sdk.NoEpisode, match="reset"):
                ask()
        env.reset()
        point = env.snapshot()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        env.restore(point)


# -- forks ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", GAMES)
def test_forks_go_on_from_where_they_were_made_each_on_its_own(hub: Hub, name: str) -> None:
    _, actions = GAMES[name]
    with hub.make(name, labels={"kept": "yes"}) as env:
        env.reset(seed=5)
        env.step(actions[0])
        first, second = env.fork(2)
        assert len({env.session_id, first.session_id, second.session_id}) == 3
        assert (first.episode_seed, first.env_info, first.spec) == (5, env.env_info, env.spec)
        onward = play(env, actions)
        env.close()
        assert same(play(first, actions), onward)
        first.close()
        assert same(play(second, actions), onward)
        assert second.trajectory().actions == [actions[0], *actions]
        second.reset(seed=5)
        second.close()
    assert not {first.session_id, second.session_id} & {state.id for state in hub.sessions()}


def test_a_fork_of_a_snapshot_starts_there(hub: Hub) -> None:
    with hub.make("frozenlake") as env:
        env.reset(seed=4, options={"task": "test-1"})
        point = env.snapshot()
        onward = env.step("right")
        env.reset(seed=5)
        (fork,) = env.fork(snapshot=point)
        assert (fork.task, fork.episode_seed) == ("test-1", 4)
        assert same(fork.step("right"), onward)
        fork.close()


def test_forks_draw_the_seeds_of_their_next_episodes_each_from_a_stream_of_its_own(hub: Hub) -> None:
    def seeds() -> list[int | None]:
        with hub.make("echo") as env:
            env.reset(seed=5)
            forks = env.fork(2)
            drawn = []
            for one in (env, *forks):
                one.reset()
                drawn.append(one.episode_seed)
                one.close()
            return drawn

    drawn = seeds()
    assert len(set(drawn)) == 3
    assert seeds() == drawn


def test_a_fork_is_kept_alive_and_closed_like_any_environment(scripts: Any) -> None:
    hub = scripts.hub()
    with hub.client() as client:
        env = client.make("echo")
        env.reset()
        forked = scripts.start(1, id="f0", env="echo", expires_at=0.0, idle_timeout_s=600.0, observation="x")
        hub.script.append(httpx.Response(200, json={"sessions": [forked]}))
        (fork,) = env.fork()
        (asked,) = hub.bodies("/v1/sessions/s0/fork")
        assert (asked["count"], asked["snapshot_id"], asked["wait_s"]) == (1, None, 30.0)
        assert "f0" in client._heartbeat._beats
        hub.script.append(httpx.Response(200, json=scripts.step(0)))
        fork.step("x")
        assert hub.bodies("/v1/sessions/f0/step")[0]["episode_id"] == "e1"
        fork.close()
        assert hub.bodies("/v1/close") == [{"session_ids": ["f0"]}]
        assert "f0" not in client._heartbeat._beats


def test_what_gymnasium_made_shares_its_client_with_its_forks(
    url: str, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENVHUB_URL", url)
    env = gymnasium.make("envhub/frozenlake")
    env.reset(seed=1)
    made = env.unwrapped
    assert isinstance(made, Env)
    first, second = made.fork(2)
    client = made._hub
    env.close()
    first.step("down")
    first.close()
    second.step("down")
    assert not client._client.is_closed
    second.close()
    assert client._client.is_closed


# -- many -------------------------------------------------------------------------------------------


def test_many_are_forked_side_by_side(hub: Hub) -> None:
    envs = [hub.make("echo") for _ in range(5)]
    for number, env in enumerate(envs):
        env.reset()
        env.step(f"of {number}")
    forks = hub.fork_many(envs, 3)
    assert [len(group) for group in forks] == [3] * 5
    for number, group in enumerate(forks):
        for fork in group:
            assert fork.trajectory().actions == [f"of {number}"]
    for env in [*envs, *(fork for group in forks for fork in group)]:
        env.close()
    assert hub.fork_many([]) == []


def test_of_many_forks_none_is_left_when_one_fails(hub: Hub) -> None:
    envs = [hub.make("frozenlake", wait_s=0.0) for _ in range(2)]
    for env in envs:
        env.reset(seed=1)
    before = {state.id for state in hub.sessions()}
    with pytest.raises(envhub_sdk.NoFreeReplica):  # 2 hold a replica each, 4 more are wanted, there are 4
        hub.fork_many(envs, 2)
    assert {state.id for state in hub.sessions()} <= before
    for env in envs:
        env.step("down")
        env.close()


MINE = {"test": "points"}


async def labelled(client: AsyncHub) -> int:
    """How many sessions are open that are labelled `MINE`; another test's may end late."""
    return sum(state.labels == MINE for state in await client.sessions())


async def test_the_asynchronous_twin_has_the_same_points(url: str, hub: Hub) -> None:
    with hub.make("frozenlake") as env:
        env.reset(seed=5)
        expected = play(env, ["down", "right"])
        point = env.snapshot()
    async with AsyncHub(url) as client, await client.make("frozenlake", wait_s=0.0, labels=MINE) as twin:
        await twin.reset(seed=5)
        assert same(await twin.step("down"), expected[0])
        start = await twin.snapshot()
        (group,) = await client.fork_many([twin], 2)
        assert same(await asyncio.gather(*(fork.step("right") for fork in group)), [expected[1]] * 2)
        with pytest.raises(envhub_sdk.NoFreeReplica):
            await client.fork_many([twin, *group], 1)
        assert await labelled(client) == 3
        (fork,) = await group[0].fork(snapshot=start)
        assert same(await fork.step("right"), expected[1])
        for one in (fork, *group):
            await one.close()
        assert same((await twin.restore(point))[0], expected[1][0])
        async with await client.make("frozenlake") as other:
            assert same((await other.restore(point))[0], expected[1][0])


async def test_forks_for_somebody_who_was_cancelled_are_closed(url: str) -> None:
    async with AsyncHub(url) as client, await client.make("echo", labels=MINE) as env:
        await env.reset()
        forking = asyncio.create_task(env.fork(3))
        await asyncio.sleep(0)  # the request is on its way
        forking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await forking
        await asyncio.wait(client._abandoned)
        assert await labelled(client) == 1 and await env.step("a")


# -- what is not deterministic ----------------------------------------------------------------------

RESTLESS = """
import os

class Env:
    def reset(self, *, seed=None, options=None):
        return "start", {}

    def step(self, action):
        return os.urandom(8).hex(), 0.0, False, False, {}
"""

TEXTS = '[action.space]\ntype = "Text"\nmax_length = 9\n[observation.space]\ntype = "Text"\nmax_length = 99\n'


def test_a_replay_that_went_another_way_is_told_with_both_observations(
    write_spec: Callable[..., Any], serve_hub: Any
) -> None:
    spec = write_spec(RESTLESS, TEXTS)
    with serve_hub("--env", f"{spec.path}=2") as url, Hub(url) as hub, hub.make(spec.name) as env:
        env.reset(seed=1)
        seen, *_ = env.step("go")
        point = env.snapshot()
        with pytest.raises(envhub_sdk.ReplayDiverged, match="not deterministic") as caught:
            env.restore(point)
        details = caught.value.details
        assert details["step_index"] == 0
        assert seen in details["recorded"] and seen not in details["replayed"]
        assert isinstance(caught.value, envhub_sdk.SessionGone) and env.session_id is None
        env.reset()
