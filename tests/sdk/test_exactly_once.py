"""A connection that breaks after a request arrived and before its answer did."""

from typing import Any

import numpy as np
import pytest

import envhub_sdk
from envhub_sdk import AsyncHub, Hub

STEP = b"/step"


def _state(hub: Hub, session: str | None) -> Any:
    return next(state for state in hub.sessions() if state.id == session)


def test_a_step_whose_answer_is_lost_is_taken_once(proxy: Any, hub: Hub) -> None:
    with Hub(proxy.url) as client, client.make("CartPole-v1") as env, hub.make("CartPole-v1") as twin:
        env.reset(seed=1)
        twin.reset(seed=1)
        proxy.only, proxy.cut = STEP, 2
        for action in (0, 1, 1, 0):
            seen, expected = env.step(action), twin.step(action)
            np.testing.assert_array_equal(seen[0], expected[0])
        assert proxy.swallowed == 2
        assert _state(hub, env.session_id).step_index == 4
        assert env.trajectory().actions == [0, 1, 1, 0]


def test_a_step_that_failed_for_good_can_be_asked_for_again(proxy: Any, hub: Hub) -> None:
    with Hub(proxy.url, retries=0) as client, client.make("echo") as env:
        env.reset()
        proxy.only, proxy.cut = STEP, 1
        with pytest.raises(envhub_sdk.AnswerLost) as lost:
            env.step("once")
        assert lost.value.retryable and lost.value.session == env.session_id
        with pytest.raises(envhub_sdk.StepIndexConflict):
            env.step("another")
        assert env.step("once")[0] == "once"
        assert _state(hub, env.session_id).step_index == 1


def test_a_batch_whose_answer_is_lost_is_taken_once_with_its_resets(proxy: Any, hub: Hub) -> None:
    """The third step ends the echo episodes, so its lost answer holds the next ones' starts."""
    with Hub(proxy.url) as client:
        envs = client.make_vec("echo", 3, autoreset_mode="SameStep")
        envs.reset(seed=1)
        proxy.only = STEP
        for text in ("a", "b", "c"):
            proxy.cut = 1
            observations, rewards, terminations, _, infos = envs.step((text,) * 3)
        assert proxy.swallowed == 3
        assert terminations.all() and rewards.tolist() == [1.0] * 3
        assert observations == ("", "", "") and infos["final_obs"].tolist() == ["c"] * 3
        for session in envs.session_ids:
            state = _state(hub, session)
            assert state.step_index == 0 and state.episode_id.endswith(".2")
        envs.step(("d",) * 3)
        envs.close()


def test_a_reset_whose_answer_is_lost_starts_the_same_episode(proxy: Any) -> None:
    with Hub(proxy.url) as client, client.make("CartPole-v1") as env:
        env.reset(seed=1)
        expected = [env.reset()[0].tolist() for _ in range(3)]
        env.reset(seed=1)
        proxy.only = b"/reset"
        seen = []
        for _ in range(3):
            proxy.cut = 1
            seen.append(env.reset()[0].tolist())
        assert proxy.swallowed == 3
        assert seen == expected


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_a_run_over_a_bad_connection_is_the_run_over_a_good_one(url: str, proxy: Any, mode: str) -> None:
    runs = []
    for where, cuts in ((url, (0,)), (proxy.url, (0, 0, 1, 2, 3))):
        draw, losses = np.random.default_rng(5), np.random.default_rng(6)
        seen: list[Any] = []
        with Hub(where) as client:
            envs = client.make_vec("CartPole-v1", 4, autoreset_mode=mode)
            seen.append(envs.reset(seed=0))
            for _ in range(60):
                proxy.cut = int(losses.choice(cuts))
                observations, rewards, terminations, truncations, infos = envs.step(draw.integers(2, size=4))
                seen.append((observations, rewards, terminations, truncations, infos))
                done = terminations | truncations
                if mode == "Disabled" and done.any():
                    seen.append(envs.reset(options={"reset_mask": done}))
            proxy.cut = 0
            envs.close()
        runs.append(seen)
    assert str(runs[0]) == str(runs[1])
    assert proxy.swallowed > 50


async def test_the_asynchronous_twin_steps_once_too(proxy: Any, hub: Hub) -> None:
    async with AsyncHub(proxy.url) as client, await client.make("echo") as env:
        await env.reset()
        proxy.only, proxy.cut = STEP, 1
        assert (await env.step("once"))[0] == "once"
        assert proxy.swallowed == 1
        assert _state(hub, env.session_id).step_index == 1
