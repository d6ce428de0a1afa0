"""Every recorded output of the published environment, from the same commands."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from envhub_alfworld import AlfworldEnv
from envhub_alfworld.classic import ClassicEnv
from envhub_alfworld.data import open_library
from envhub_alfworld.game import Game
from envhub_alfworld.state import State

KINDS = ("walkthrough", "random", "odd", "properties")


def test_there_are_traces_of_each_kind(traces: list[dict[str, Any]]) -> None:
    assert set(Counter(trace["trace"] for trace in traces)) == {*KINDS, "gym"}
    assert len({trace["game"] for trace in traces}) == 19


@pytest.mark.parametrize("kind", KINDS)
def test_games_are_played_as_recorded(kind: str, golden: Path, traces: list[dict[str, Any]]) -> None:
    for trace in traces:
        if trace["trace"] != kind:
            continue
        state = State(Game.load(golden / trace["game"]))
        seen = {
            "observation": state.introduction(),
            "won": state.won,
            "admissible_commands": state.commands(),
        }
        assert seen == trace["reset"], trace["game"]
        for at, step in enumerate(trace["steps"]):
            observation = state.do(step["command"])
            seen = {
                "command": step["command"],
                "observation": observation,
                "score": int(state.won),
                "done": state.won,
                "won": state.won,
                "admissible_commands": state.commands(),
            }
            assert seen == step, (trace["game"], at)


def test_a_batch_of_one_is_played_as_recorded(golden: Path, traces: list[dict[str, Any]]) -> None:
    """The gym view: it ends with the win or at the step limit, and then repeats its last result."""
    for trace in traces:
        if trace["trace"] != "gym":
            continue
        env = ClassicEnv([golden / trace["game"]], 1, trace["max_episode_steps"])
        (observation,), infos = env.reset()
        assert sorted(infos) == trace["reset"]["info_keys"]
        assert observation == trace["reset"]["observation"]
        assert infos["admissible_commands"] == [trace["reset"]["admissible_commands"]]
        for at, step in enumerate(trace["steps"]):
            (observation,), (score,), (done,), infos = env.step([step["command"]])
            seen = {
                "command": step["command"],
                "observation": observation,
                "score": score,
                "done": done,
                "won": infos["won"][0],
                "admissible_commands": infos["admissible_commands"][0],
            }
            assert seen == step, (trace["game"], at)


def test_the_faithful_mode_plays_as_recorded(golden: Path, traces: list[dict[str, Any]]) -> None:
    """Over the folder as data, to the win; after it the last result is repeated, as in the gym view."""
    env = AlfworldEnv(open_library(str(golden / "json_2.1.1")), mode="faithful")
    for trace in traces:
        split, *rest = Path(trace["game"]).parts[1:]
        if trace["trace"] != "walkthrough" or "oldverbs" in trace["game"]:
            continue
        observation, info = env.reset(options={"task": {"id": "/".join([split, *rest])}})
        assert (observation, info["available_actions"]) == (
            trace["reset"]["observation"],
            trace["reset"]["admissible_commands"],
        )
        for step in trace["steps"]:
            result = env.step(step["command"])
            observation, reward, terminated, truncated, info = result
            assert (observation, reward, terminated) == (step["observation"], step["score"], step["done"])
            assert (info["won"], info["available_actions"]) == (step["won"], step["admissible_commands"])
            assert not truncated
            if terminated:
                break
        assert terminated
        assert env.step("look") == env.step("no such command") == result
