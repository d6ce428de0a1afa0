import ast
import sys
from pathlib import Path
from typing import Any

import pytest
from envhub_frozenlake import FrozenLakeEnv, planner
from envhub_frozenlake.planner import Planner, shortest_way


def play(env: FrozenLakeEnv, policy: Planner, task: dict[str, Any]) -> tuple[float, list[str]]:
    observation, info = env.reset(options={"task": task})
    moves: list[str] = []
    while True:
        moves.append(policy(observation, info))
        observation, reward, terminated, _, info = env.step(moves[-1])
        if terminated or len(moves) == 10:
            return reward, moves


def test_the_planner_wins_every_test_task_and_none_is_longer_than_nine_moves() -> None:
    env = FrozenLakeEnv()
    played = [play(env, Planner(), task) for task in env.tasks("test")]
    assert all(reward == 1.0 for reward, _ in played)
    assert max(len(moves) for _, moves in played) <= 9


@pytest.mark.parametrize(
    ("desc", "way"),
    [
        (["SF", "HG"], ["right", "down"]),
        (["SFF", "HHF", "GFF"], ["right", "right", "down", "down", "left", "left"]),
        (["GHF", "FFS"], ["left", "left", "up"]),
    ],
)
def test_the_way_goes_around_holes(desc: list[str], way: list[str]) -> None:
    policy = Planner()
    reward, moves = play(FrozenLakeEnv(), policy, {"desc": desc})
    assert (reward, moves) == (1.0, way)
    assert policy.thought.endswith("1 move.")


def test_it_says_why() -> None:
    env, policy = FrozenLakeEnv(), Planner()
    observation, info = env.reset(options={"task": {"desc": ["SFF", "HHF", "GFF"]}})
    assert policy(observation, info) == "right"
    assert policy.thought == (
        "The goal is 2 down. A shortest way around the holes is "
        "right, right, down, down, left, left: 6 moves."
    )


def test_random_moves_follow_from_the_seed_and_cost_successes() -> None:
    env = FrozenLakeEnv()
    tasks = env.tasks("test")[:60]

    def episodes(share: float, seed: int) -> list[tuple[float, list[str]]]:
        return [play(env, Planner(share, seed + number), task) for number, task in enumerate(tasks)]

    some = episodes(0.4, 1)
    assert some == episodes(0.4, 1) != episodes(0.4, 2)
    assert 0 < sum(reward for reward, _ in some) < len(tasks)
    assert sum(reward for reward, _ in episodes(1.0, 1)) < sum(reward for reward, _ in some)
    wanderer = Planner(1.0)
    wanderer(*env.reset(options={"task": tasks[0]}))
    assert wanderer.thought == ""


@pytest.mark.parametrize(
    ("grid", "message"),
    [([["P", "O"], ["O", "G"]], "no way"), ([["X", "G"]], "no 'P'"), ([], "no 'P'")],
)
def test_where_there_is_no_way_it_says_so(grid: list[list[str]], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        shortest_way(grid)


def test_a_share_is_from_0_to_1() -> None:
    with pytest.raises(ValueError, match="from 0 to 1"):
        Planner(random_moves=1.5)


def test_the_planner_needs_the_standard_library_only() -> None:
    tree = ast.parse(Path(planner.__file__).read_text(encoding="utf-8"))
    modules = {node.module for node in tree.body if isinstance(node, ast.ImportFrom)}
    modules |= {name.name for node in tree.body if isinstance(node, ast.Import) for name in node.names}
    assert {str(module).split(".")[0] for module in modules} <= sys.stdlib_module_names
