import subprocess
import sys
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec

import envhub_sdk
from envhub_sdk import Env, Hub, VectorEnv, _registration


@pytest.fixture(autouse=True)
def where(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENVHUB_URL", url)


@pytest.mark.parametrize("name", ["echo", "frozenlake", "webshop"])
def test_importing_the_sdk_registers_the_bundled_environments(name: str) -> None:
    with gymnasium.make(f"envhub/{name}") as env:
        assert isinstance(env.unwrapped, Env)
        observation, _ = env.reset(seed=1)
        assert observation in env.observation_space
        env.step(env.action_space.sample())
        assert env.spec is not None and env.spec.id == f"envhub/{name}"


def test_the_module_form_needs_no_import() -> None:
    code = "import gymnasium; print(gymnasium.make('envhub_sdk:envhub/echo').reset()[0] == '')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_arguments_reach_the_environment(url: str) -> None:
    with gymnasium.make("envhub/webshop", url=url, split="test", seed=3) as env:
        _, info = env.reset()
        assert info["task"]["split"] == "test"


def test_make_vec_uses_one_request_a_step() -> None:
    envs = gymnasium.make_vec("envhub/echo", num_envs=3)
    assert isinstance(envs, VectorEnv) and envs.num_envs == 3
    envs.reset()
    assert envs.step(("a", "b", "c"))[0] == ("a", "b", "c")
    envs.close()
    modes = gymnasium.make_vec("envhub/echo", num_envs=2, autoreset_mode="SameStep")
    assert modes.metadata["autoreset_mode"] is gymnasium.vector.AutoresetMode.SAME_STEP
    modes.close()


def test_make_vec_can_use_single_environments_too() -> None:
    envs = gymnasium.make_vec("envhub/echo", num_envs=2, vectorization_mode="sync")
    envs.reset()
    assert envs.step(("a", "b"))[0] == ("a", "b")
    envs.close()


def test_everything_a_hub_serves_can_be_registered(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENVHUB_URL")
    ids = envhub_sdk.register_envs(hub)
    assert "envhub/CartPole-v1" in ids
    with gymnasium.make("envhub/CartPole-v1") as env, gymnasium.make("CartPole-v1") as local:
        np.testing.assert_array_equal(env.reset(seed=1)[0], local.reset(seed=1)[0])
    assert envhub_sdk.register_envs(["made-up"]) == ["envhub/made-up"]
    with pytest.raises(envhub_sdk.UnknownEnv):
        gymnasium.make("envhub/made-up", url=hub.url)
    envhub_sdk.register_envs(_registration.BUNDLED)


def test_environments_of_gymnasium_share_a_client_and_the_last_closes_it() -> None:
    envs = [gymnasium.make("envhub/echo") for _ in range(3)]
    hubs = {env.unwrapped._hub for env in envs}  # type: ignore[attr-defined]
    assert len(hubs) == 1 and len(_registration._hubs) == 1
    for env in envs:
        env.reset()
        env.close()
        env.close()
    assert _registration._hubs == {} and hubs.pop()._client.is_closed


def test_a_vector_environments_spec_makes_it_again(hub: Hub) -> None:
    envs = hub.make_vec("frozenlake", 2, split="test", autoreset_mode="SameStep")
    assert envs.spec is not None
    again = gymnasium.make_vec(envs.spec)
    assert (again.num_envs, again.metadata["autoreset_mode"].value) == (2, "SameStep")
    assert again.reset()[1]["task"]["split"].tolist() == ["test"] * 2
    again.close()
    envs.close()


def test_processes_of_their_own_work_too() -> None:
    envs = gymnasium.make_vec(
        "envhub/frozenlake", 2, vectorization_mode="async", vector_kwargs={"shared_memory": False}
    )
    observations, _ = envs.reset(seed=1)
    assert observations in envs.observation_space
    envs.close()


def test_a_spec_makes_the_environment_again(hub: Hub) -> None:
    with hub.make("webshop", split="test") as env:
        assert env.spec is not None
        again: Any = env.spec.make()
        assert again.reset(seed=1)[1]["task"]["split"] == "test"
        again.close()
    with gymnasium.make("envhub/echo") as registered:
        assert registered.spec is not None
        read = EnvSpec.from_json(registered.spec.to_json())
        with gymnasium.make(read) as copy:
            assert copy.reset()[0] == ""
