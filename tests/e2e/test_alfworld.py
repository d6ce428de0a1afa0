"""Many ALFWorld replicas at once, each game won by the expert over HTTP; and games of a folder."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from envhub_sdk import AsyncHub, Hub

pytestmark = pytest.mark.e2e

REPLICAS = 64


def expert(observation: str, info: dict[str, Any]) -> str:
    """Follows the expert of the environment."""
    action: str = info["expert_action"]
    return action


async def test_the_expert_wins_on_64_replicas_in_parallel(serve: Any) -> None:
    command = serve(
        *("--env", "alfworld", "--replicas", str(REPLICAS), "--port", "0", "--json"),
        *("--set", "alfworld.expert=true"),
    )
    said = command.ready()
    assert said["envs"] == {"alfworld": REPLICAS}
    busiest = 0

    def watch(done: int, total: int, trajectory: Any) -> None:
        nonlocal busiest
        with Hub(said["url"]) as hub:
            replicas = hub.env("alfworld").replicas
        busiest = max(busiest, replicas["total"] - replicas["free"])

    async with AsyncHub(said["url"]) as hub:
        tasks = [
            task
            for split in ("train", "valid_seen", "valid_unseen")
            for task in await hub.tasks("alfworld", split, limit=40)
        ]
        episodes = list(
            await hub.collect("alfworld", expert, tasks=tasks, concurrency=REPLICAS, progress=watch)
        )
    assert [episode.error for episode in episodes] == [None] * len(tasks)
    assert [episode.task["id"] for episode in episodes] == [task["id"] for task in tasks]
    assert all(episode.terminated for episode in episodes), "every game is won within the step limit"
    assert {episode.episode_return for episode in episodes} == {1.0}
    assert busiest > REPLICAS / 2, "the replicas were used at the same time"


def test_games_of_a_folder_are_played_by_hand(serve: Any, shared_data: Path) -> None:
    """Games in the official layout: everything that is offered does something, from a snapshot and back."""
    folder = shared_data / "alfworld" / "json_2.1.1"
    command = serve("--env", "alfworld=2", "--port", "0", "--json", "--set", f"alfworld.data_dir={folder}")
    with Hub(command.ready()["url"]) as hub, hub.make("alfworld") as env:
        observation, info = env.reset(seed=1, options={"split": "valid_seen"})
        assert f"Your task is to: {info['instruction']}" in observation
        for action in info["available_actions"]:
            before = env.snapshot()
            assert env.step(action)[0] != "Nothing happens."
            env.restore(before)
        assert env.step("no such command")[0] == "Nothing happens."


def test_a_game_that_is_left_out_is_told_when_the_hub_is_ready(serve: Any, tmp_path: Path) -> None:
    """A folder that lost its game is none by the published rules; whoever serves the others is told."""
    make = [sys.executable, "-m", "envhub", "data", "generate", "alfworld", "--scenes", "6", "--out"]
    subprocess.run([*make, str(tmp_path)], check=True, stdout=subprocess.DEVNULL)
    game = min((tmp_path / "json_2.1.1" / "train").rglob("game.tw-pddl"))
    game.unlink()
    place = game.parent.relative_to(tmp_path / "json_2.1.1")
    command = serve("--env", "alfworld", "--port", "0", "--set", f"alfworld.data_dir={tmp_path}")
    lines = iter(command.process.stdout.readline, "")
    told = next(line.strip() for line in lines if line.strip().startswith(("left out", "Play it")))
    assert told == f"left out, as published: 1 without game.tw-pddl ({place})"
    command.interrupt()
    assert command.end() == 0
    assert told in command.errors, "and logged"
