from typing import Any

import gymnasium
import httpx
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import envhub_sdk
from envhub_sdk import AsyncHub, Hub


@pytest.mark.parametrize("name", ["echo", "frozenlake", "webshop"])
def test_gymnasiums_own_checker_is_content(hub: Hub, name: str) -> None:
    with hub.make(name) as env:
        check_env(env)


def test_gymnasiums_checker_is_content_with_rendering(hub: Hub) -> None:
    with hub.make("frozenlake", render_mode="ansi") as env:
        check_env(env)


def test_an_episode_on_the_hub_is_the_episode_here(hub: Hub) -> None:
    with hub.make("CartPole-v1") as env, gymnasium.make("CartPole-v1") as local:
        observation, info = env.reset(seed=7)
        expected, expected_info = local.reset(seed=7)
        np.testing.assert_array_equal(observation, expected)
        assert (observation.dtype, info) == (expected.dtype, expected_info)
        done = False
        actions = np.random.default_rng(0)
        while not done:
            action = actions.integers(2)
            here, there = local.step(action), env.step(action)
            np.testing.assert_array_equal(there[0], here[0])
            assert there[1:] == here[1:]
            done = here[2] or here[3]


def test_resets_without_a_seed_follow_from_the_seed_before(hub: Hub) -> None:
    runs = []
    for _ in range(2):
        with hub.make("CartPole-v1") as env:
            env.reset(seed=3)
            runs.append([env.reset()[0].tolist() for _ in range(3)])
    assert runs[0] == runs[1]
    assert len({str(start) for start in runs[0]}) == 3


def test_the_seed_of_make_is_that_of_the_first_episode(hub: Hub) -> None:
    with hub.make("CartPole-v1", seed=11) as env, hub.make("CartPole-v1") as other:
        np.testing.assert_array_equal(env.reset()[0], other.reset(seed=11)[0])
        assert env.episode_seed == 11
        np.testing.assert_array_equal(env.reset()[0], other.reset()[0])
        assert env.episode_seed != 11


def test_tasks_and_splits_are_chosen_by_make_and_by_reset(hub: Hub) -> None:
    first, second = hub.tasks("webshop", "test", limit=2)
    with hub.make("webshop", split="test") as env:
        assert env.reset()[1]["task"]["split"] == "test"
        assert env.reset(options={"split": "train"})[1]["task"]["split"] == "train"
        options = {"task": first}
        assert env.reset(options=options)[1]["task"]["id"] == first["id"]
        assert options == {"task": first}
        assert env.task == first
    with hub.make("webshop", task=second["id"]) as env:
        assert env.reset()[1]["task"]["id"] == second["id"]
        with pytest.raises(envhub_sdk.UnknownTask):
            env.reset(options={"task": "nosuchtask"})


@pytest.mark.parametrize("task", [5, ["a"], 1.5])
def test_what_is_no_task_is_refused_with_what_is_one(scripts: Any, task: Any) -> None:
    with scripts.hub().client() as client:
        with pytest.raises(TypeError, match=r"task is .*: give a dict as hub.tasks\(\) lists it, or its id"):
            client.make("echo").reset(options={"task": task})
        with pytest.raises(TypeError, match="task is"):
            client.make("echo", task=task).reset()
        with pytest.raises(TypeError, match="task is"):
            client.make_vec("echo", 2).reset(options={"tasks": [task, task]})


def test_a_session_is_opened_by_the_first_reset_and_kept(hub: Hub) -> None:
    env = hub.make("echo")
    assert env.session_id is None
    with pytest.raises(envhub_sdk.NoEpisode):
        env.step("x")
    env.reset()
    session = env.session_id
    env.reset()
    assert env.session_id == session is not None
    env.close()
    env.close()
    assert env.session_id is None
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        env.reset()


def test_the_hubs_refusals_and_failures_have_their_own_classes(hub: Hub) -> None:
    with hub.make("echo") as env:
        env.reset()
        with pytest.raises(envhub_sdk.InvalidAction) as refused:
            env.step(5)
        assert refused.value.session == env.session_id
        assert env.step("fine")[0] == "fine"
        with pytest.raises(envhub_sdk.EnvironmentFailed) as failed:
            env.step("fail")
        assert failed.value.details["type"] == "EchoFault"
        with pytest.raises(envhub_sdk.EpisodeFailed):
            env.step("more")
        env.reset()
        for text in ("a", "b", "c"):
            last = env.step(text)
        assert last[1:4] == (1.0, True, False)
        with pytest.raises(envhub_sdk.EpisodeOver):
            env.step("d")


def test_text_is_rendered_as_text_and_nothing_else(hub: Hub) -> None:
    with hub.make("frozenlake", render_mode="rgb_array") as env:
        env.reset()
        with pytest.raises(TypeError, match="draws text"):
            env.render()
    with hub.make("CartPole-v1") as env:
        env.reset()
        with pytest.raises(envhub_sdk.NotJson):
            env.render()
    with pytest.raises(ValueError, match="render_mode"):
        hub.make("echo", render_mode="human")


def test_pictures_are_rendered_as_arrays(scripts: Any) -> None:
    from envhub.worker import codec

    picture = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    hub = scripts.hub()
    with hub.client() as client:
        env = client.make("echo", render_mode="rgb_array")
        env.reset()
        hub.script.append(
            httpx.Response(200, content=codec.png(picture), headers={"content-type": "image/png"})
        )
        np.testing.assert_array_equal(env.render(), picture)


def test_the_hubs_own_record_is_the_episode(hub: Hub) -> None:
    with hub.make("CartPole-v1") as env:
        starts = env.reset(seed=1)
        steps = [env.step(action) for action in (0, 1)]
        record = env.trajectory()
    assert (record.env, record.version, record.seed) == ("CartPole-v1", "1.0.0", 1)
    assert record.actions == [0, 1] and record.rewards == [1.0, 1.0]
    for recorded, seen in zip(record.observations, [starts[0], *(step[0] for step in steps)], strict=True):
        np.testing.assert_array_equal(recorded, seen)
    assert not record.terminated and record.error is None


@pytest.mark.parametrize(
    ("code", "kind"),
    [("session_expired", envhub_sdk.SessionExpired), ("unknown_session", envhub_sdk.UnknownSession)],
)
def test_a_session_that_is_gone_is_replaced_by_the_next_reset(
    scripts: Any, code: str, kind: type[Exception]
) -> None:
    hub = scripts.hub()
    with hub.client() as client:
        env = client.make("echo")
        env.reset()
        hub.script.append(scripts.error(410, code))
        with pytest.raises(kind):
            env.step("x")
        assert env.session_id is None
        env.reset()
        hub.script.append(httpx.Response(200, json=scripts.step(0)))
        assert env.step("x")[0] == "o0"
        # and where the reset itself finds out
        hub.script += [scripts.error(410, code)]
        env.reset()
    assert len(hub.bodies("/v1/envs/echo/sessions")) == 3


def test_a_session_whose_worker_died_is_replaced_by_the_next_reset(hub: Hub) -> None:
    with hub.make("echo") as env:
        env.reset()
        lost = env.session_id
        with pytest.raises(envhub_sdk.ApiError) as caught:
            env.step("exit")
        assert isinstance(caught.value, envhub_sdk.SessionGone | envhub_sdk.EpisodeLost)
        env.reset()
        assert env.step("on we go")[0] == "on we go"
        assert (env.session_id != lost) == isinstance(caught.value, envhub_sdk.SessionGone)


def test_an_answer_for_another_step_is_not_taken_for_this_one(scripts: Any) -> None:
    hub = scripts.hub()
    with hub.client() as client:
        env = client.make("echo")
        env.reset()
        hub.script.append(httpx.Response(200, json=scripts.step(4)))
        with pytest.raises(envhub_sdk.UnexpectedAnswer, match="step 4 when asked for step 0"):
            env.step("x")


def test_an_environment_of_unknown_spaces_is_refused_at_make(scripts: Any) -> None:
    hub = scripts.hub(env=scripts.env(observation={"description": "", "space": None}))
    with hub.client() as client, pytest.raises(ValueError, match="observation space of 'echo'"):
        client.make("echo")


async def test_the_asynchronous_twin_plays_alike(url: str, hub: Hub) -> None:
    async with AsyncHub(url) as client, await client.make("CartPole-v1", seed=2) as twin:
        with hub.make("CartPole-v1", seed=2) as env:
            for _ in range(2):
                np.testing.assert_array_equal((await twin.reset())[0], env.reset()[0])
            for action in (1, 0, 1):
                seen, expected = await twin.step(action), env.step(action)
                np.testing.assert_array_equal(seen[0], expected[0])
                assert seen[1:] == expected[1:]
            assert (await twin.trajectory()).actions == env.trajectory().actions
            assert twin.episode_seed == env.episode_seed
            with pytest.raises(envhub_sdk.NotJson):
                await twin.render()
        assert twin.session_id is not None
    assert twin.session_id is None
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        await twin.reset()


async def test_the_asynchronous_twin_replaces_a_session_that_is_gone(scripts: Any) -> None:
    hub = scripts.hub()
    async with hub.async_client() as client, await client.make("echo") as env:
        await env.reset()
        hub.script.append(scripts.error(410, "session_closed"))
        with pytest.raises(envhub_sdk.SessionClosed):
            await env.step("x")
        await env.reset()
        hub.script.append(scripts.error(404, "unknown_session"))
        await env.reset()
    assert len(hub.bodies("/v1/envs/echo/sessions")) == 3
