"""Snapshots of the environment: others go on from them as the first one does, to the same score."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from envhub_os import OSEnv

Bash = Callable[[str], str]


@pytest.fixture
def made(machine: None, request: pytest.FixtureRequest) -> Callable[..., OSEnv]:
    """Make environments that are closed with the test."""

    def make(**settings: Any) -> OSEnv:
        env = OSEnv(**settings)
        request.addfinalizer(env.close)
        return env

    return make


def moved(env: OSEnv, other: OSEnv) -> Any:
    """Bring another environment to where one stands, by way of JSON; return the state."""
    state = json.loads(json.dumps(env.get_state()))
    other.set_state(state)
    return state


@pytest.mark.parametrize(
    "task",
    [
        "files-find-text-0",
        "permissions-world-writable-0",
        "users-create-0",
        "archives-pack-0",
        "git-revert-0",
        "text-top-word-0",
    ],
)
@pytest.mark.parametrize("form", ["classic", "tools"])
def test_a_solution_is_finished_by_others(made: Callable[..., OSEnv], task: str, form: str) -> None:
    one, other = made(expert=True, actions=form), made(expert=True, actions=form)
    _, info = one.reset(seed=1, options={"task": {"id": task}})
    for _ in range(8):
        assert moved(one, other) is not None
        seen = [env.step(info["expert_action"]) for env in (one, other)]
        assert seen[0] == seen[1]
        _, reward, terminated, _, info = seen[0]
        if terminated:
            assert reward == 1.0
            return
        one, other = other, one
    pytest.fail("there was no end")


def test_an_end_is_a_state_too(made: Callable[..., OSEnv], bash: Bash) -> None:
    one, other = made(), made()
    other.reset(seed=2)
    one.reset(seed=1)
    one.step("Act: finish")
    assert moved(one, other) == {"task": None}
    assert other.render() == one.render() == "no episode"


def test_what_runs_in_the_background_gives_no_state(made: Callable[..., OSEnv], bash: Bash) -> None:
    env = made()
    env.reset(seed=1, options={"task": {"id": "files-find-text-0"}})
    env.step(bash("sleep 1000 & X=1"))
    assert env.get_state() is None
    observation, *_ = env.step(bash("kill %1; wait; unset X; true & wait; echo $X done"))
    assert "done" in observation
    assert env.get_state() is None  # $! is known
    env.step(bash("exit"))
    assert env.get_state() is not None


def test_a_wrong_answer_stays_one(made: Callable[..., OSEnv], bash: Bash) -> None:
    one, other = made(), made()
    one.reset(seed=1, options={"task": {"id": "files-find-text-0"}})
    moved(one, other)
    assert other.step("Act: answer(nothing)")[1:3] == one.step("Act: answer(nothing)")[1:3] == (0.0, True)
