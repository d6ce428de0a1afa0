"""Prompts from the tasks of a real hub."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from envhub_sdk import Hub, UnknownEnv
from envhub_trainers import _dataset
from envhub_trainers._config import ConfigRefused
from envhub_trainers._processes import Family


@pytest.fixture(scope="module")
def hub() -> Iterator[Hub]:
    envs = ["--env", "frozenlake=1", "--env", "echo=1", "--env", "gymnasium:CartPole-v1=1"]
    with Family() as family:
        served = family.start(
            [sys.executable, "-m", "envhub", "serve", "--json", "--port", "0", *envs], stderr=2
        )
        assert served.stdout is not None
        with Hub(json.loads(served.stdout.readline())["url"]) as client:
            yield client


def lines(file: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_label_is_a_task_as_the_hub_lists_it(hub: Hub, tmp_path: Path) -> None:
    file = tmp_path / "prompts.jsonl"
    assert _dataset.write(hub, "frozenlake", "test", 5, file) == 5
    written = lines(file)
    assert [json.loads(line["label"]) for line in written] == hub.tasks("frozenlake", "test", limit=5)
    assert len({line["input"] for line in written}) == 5
    assert {line["datasource"] for line in written} == {"frozenlake_test"}


def test_what_is_left_over_of_a_step_is_left_out(hub: Hub, tmp_path: Path) -> None:
    file = tmp_path / "prompts.jsonl"
    assert _dataset.write(hub, "frozenlake", "test", 1000, file, multiple_of=16) == 96  # of 100
    with pytest.raises(
        ConfigRefused, match=r"^train\.prompts_per_step: split 'test' of frozenlake has fewer"
    ):
        _dataset.write(hub, "frozenlake", "test", 1000, file, multiple_of=128)


@pytest.mark.parametrize("env", ["echo", "CartPole-v1"])
def test_an_environment_that_lists_no_tasks_plays_seeds(hub: Hub, tmp_path: Path, env: str) -> None:
    file = tmp_path / "prompts.jsonl"
    assert _dataset.write(hub, env, "train", 3, file) == 3
    assert [json.loads(line["label"]) for line in lines(file)] == [{"seed": 0}, {"seed": 1}, {"seed": 2}]


def test_a_split_or_an_environment_that_is_not_there_is_refused(hub: Hub, tmp_path: Path) -> None:
    with pytest.raises(
        ConfigRefused, match=r"^data\.split: frozenlake has no split 'dev'; it has train, test"
    ):
        _dataset.write(hub, "frozenlake", "dev", 3, tmp_path / "prompts.jsonl")
    with pytest.raises(UnknownEnv):
        _dataset.write(hub, "atlantis", "train", 3, tmp_path / "prompts.jsonl")
