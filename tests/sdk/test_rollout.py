import asyncio
import json
from collections.abc import Callable
from typing import Any

import gymnasium
import httpx
import numpy as np
import pytest

import envhub_sdk
from envhub_sdk import AsyncHub, Hub, Trajectory, rollout


def test_a_rollout_is_a_whole_episode(hub: Hub) -> None:
    task = hub.tasks("frozenlake", "test", limit=1)[0]
    with hub.make("frozenlake") as env:
        episode = rollout(env, lambda observation, info: info["available_actions"][0], options={"task": task})
        recorded = env.trajectory()
    served = hub.env("frozenlake")
    assert served.data is not None
    assert (episode.env, episode.version) == ("frozenlake", served.version)
    assert episode.data_digest == served.data["digest"] == recorded.data_digest
    assert episode.task == task and episode.seed is not None and episode.seed == recorded.seed
    assert len(episode.observations) == len(episode.infos) == episode.steps + 1
    assert episode.observations == recorded.observations and episode.actions == recorded.actions
    assert episode.rewards == recorded.rewards and episode.infos == recorded.infos
    assert episode.terminated or episode.truncated
    assert (episode.terminated, episode.truncated) == (recorded.terminated, recorded.truncated)
    assert episode.error is None and episode.timings.step_s > 0


def test_the_task_an_environment_drew_is_in_the_trajectory(hub: Hub) -> None:
    with hub.make("frozenlake") as env:
        episode = rollout(env, lambda observation, info: "left", seed=3, max_steps=2)
    assert episode.task == episode.infos[0]["task"] and episode.seed == 3
    assert episode.steps == 2 and episode.truncated and not episode.terminated


def test_wrapped_and_local_environments_roll_out_too(hub: Hub) -> None:
    wrapped = gymnasium.wrappers.TimeLimit(hub.make("CartPole-v1"), 3)
    remote = rollout(wrapped, lambda observation, info: 1, seed=5)
    wrapped.close()
    local_env = gymnasium.make("CartPole-v1", max_episode_steps=3)
    local = rollout(local_env, lambda observation, info: 1, seed=5)
    local_env.close()
    assert (remote.env, local.env) == ("CartPole-v1", "CartPole-v1")
    assert remote.truncated and local.truncated and remote.rewards == local.rewards
    np.testing.assert_array_equal(remote.observations, local.observations)


def test_a_rollout_raises_what_goes_wrong(hub: Hub) -> None:
    with hub.make("echo") as env, pytest.raises(envhub_sdk.EnvironmentFailed):
        rollout(env, lambda observation, info: "fail")


def test_a_trajectory_is_json() -> None:
    observations, actions = [np.array([1.0, np.inf])], [np.int64(2)]
    episode = Trajectory("e", observations=observations, actions=actions, rewards=[0.5, 0.25])
    read = json.loads(episode.to_json())
    assert read["observations"] == [[1.0, "Infinity"]] and read["actions"] == [2]
    assert episode.episode_return == 0.75
    assert read.keys() == {
        *("env", "version", "data_digest", "lock_digest", "task", "seed", "observations", "actions"),
        *("rewards", "infos", "terminated", "truncated", "error", "timings"),
    }


# -- many at once -----------------------------------------------------------------------------------


async def test_sixty_four_at_once_come_back_in_order(
    url: str, hub: Hub, wait_until: Callable[..., None]
) -> None:
    playing: set[int] = set()
    together = asyncio.Event()

    async def policy(observation: str, info: dict[str, Any]) -> str:
        """Waits until every session plays, so the test passes only if all do at the same time."""
        playing.add(id(asyncio.current_task()))
        if len(playing) == 64:
            together.set()
        await asyncio.wait_for(together.wait(), 60.0)
        return "x"

    seen: list[tuple[int, int]] = []

    def progress(done: int, total: int, episode: Trajectory) -> None:
        seen.append((done, total))

    async with AsyncHub(url) as client:
        episodes = await client.collect("echo", policy, episodes=150, seed=1000, progress=progress)
        await asyncio.to_thread(wait_until, lambda: hub.sessions() == [])
    assert [episode.seed for episode in episodes] == list(range(1000, 1150))
    assert all(episode.rewards == [0.0, 0.0, 1.0] and episode.terminated for episode in episodes)
    assert seen == [(i + 1, 150) for i in range(150)]


async def test_one_episode_for_each_task(url: str, hub: Hub) -> None:
    tasks = hub.tasks("frozenlake", "test", limit=9)
    async with AsyncHub(url) as client:
        episodes = await client.collect("frozenlake", lambda observation, info: "down", tasks=tasks)
    assert [episode.task for episode in episodes] == tasks
    assert [episode.infos[0]["task"]["id"] for episode in episodes] == [task["id"] for task in tasks]


async def test_a_policy_may_be_made_for_each_episode(url: str) -> None:
    class Counting:
        def __init__(self) -> None:
            self.said = 0

        def __call__(self, observation: str, info: dict[str, Any]) -> str:
            self.said += 1
            return str(self.said)

    async with AsyncHub(url) as client:
        episodes = await client.collect("echo", Counting, per_episode=True, episodes=7, concurrency=3)
    assert [episode.actions for episode in episodes] == [["1", "2", "3"]] * 7


async def test_errors_are_data_and_stop_nobody_else(url: str) -> None:
    def policy(observation: str, info: dict[str, Any]) -> Any:
        kind = next(kinds)
        if kind == "raise":
            raise RuntimeError("the model is down")
        return {"fail": "fail", "invalid": 5}.get(kind, "x")

    kinds = iter(["x", "fail", "x", "x", "x", "invalid", "raise", "x", "x", "x"])
    async with AsyncHub(url) as client:
        episodes = await client.collect("echo", policy, episodes=5, concurrency=1)
    errors = [episode.error for episode in episodes]
    codes = [error and error.code for error in errors]
    assert codes == ["environment_error", None, "invalid_action", "policy_error", None]
    assert errors[3] is not None and errors[3].message == "the model is down"
    assert episodes[0].rewards == [0.0] and len(episodes[0].observations) == 2
    assert episodes[2].rewards == [] and not episodes[2].truncated
    assert episodes[1].rewards == episodes[4].rewards == [0.0, 0.0, 1.0]


async def test_an_episode_that_cannot_start_keeps_what_was_asked_for(url: str) -> None:
    async with AsyncHub(url) as client:
        (episode,) = await client.collect("webshop", lambda observation, info: "x", tasks=["nosuch"], seed=4)
    assert episode.error is not None and episode.error.code == "unknown_task"
    assert (episode.task, episode.seed, episode.observations) == ("nosuch", 4, [])


async def test_a_session_without_a_replica_leaves_its_episode_to_the_others(scripts: Any) -> None:
    """The hub has two replicas of which somebody else holds one."""
    script = scripts.hub()
    opened = 0

    def handler(request: httpx.Request) -> httpx.Response:
        nonlocal opened
        if request.url.path == "/v1/envs/echo/sessions":
            opened += 1
            if opened > 1:
                busy: httpx.Response = scripts.error(503, "no_free_replica")
                return busy
        if request.url.path.endswith("/step"):
            return httpx.Response(200, json=scripts.step(0, ended=True))
        if request.url.path.endswith("/reset"):
            return httpx.Response(200, json=scripts.start(1))
        return script(request)  # type: ignore[no-any-return]

    async def policy(observation: str, info: dict[str, Any]) -> str:
        await asyncio.sleep(0)  # so that the others have their turn
        return "x"

    async with AsyncHub("http://hub.test", transport=httpx.MockTransport(handler)) as client:
        episodes = await client.collect("echo", policy, episodes=5, wait_s=0.0)
    assert opened == 4
    assert all(episode.terminated and episode.error is None for episode in episodes)


async def test_without_any_replica_every_episode_says_so(scripts: Any) -> None:
    script = scripts.hub(*[scripts.error(503, "no_free_replica")] * 4)
    async with script.async_client() as client:
        episodes = await client.collect("echo", lambda observation, info: "x", episodes=9, wait_s=0.0)
    assert len(script.requests) == 4  # one for each session that was wanted, not for each episode
    assert [episode.error and episode.error.code for episode in episodes] == ["no_free_replica"] * 9
    assert all(episode.observations == [] and episode.rewards == [] for episode in episodes)


async def test_a_cancelled_collection_gives_its_replicas_back(
    url: str, hub: Hub, wait_until: Callable[..., None]
) -> None:
    started = asyncio.Event()

    async def policy(observation: str, info: dict[str, Any]) -> str:
        started.set()
        await asyncio.Event().wait()
        return "never"

    async with AsyncHub(url) as client:
        collecting = asyncio.create_task(client.collect("echo", policy, episodes=8))
        await asyncio.wait_for(started.wait(), 30.0)
        collecting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await collecting
    wait_until(lambda: hub.sessions() == [])


async def test_what_to_play_must_be_said_once(url: str) -> None:
    async with AsyncHub(url) as client:
        for arguments in ({}, {"episodes": 1, "tasks": ["a"]}):
            with pytest.raises(ValueError, match="either episodes=N or tasks"):
                await client.collect("echo", lambda observation, info: "x", **arguments)  # type: ignore[arg-type]
        assert await client.collect("echo", lambda observation, info: "x", episodes=0) == []
        with pytest.raises(ValueError, match="at least one session"):
            await client.collect("echo", lambda observation, info: "x", episodes=1, concurrency=0)
        with pytest.raises(envhub_sdk.UnknownEnv):
            await client.collect("nosuchenv", lambda observation, info: "x", episodes=1)
