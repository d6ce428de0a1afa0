"""The environment over the embedded games."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from envhub_alfworld import AlfworldEnv
from envhub_alfworld.data import Library
from envhub_alfworld.errors import DataError, EpisodeOver, InvalidAction, InvalidOptions, UnknownTask

from envhub.spec import load

SPEC = Path(__file__).resolve().parents[3] / "env_specs" / "alfworld"

Make = Callable[..., AlfworldEnv]


@pytest.fixture
def make(library: Library) -> Make:
    """Makes an environment over the embedded games."""
    return lambda **config: AlfworldEnv(library, **config)


def won(env: AlfworldEnv, info: dict[str, Any]) -> list[Any]:
    """Let the expert play to the end; returns the results of all steps."""
    results: list[Any] = []
    while not results or not results[-1][2]:
        results.append(env.step(info["expert_action"]))
        info = results[-1][4]
    return results


def test_the_spec_declares_what_the_class_takes(make: Make) -> None:
    spec = load(SPEC)
    config = spec.resolve({}).config
    env = AlfworldEnv(**config)
    assert env.reset(seed=3) == make().reset(seed=3)
    assert spec.limits.max_episode_steps == 50


def test_an_episode_begins_with_room_and_task(make: Make) -> None:
    observation, info = make().reset(seed=1)
    assert observation.startswith("-= Welcome to TextWorld, ALFRED! =-\n\nYou are in the middle of a room.")
    assert observation.endswith(f"\n\nYour task is to: {info['instruction']}")
    assert info["task"]["split"] == "train"
    assert info["task_id"] == info["task"]["id"]
    assert (info["won"], info["goal_condition_success"]) == (False, 0.0)
    assert info["available_actions"] == sorted(info["available_actions"])
    assert {"look", "inventory", "help"} < set(info["available_actions"])
    assert "expert_action" not in info


def test_what_is_not_asked_for_is_not_in_info(make: Make) -> None:
    env = make(admissible_commands=False, expert=True)
    for info in (env.reset(seed=1)[1], env.step("look")[4]):
        assert "available_actions" not in info
        assert isinstance(info["expert_action"], str)
    assert "look" in env.available_actions()


def test_winning_is_rewarded_once(make: Make) -> None:
    env = make(expert=True)
    results = won(env, env.reset(seed=2)[1])
    assert [reward for _, reward, *_ in results] == [0.0] * (len(results) - 1) + [1.0]
    assert results[-1][4]["won"]
    assert [info["success"] for *_, info in results] == [False] * (len(results) - 1) + [True]
    assert results[-1][4]["goal_condition_success"] == 1.0
    assert results[-1][4]["expert_action"] is None


def test_every_info_says_success_so_the_last_one_does_whatever_ends_the_episode(make: Make) -> None:
    env = make()
    assert env.reset(seed=2)[1]["success"] is False
    assert env.step("look")[4]["success"] is False


@pytest.mark.parametrize("mode", ["fixed", "faithful"])
def test_a_command_that_does_nothing_is_no_valid_action(make: Make, mode: str) -> None:
    env = make(mode=mode)
    env.reset(seed=2)
    for command in ("dance", "", "go to moon 1", "take mug 1 from the sky"):
        observation, *_, info = env.step(command)
        assert (observation, info["valid_action"]) == ("Nothing happens.", False)
        assert "no command" in info["reason"]
    for command in ("look", "inventory", env.available_actions()[0]):
        *_, info = env.step(command)
        assert info["valid_action"] is True and "reason" not in info


@pytest.mark.parametrize("seed", range(6))
def test_shaping_pays_for_subgoals_and_costs_steps(make: Make, seed: int) -> None:
    env = make(expert=True, step_penalty=0.01, subgoal_reward=0.5)
    results = won(env, env.reset(seed=seed)[1])
    shares = [0.0, *(info["goal_condition_success"] for *_, info in results)]
    for at, (_, reward, terminated, _, _) in enumerate(results):
        assert reward == pytest.approx(terminated - 0.01 + 0.5 * (shares[at + 1] - shares[at]))
    assert sum(reward for _, reward, *_ in results) == pytest.approx(1.5 - 0.01 * len(results))


def test_a_lost_subgoal_costs_what_it_paid(make: Make) -> None:
    env = make(expert=True, subgoal_reward=1.0)
    task = next(one for one in env.tasks("train") if one["task_type"] == "look_at_obj_in_light")
    _, info = env.reset(options={"task": task})
    while not info["expert_action"].startswith("take"):
        info = env.step(info["expert_action"])[4]
    command = info["expert_action"]
    assert env.step(command)[1] == 0.5
    thing, _, place = command.removeprefix("take ").partition(" from ")
    assert env.step(f"move {thing} to {place}")[1] == -0.5


def test_after_the_win_the_fixed_mode_refuses_and_the_faithful_one_repeats(make: Make) -> None:
    for mode in ("fixed", "faithful"):
        env = make(mode=mode, expert=True)
        last = won(env, env.reset(seed=4)[1])[-1]
        if mode == "fixed":
            with pytest.raises(EpisodeOver, match="reset"):
                env.step("look")
        else:
            assert env.step("look") == last
        assert env.render() == last[0]
        assert env.reset(seed=4)[0] != last[0]


def test_tasks_are_drawn_from_the_seed_and_named_by_id(make: Make) -> None:
    env = make()
    drawn = [env.reset(seed=seed, options={"split": "valid_seen"})[1]["task"] for seed in range(30)]
    assert {task["split"] for task in drawn} == {"valid_seen"}
    assert len({task["id"] for task in drawn}) > 10
    for seed, task in enumerate(drawn):
        assert env.reset(seed=seed, options={"split": "valid_seen"})[1]["task"] == task
        assert env.reset(options={"task": {"id": task["id"]}})[1]["task"] == task


def test_tasks_may_be_of_some_kinds_only() -> None:
    kinds = ["pick_heat_then_place_in_recep", "pick_two_obj_and_place"]
    env = AlfworldEnv(task_types=kinds)
    assert {task["task_type"] for split in ("train", "valid_seen") for task in env.tasks(split)} == set(kinds)
    with pytest.raises(DataError, match="pick_and_run"):
        AlfworldEnv(task_types=["pick_and_run"])


@pytest.mark.parametrize("task", [{}, {"id": "train/none"}, {"id": 3}, {"id": ["train"]}, "train", 7])
def test_unknown_tasks_are_refused(make: Make, task: Any) -> None:
    env = make()
    before = env.reset(seed=5)
    with pytest.raises(UnknownTask, match="there is no task"):
        env.reset(options={"task": task})
    assert env.available_actions() == before[1]["available_actions"], "the running episode went on"


@pytest.mark.parametrize("split", ["test", 3, ["train"], {"train": 1}])
def test_unknown_splits_are_refused(make: Make, split: Any) -> None:
    with pytest.raises(UnknownTask, match="there is no split"):
        make().reset(options={"split": split})
    with pytest.raises(UnknownTask, match="there is no split"):
        make().tasks(split)


def test_unknown_options_and_actions_are_refused(make: Make) -> None:
    env = make()
    with pytest.raises(EpisodeOver, match="reset"):
        env.step("look")
    with pytest.raises(InvalidOptions, match="did you mean split"):
        env.reset(options={"splits": "train"})
    env.reset(seed=1)
    with pytest.raises(InvalidAction, match="a text"):
        env.step(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="there is no mode 'broken'"):
        make(mode="broken")


@pytest.mark.parametrize("steps", [0, 3, 100])
def test_a_snapshot_goes_on_in_another_replica(make: Make, steps: int) -> None:
    config = {"expert": True, "subgoal_reward": 0.3, "mode": "faithful"}
    env, other = make(**config), make(**config)
    _, info = env.reset(seed=6)
    for _ in range(steps):
        info = env.step(info["expert_action"] or "look")[4]
    saved = json.loads(json.dumps(env.get_state()))
    assert len(json.dumps(saved)) < 20_000
    other.reset(seed=9)
    other.set_state(saved)
    assert other.render() == env.render()
    assert other.get_state() == saved
    for _ in range(20):
        command = info["expert_action"] or "look"
        result = env.step(command)
        assert other.step(command) == result
        info = result[4]


def test_data_info_names_the_games(make: Make) -> None:
    info = make().data_info()
    assert info["name"] == "embedded"
    assert info["digest"].startswith("sha256:")
    assert info["games"] == {"train": 200, "valid_seen": 40, "valid_unseen": 40}


PLAY = """
import random
from envhub_alfworld import AlfworldEnv
env = AlfworldEnv(expert=True)
print(env.data_info())
for seed in range(3):
    draw = random.Random(seed)
    seen = [env.reset(seed=seed)]
    for _ in range(40):
        offered = env.available_actions()
        seen.append(env.step(offered[draw.randrange(len(offered))]))
        if seen[-1][2]:
            break
    print(seen, env.get_state())
"""


def test_every_python_plays_the_same(empty_venv: Callable[[str], Path]) -> None:
    """Whatever the hash seed, so no order comes from a set; and with the standard library alone."""
    outputs = [
        subprocess.run(
            [python, "-c", PLAY],
            env={"PYTHONPATH": str(SPEC), "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            timeout=120,
        ).stdout
        for python, seed in ((sys.executable, "1"), (empty_venv("3.9"), "2"), (empty_venv("3.13"), "3"))
    ]
    assert outputs[0] == outputs[1] == outputs[2]
    assert outputs[0]
