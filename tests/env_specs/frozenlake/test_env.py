"""Playing FrozenLake: observations, moves, endings, tasks, states."""

import json
from typing import Any

import gymnasium
import pytest
from envhub_frozenlake import FrozenLakeEnv, Tasks
from envhub_frozenlake.actions import ACTIONS
from envhub_frozenlake.errors import InvalidAction, InvalidOptions, UnknownTask
from hypothesis import given, settings
from hypothesis import strategies as st

from envhub.spec import find

TASKS = Tasks()
LAKE = ["SFH", "FFG"]


def lake(desc: "list[str]" = LAKE) -> FrozenLakeEnv:
    env = FrozenLakeEnv(shared=TASKS)
    env.reset(seed=0, options={"task": {"desc": desc}})
    return env


def test_the_observation_is_the_exact_grid_text() -> None:
    env = lake()
    assert env.render() == " P \t _ \t O \t\n _ \t _ \t G \t"
    assert env.step("right")[0] == " _ \t P \t O \t\n _ \t _ \t G \t"
    assert env.step("right")[0] == " _ \t _ \t X \t\n _ \t _ \t G \t"
    env = lake()
    for move in ("down", "right", "right"):
        observation, *_ = env.step(move)
    assert observation == " _ \t _ \t O \t\n _ \t _ \t √ \t"


def test_the_goal_ends_the_episode_with_the_reward() -> None:
    env = lake()
    env.step("down")
    assert env.step("```Right```")[1:4] == (0.0, False, False)
    _, reward, terminated, truncated, info = env.step("Goal ahead: ```Right```")
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert info == {
        "valid_action": True,
        "action_is_effective": True,
        "terminate_reason": "success",
        "success": True,
        "available_actions": list(ACTIONS),
    }


def test_a_hole_ends_the_episode_without_a_reward() -> None:
    env = lake()
    env.step("right")
    _, reward, terminated, _, info = env.step("right")
    assert (reward, terminated, info["terminate_reason"], info["success"]) == (0.0, True, "hole", False)


def test_the_edge_stops_the_player_and_nothing_else_happens() -> None:
    env = lake()
    before = env.render()
    observation, reward, terminated, _, info = env.step("up")
    assert (observation, reward, terminated) == (before, 0.0, False)
    assert (info["valid_action"], info["action_is_effective"]) == (True, False)


def test_a_text_without_a_move_stands_still() -> None:
    env = lake()
    before = env.render()
    observation, reward, terminated, _, info = env.step("I would go right")
    assert (observation, reward, terminated) == (before, 0.0, False)
    assert (info["valid_action"], info["action_is_effective"]) == (False, False)


def test_what_cannot_be_a_step_is_refused() -> None:
    with pytest.raises(InvalidAction, match="no episode yet"):
        FrozenLakeEnv(shared=TASKS).step("up")
    env = lake(["SG"])
    with pytest.raises(InvalidAction, match="text, not int"):
        env.step(2)  # type: ignore[arg-type]
    env.step("right")
    with pytest.raises(InvalidAction, match="over"):
        env.step("right")


@given(
    seed=st.integers(0, 10**6),
    size=st.integers(2, 7),
    moves=st.lists(st.sampled_from(ACTIONS), max_size=20),
)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_every_move_ends_where_gymnasiums_frozenlake_ends(seed: int, size: int, moves: "list[str]") -> None:
    env = FrozenLakeEnv(shared=TASKS)
    env.reset(options={"task": {"seed": seed, "size": size, "p": 0.75}})
    desc = env.get_state()["desc"]
    reference = gymnasium.make("FrozenLake-v1", desc=desc, is_slippery=False).unwrapped
    reference.reset(seed=seed)
    # Gymnasium starts at a drawn S; there is one, so both start at the same cell.
    for move in moves:
        _, reward, terminated, _, _ = env.step(move)
        position, their_reward, their_end, _, _ = reference.step(ACTIONS.index(move))
        state = env.get_state()
        assert (state["row"] * size + state["column"], reward, terminated) == (
            position,
            their_reward,
            their_end,
        )
        if terminated:
            break


@given(
    seed=st.integers(0, 2**40), actions=st.lists(st.sampled_from(ACTIONS) | st.text(max_size=8), max_size=12)
)
@settings(derandomize=True, deadline=None, max_examples=60)
def test_seed_and_actions_decide_everything_and_states_carry_over(seed: int, actions: "list[str]") -> None:
    first, second, third = (FrozenLakeEnv(shared=TASKS) for _ in range(3))
    assert first.reset(seed=seed) == second.reset(seed=seed)
    for action in actions:
        third.set_state(json.loads(json.dumps(first.get_state())))
        steps = [env.step(action) for env in (first, second, third)]
        assert steps[0] == steps[1] == steps[2]
        assert json.loads(json.dumps(steps[0][4])) == steps[0][4]
        if steps[0][2]:
            break


def test_a_seed_draws_from_the_split() -> None:
    env = FrozenLakeEnv(shared=TASKS)
    drawn = {env.reset(seed=seed, options={"split": "test"})[1]["task"]["id"] for seed in range(200)}
    assert all(task_id.startswith("test-") for task_id in drawn)
    assert len(drawn) > 50
    assert env.reset(seed=3)[1]["task"]["split"] == "train"


def test_a_listed_task_its_id_and_its_parameters_give_the_same_map() -> None:
    env = FrozenLakeEnv(shared=TASKS)
    task = env.tasks("test")[7]
    by_task, info = env.reset(seed=1, options={"task": task})
    assert info["task"] == task
    assert env.reset(seed=2, options={"task": {"id": "test-7"}}) == (by_task, info)
    parameters = {key: task[key] for key in ("seed", "size", "p")}
    assert env.reset(seed=3, options={"task": parameters})[0] == by_task


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        (
            {"task": {"id": "test-100"}},
            UnknownTask,
            "'test-100': there are train-0 to train-9999, test-0 to test-99",
        ),
        ({"task": {}}, UnknownTask, "no task None"),
        ({"task": "test-7"}, InvalidOptions, "a task is an object"),
        ({"split": "dev"}, UnknownTask, "no split 'dev'"),
        ({"split": ["train"]}, UnknownTask, "no split"),
        ({"task": {"seed": 1, "size": 1, "p": 0.7}}, InvalidOptions, "size must be an integer from 2 to 32"),
        ({"task": {"seed": 1, "size": 33, "p": 0.7}}, InvalidOptions, "size must be"),
        ({"task": {"seed": -1, "size": 3, "p": 0.7}}, InvalidOptions, "seed must be"),
        ({"task": {"seed": 1, "size": 3, "p": 1.5}}, InvalidOptions, "p must be a number from 0 to 1"),
        ({"task": {"seed": 1, "size": 3}}, InvalidOptions, "p must be"),
        ({"task": {"desc": ["SF", "G"]}}, InvalidOptions, "equally long rows"),
        ({"task": {"desc": "SG"}}, InvalidOptions, "list of equally long rows"),
        ({"task": {"desc": ["SS", "GF"]}}, InvalidOptions, "one S and a G"),
        ({"task": {"desc": ["SX", "GF"]}}, InvalidOptions, "S, F, H and G"),
        ({"task": {"desc": ["SG" * 17]}}, InvalidOptions, "at most 32"),
        ({"task": {"is_slippery": True}}, InvalidOptions, "task: is_slippery must be false"),
        ({"foo": 1}, InvalidOptions, "no reset option 'foo': there are task and split"),
        ({"splot": "test"}, InvalidOptions, "did you mean 'split'"),
        ({"seed": 3}, InvalidOptions, "did you mean 'seed' inside task"),
        ({"is_slippery": True}, InvalidOptions, "moves are certain"),
        ({"task": {"desc": ["SG"], "is_slippery": True}}, InvalidOptions, "is_slippery must be false"),
    ],
)
def test_a_refused_reset_says_why_and_leaves_the_episode_alone(
    options: "dict[str, Any]", error: "type[Exception]", said: str
) -> None:
    env = lake()
    env.step("right")
    before = env.get_state()
    with pytest.raises(error, match=said):
        env.reset(seed=1, options=options)
    assert env.get_state() == before


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(InvalidOptions, match="seed must not be negative"):
        FrozenLakeEnv(shared=TASKS).reset(seed=-1)


def test_env_max_steps_decides_which_boards_are_used() -> None:
    task = {"seed": 3, "size": 8, "p": 0.7}
    boards = set()
    for depth in (1, 8, 40):
        env = FrozenLakeEnv(shared=TASKS, env_max_steps=depth)
        boards.add(env.reset(options={"task": task})[0])
    assert len(boards) > 1
    with pytest.raises(InvalidOptions, match="env_max_steps"):
        FrozenLakeEnv(shared=TASKS, env_max_steps=-1)


def test_the_spec_and_the_class_agree() -> None:
    spec = find("frozenlake")
    config = spec.resolve().config
    env = FrozenLakeEnv(shared=FrozenLakeEnv.load_shared(dict(config)), **config)
    assert [len(env.tasks(split)) for split in spec.splits] == [10000, 100]
    assert spec.limits.max_episode_steps == 10
    assert env.data_info()["name"] == "frozenlake-10000-100-6"
    assert env.data_info()["digest"].startswith("sha256:")
    assert env.available_actions() == list(ACTIONS)
