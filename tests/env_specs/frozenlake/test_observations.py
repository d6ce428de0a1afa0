"""What is seen: the grid of the original, or coordinates."""

from typing import Any

import pytest
from envhub_frozenlake import FrozenLakeEnv
from envhub_frozenlake.errors import InvalidOptions
from envhub_frozenlake.planner import Planner, read_grid

from envhub.spec import find

LAKE = ["SFH", "FHG"]


def lake(desc: "list[str]", **settings: Any) -> "tuple[FrozenLakeEnv, str]":
    env = FrozenLakeEnv(train_size=1, test_size=60, **settings)
    return env, env.reset(seed=0, options={"task": {"desc": desc}})[0]


def test_coordinates_are_rows_and_columns_from_0_and_follow_the_player() -> None:
    env, observation = lake(LAKE, observation="coordinates")
    assert observation == "size 2x3 you 0,0 goal 1,2 holes 0,2 1,1"
    assert env.step("right")[0] == env.render() == "size 2x3 you 0,1 goal 1,2 holes 0,2 1,1"
    observation, reward, terminated, _, info = env.step("right")
    assert observation == "size 2x3 you 0,2 goal 1,2 holes 0,2 1,1"
    assert (reward, terminated, info["terminate_reason"]) == (0.0, True, "hole")


def test_a_lake_without_holes_says_so_and_each_goal_is_named() -> None:
    assert lake(["SG", "GF"], observation="coordinates")[1] == "size 2x2 you 0,0 goal 0,1 1,0 holes none"


def test_the_grid_is_what_is_seen_by_default() -> None:
    assert find("frozenlake").resolve().config["observation"] == "grid"
    assert lake(LAKE)[1] == lake(LAKE, observation="grid")[1] == " P \t _ \t O \t\n _ \t O \t G \t"


def test_another_observation_is_refused() -> None:
    with pytest.raises(InvalidOptions, match="observation must be one of grid, coordinates, got 'picture'"):
        FrozenLakeEnv(observation="picture")


def test_grid_and_coordinates_show_the_same_and_the_planner_goes_the_same_way() -> None:
    pair = [lake(LAKE, observation=observation)[0] for observation in ("grid", "coordinates")]
    for task in pair[0].tasks("test"):
        seen = [env.reset(seed=0, options={"task": task})[0] for env in pair]
        policies = [Planner(0.2, seed=1), Planner(0.2, seed=1)]
        for _ in range(10):
            assert read_grid(seen[0]) == read_grid(seen[1])
            moves = {policy(observation, {}) for policy, observation in zip(policies, seen, strict=True)}
            assert len(moves) == 1
            (move,) = moves
            steps = [env.step(move) for env in pair]
            assert steps[0][1:] == steps[1][1:]
            seen = [step[0] for step in steps]
            if steps[0][2]:
                break


def test_a_state_carries_over_between_observations() -> None:
    (grid, _), (coordinates, _) = lake(LAKE), lake(["SG"], observation="coordinates")
    grid.step("down")
    coordinates.set_state(grid.get_state())
    assert coordinates.render() == "size 2x3 you 1,0 goal 1,2 holes 0,2 1,1"
