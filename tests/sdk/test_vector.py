import re
from collections.abc import Iterator
from typing import Any

import gymnasium
import httpx
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import envhub_sdk
from envhub_sdk import Hub, VectorEnv


class Seeded(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment whose episodes have given seeds."""

    def __init__(self, env: gymnasium.Env[Any, Any], seeds: Iterator[int]) -> None:
        super().__init__(env)
        self._seeds = seeds

    def reset(self, **kwargs: Any) -> tuple[Any, dict[str, Any]]:
        return super().reset(seed=next(self._seeds))


def _play(envs: Any, name: str, mode: AutoresetMode, steps: int) -> tuple[list[Any], list[list[Any]]]:
    """Play random actions; return everything seen and the seeds of each sub-environment's episodes."""
    random = np.random.default_rng(0)
    moves = np.array(["left", "down", "right", "up"])
    seen: list[Any] = [envs.reset(seed=10)]
    seeds = [[seed] for seed in envs.episode_seeds] if isinstance(envs, VectorEnv) else []
    for _ in range(steps):
        drawn = random.integers(2 if name == "CartPole-v1" else 4, size=2)
        actions = drawn if name == "CartPole-v1" else tuple(moves[drawn].tolist())
        observations, rewards, terminations, truncations, infos = envs.step(actions)
        seen.append((observations, rewards, terminations, truncations, infos))
        done = terminations | truncations
        if mode is AutoresetMode.DISABLED and done.any():
            seen.append(envs.reset(options={"reset_mask": done}))
        for own, seed in zip(seeds, getattr(envs, "episode_seeds", ()), strict=False):
            if seed != own[-1]:
                own.append(seed)
    return seen, seeds


def _assert_same(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            _assert_same(one[key], other[key])
    elif isinstance(one, tuple | list):
        for left, right in zip(one, other, strict=True):
            _assert_same(left, right)
    elif isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        if one.dtype == object:
            _assert_same(list(one), list(other))
        else:
            np.testing.assert_array_equal(one, other)
    else:
        assert one == other


@pytest.mark.parametrize("name", ["CartPole-v1", "frozenlake"])
@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_every_autoreset_mode_is_that_of_gymnasiums_own_vector_environment(
    hub: Hub, mode: AutoresetMode, name: str
) -> None:
    """CartPole is compared with Gymnasium's own, FrozenLake with single environments of the hub."""
    envs = hub.make_vec(name, 2, autoreset_mode=mode)
    assert envs.metadata["autoreset_mode"] is mode
    seen, seeds = _play(envs, name, mode, 100)
    envs.close()
    assert all(len(own) > 3 for own in seeds)

    def single(i: int) -> gymnasium.Env[Any, Any]:
        env = gymnasium.make(name, disable_env_checker=True) if name == "CartPole-v1" else hub.make(name)
        return Seeded(env, iter([*seeds[i], 0]))

    local = SyncVectorEnv([lambda: single(0), lambda: single(1)], autoreset_mode=mode)
    expected, _ = _play(local, name, mode, 100)
    local.close()
    _assert_same(seen, expected)


def test_spaces_are_batched_as_gymnasium_does(hub: Hub) -> None:
    envs, local = hub.make_vec("CartPole-v1", 4), gymnasium.make_vec("CartPole-v1", 4)
    assert envs.observation_space == local.observation_space
    assert envs.action_space == local.action_space
    assert envs.single_action_space == local.single_action_space
    assert isinstance(envs, gymnasium.vector.VectorEnv)
    local.close()


def test_texts_come_as_a_tuple_and_infos_in_vector_form(hub: Hub) -> None:
    envs = hub.make_vec("frozenlake", 2)
    observations, infos = envs.reset(seed=4)
    assert isinstance(observations, tuple) and observations in envs.observation_space
    assert infos["task"]["id"].dtype == object and infos["_task"].tolist() == [True, True]
    observations, rewards, terminations, truncations, infos = envs.step(("left", "nonsense"))
    assert isinstance(observations, tuple) and rewards.dtype == np.float64
    assert terminations.dtype == truncations.dtype == np.bool_
    assert infos["valid_action"].tolist() == [True, False] and infos["_valid_action"].all()
    envs.close()
    envs.close()
    with pytest.raises(gymnasium.error.ClosedEnvironmentError):
        envs.reset()


def test_a_run_that_began_with_a_seed_is_reproducible(hub: Hub) -> None:
    runs = []
    for _ in range(2):
        envs = hub.make_vec("CartPole-v1", 2)
        runs.append(_play(envs, "CartPole-v1", AutoresetMode.NEXT_STEP, 80))
        envs.close()
    _assert_same(runs[0], runs[1])


def test_tasks_can_be_given_for_each(hub: Hub) -> None:
    tasks = hub.tasks("webshop", "test", limit=3)
    envs = hub.make_vec("webshop", 3)
    for _ in range(2):  # opened, then reset
        _, infos = envs.reset(options={"tasks": tasks})
        assert infos["task"]["id"].tolist() == [task["id"] for task in tasks]
    envs.close()


def test_the_split_holds_for_the_episodes_that_follow_by_themselves(hub: Hub) -> None:
    envs = hub.make_vec("frozenlake", 1, split="test", autoreset_mode="SameStep", seed=1)
    _, infos = envs.reset()
    assert infos["task"]["split"].tolist() == ["test"]
    done, first = False, infos["task"]["id"].tolist()
    while not done:
        _, _, terminations, truncations, infos = envs.step(("left",))
        done = bool(terminations[0] or truncations[0])
    assert infos["task"]["split"].tolist() == ["test"]
    assert infos["task"]["id"].tolist() != first
    envs.close()


def test_wrong_arguments_are_refused(hub: Hub) -> None:
    envs = hub.make_vec("CartPole-v1", 4)
    with pytest.raises(ValueError, match="first reset must be of every"):
        envs.reset(options={"reset_mask": np.array([True, False, False, False])})
    with pytest.raises(ValueError, match="seed has 2 entries for 4"):
        envs.reset(seed=[1, 2])
    with pytest.raises(ValueError, match="must have a task for every"):
        envs.reset(options={"tasks": ["a", None, "b", "c"]})
    with pytest.raises(envhub_sdk.NoEpisode):
        envs.step(np.zeros(4, int))
    envs.reset()
    for mask in ([True] * 4, np.ones(4), np.ones(3, np.bool_)):
        with pytest.raises(TypeError, match="reset_mask"):
            envs.reset(options={"reset_mask": mask})
    with pytest.raises(ValueError, match="chooses no sub-environment"):
        envs.reset(options={"reset_mask": np.zeros(4, np.bool_)})
    with pytest.raises(ValueError, match=r"4 actions is needed.*these are 3"):
        envs.step(np.zeros(3, int))
    envs.close()
    with pytest.raises(ValueError, match="at least one"):
        hub.make_vec("echo", 0)


def test_with_autoreset_disabled_an_ended_episode_is_not_stepped(hub: Hub) -> None:
    envs = hub.make_vec("echo", 2, autoreset_mode=AutoresetMode.DISABLED)
    envs.reset()
    for _ in range(3):
        *_, terminations, _, _ = envs.step(("x", "y"))
    assert terminations.all()
    with pytest.raises(envhub_sdk.EpisodeOver, match=r"\[0, 1\]"):
        envs.step(("x", "y"))
    envs.close()


# -- sub-environments that fail ---------------------------------------------------------------------


def _indices(hub: Hub, envs: VectorEnv) -> list[int]:
    states = {state.id: state.step_index for state in hub.sessions()}
    return [states[session] for session in envs.session_ids if session is not None]


def test_one_that_fails_is_named_and_the_others_are_stepped_once(hub: Hub) -> None:
    envs = hub.make_vec("echo", 3, autoreset_mode=AutoresetMode.SAME_STEP)
    envs.reset()
    with pytest.raises(envhub_sdk.BatchError, match="1: environment_error") as caught:
        envs.step(("a", "fail", "c"))
    assert list(caught.value.errors) == [1]
    assert isinstance(caught.value.errors[1], envhub_sdk.EnvironmentFailed)
    observations, rewards, terminations, _, _ = caught.value.partial
    assert observations == ("a", "", "c")
    np.testing.assert_array_equal(rewards, [0.0, np.nan, 0.0])
    assert not terminations.any()
    with pytest.raises(envhub_sdk.BatchError) as again:
        envs.step(("a", "fail", "c"))
    assert isinstance(again.value.errors[1], envhub_sdk.EpisodeFailed)
    assert _indices(hub, envs)[0] == _indices(hub, envs)[2] == 1
    with pytest.raises(ValueError, match="sub-environment 0 has taken this step already"):
        envs.step(("other", "b", "c"))
    observations, _ = envs.reset(options={"reset_mask": np.array([False, True, False])})
    assert observations == ("a", "", "c")
    observations, rewards, *_ = envs.step(("d", "e", "f"))
    assert observations == ("d", "e", "f") and not np.isnan(rewards).any()
    assert _indices(hub, envs) == [2, 1, 2]
    envs.close()


def test_those_whose_worker_died_are_named_and_replaced(hub: Hub) -> None:
    envs = hub.make_vec("echo", 4)
    envs.reset()
    with pytest.raises(envhub_sdk.BatchError) as caught:
        envs.step(("a", "exit", "c", "d"))
    failed = np.isin(np.arange(4), list(caught.value.errors))
    assert failed[1]
    observations, _ = envs.reset(options={"reset_mask": failed})
    assert [text for text, lost in zip(observations, failed, strict=True) if lost] == [""] * failed.sum()
    observations, rewards, *_ = envs.step(("e", "f", "g", "h"))
    assert observations == ("e", "f", "g", "h") and not np.isnan(rewards).any()
    envs.close()


def _items(hub: Any) -> list[list[tuple[Any, ...]]]:
    keys = ("session_id", "action", "step_index", "episode_id")
    return [[tuple(item[key] for key in keys) for item in body["steps"]] for body in hub.bodies("/v1/step")]


def _results(*results: dict[str, Any]) -> httpx.Response:
    return httpx.Response(200, json={"results": list(results)})


BUSY = {"error": {"code": "queue_full", "message": "no worker"}}


def test_a_repeated_step_asks_only_those_that_have_not_answered(scripts: Any) -> None:
    hub = scripts.hub()
    with hub.client() as client:
        envs = client.make_vec("echo", 3)
        envs.reset()
        hub.script.append(_results(scripts.step(0), BUSY, scripts.step(0)))
        with pytest.raises(envhub_sdk.BatchError) as caught:
            envs.step(("a", "b", "c"))
        assert caught.value.retryable
        hub.script.append(_results(scripts.step(0, reward=5.0)))
        observations, rewards, *_ = envs.step(("a", "b", "c"))
        assert observations == ("o0", "o0", "o0") and rewards.tolist() == [1.0, 5.0, 1.0]
        hub.script.append(_results(*[scripts.step(1)] * 3))
        envs.step(("d", "e", "f"))
    first, second, third = _items(hub)
    assert [item[:3] for item in first] == [("s0", "a", 0), ("s1", "b", 0), ("s2", "c", 0)]
    assert second == [("s1", "b", 0, "e0")]
    assert [item[2] for item in third] == [1, 1, 1]


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_an_episode_that_ends_while_another_fails_is_shown_once(scripts: Any, mode: AutoresetMode) -> None:
    hub = scripts.hub()
    with hub.client() as client:
        envs = client.make_vec("echo", 2, autoreset_mode=mode)
        envs.reset()
        hub.script.append(_results(scripts.step(0, ended=True, reset=scripts.start(1)), BUSY))
        with pytest.raises(envhub_sdk.BatchError):
            envs.step(("a", "b"))
        hub.script.append(_results(scripts.step(0)))
        observations, _, terminations, _, infos = envs.step(("a", "b"))
        assert terminations.tolist() == [True, False]
        if mode is AutoresetMode.SAME_STEP:
            assert observations == ("start", "o0") and infos["final_obs"].tolist() == ["o0", None]
            hub.script.append(_results(scripts.step(0), scripts.step(1)))
        else:
            assert observations == ("o0", "o0")
            hub.script.append(_results(BUSY))
            with pytest.raises(envhub_sdk.BatchError) as caught:  # 0 shows its new episode, 1 fails
                envs.step(("c", "d"))
            assert caught.value.partial[0] == ("start", "o0")
            hub.script.append(_results(scripts.step(1)))
            observations, rewards, *_ = envs.step(("c", "d"))
            assert observations == ("start", "o1") and rewards.tolist() == [0.0, 1.0]
            hub.script.append(_results(scripts.step(0), scripts.step(2)))
        envs.step(("e", "f"))
    assert _items(hub)[-1][0][2:] == (0, "e1")


def test_a_step_without_any_answer_can_be_repeated(scripts: Any) -> None:
    hub = scripts.hub()
    with hub.client(retries=0) as client:
        envs = client.make_vec("echo", 2)
        envs.reset()
        hub.script.append(httpx.ReadError("cut"))
        with pytest.raises(envhub_sdk.AnswerLost):
            envs.step(("a", "b"))
        hub.script.append(_results(scripts.step(0), scripts.step(0)))
        envs.step(("a", "b"))
    first, second = _items(hub)
    assert first == second


def test_an_episode_the_hub_could_not_follow_up_is_reset_by_the_client(scripts: Any) -> None:
    hub = scripts.hub()
    with hub.client() as client:
        envs = client.make_vec("echo", 2, autoreset_mode=AutoresetMode.SAME_STEP)
        envs.reset()
        hub.script += [_results(scripts.step(0), scripts.step(0, ended=True)), _results(scripts.start(1))]
        observations, *_, infos = envs.step(("a", "b"))
        assert observations == ("o0", "start") and infos["final_obs"].tolist() == [None, "o0"]
    assert [item["session_id"] for item in hub.bodies("/v1/reset")[0]["resets"]] == ["s1"]


def test_a_session_that_is_gone_is_opened_anew_by_its_reset(scripts: Any) -> None:
    hub = scripts.hub()
    gone = {"error": {"code": "session_lost", "message": "worker died"}}
    with hub.client() as client:
        envs = client.make_vec("echo", 2)
        envs.reset()
        hub.script.append(_results(scripts.step(0), gone))
        with pytest.raises(envhub_sdk.BatchError) as caught:
            envs.step(("a", "b"))
        assert isinstance(caught.value.errors[1], envhub_sdk.SessionLost)
        with pytest.raises(envhub_sdk.BatchError, match="1: no_episode"):
            envs.step(("a", "b"))
        observations, _ = envs.reset(options={"reset_mask": np.array([False, True])})
        assert observations == ("o0", "start")
        hub.script.append(_results(gone))
        envs.reset(options={"reset_mask": np.array([True, False])})
    assert [body["count"] for body in hub.bodies("/v1/envs/echo/sessions")] == [2, 1, 1]


def test_a_reset_that_fails_names_the_sub_environments(scripts: Any) -> None:
    hub = scripts.hub()
    with hub.client() as client:
        envs = client.make_vec("echo", 2)
        envs.reset()
        refused = {"error": {"code": "unknown_task", "message": "no such task"}}
        hub.script.append(_results(scripts.start(1), refused))
        with pytest.raises(envhub_sdk.BatchError, match="1: unknown_task") as caught:
            envs.reset(options={"tasks": ["a", "b"]})
        assert caught.value.partial is None and not caught.value.retryable


def test_results_that_fit_nothing_are_refused(scripts: Any) -> None:
    hub = scripts.hub()
    with hub.client() as client:
        envs = client.make_vec("echo", 2)
        envs.reset()
        hub.script.append(_results(scripts.step(0)))
        with pytest.raises(envhub_sdk.UnexpectedAnswer, match="1 results for 2 items"):
            envs.step(("a", "b"))
        hub.script.append(_results(scripts.step(0), {"what": "is this"}))
        with pytest.raises(envhub_sdk.BatchError, match="1: unexpected_answer"):
            envs.step(("a", "b"))


def test_one_request_a_step(scripts: Any) -> None:
    hub = scripts.hub()
    with hub.client() as client:
        envs = client.make_vec("echo", 64)
        envs.reset()
        for index in range(3):
            hub.script.append(_results(*[scripts.step(index)] * 64))
            envs.step(["x"] * 64)
    assert [request.url.path for request in hub.requests[:4]] == ["/v1/envs/echo/sessions", *["/v1/step"] * 3]


def test_sub_environments_are_rendered_one_by_one(hub: Hub) -> None:
    envs = hub.make_vec("echo", 2)
    envs.reset()
    envs.step(("a", "b"))
    assert envs.render() == ("a", "b")
    envs.close()


@pytest.mark.parametrize("actions", ["search[a]", 5])
def test_one_action_for_all_is_refused_clearly(scripts: Any, actions: Any) -> None:
    with scripts.hub().client() as client:
        envs = client.make_vec("echo", 3)
        envs.reset()
        wanted = rf"list of 3 actions is needed.* one {type(actions).__name__}: {re.escape(repr(actions))}"
        with pytest.raises(TypeError, match=wanted):
            envs.step(actions)


@pytest.mark.parametrize("tasks", [5, "a-b", {"id": "a"}])
def test_one_task_for_all_is_refused_clearly(scripts: Any, tasks: Any) -> None:
    with scripts.hub().client() as client:
        with pytest.raises(TypeError, match=r"options\['tasks'\] is .*: give a list"):
            client.make_vec("echo", 3).reset(options={"tasks": tasks})
