"""`envhub train` as a command, as far as it goes without a trainer."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


def envhub(*arguments: str, where: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "envhub", "train", *arguments], capture_output=True, text=True, cwd=where
    )


def test_a_dry_run_prints_the_command_and_starts_nothing(tmp_path: Path) -> None:
    done = envhub("grpo", "--env", "frozenlake", "--model", "some/model", "--dry-run", where=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "python -m openrlhf.cli.train_ppo_ray \\\n  --actor.model_name_or_path some/model" in done.stdout
    assert "2 logical GPU(s)" in done.stdout
    assert not list(tmp_path.iterdir())


def test_flags_after_two_dashes_go_to_openrlhf(tmp_path: Path) -> None:
    passed = ("--", "--actor.entropy_coef", "0.01")
    done = envhub("ppo", "-e", "webshop", "-m", "some/model", "--dry-run", "--json", *passed, where=tmp_path)
    assert json.loads(done.stdout)["arguments"][-2:] == ["--actor.entropy_coef", "0.01"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("grpo", "--env", "frozenlake"), "model: is not set: --model PATH"),
        (("grpo", "-e", "x", "-m", "m", "--set", "train.lrr=1"), "train.lrr: no such key; did you mean lr?"),
        (
            ("grpo", "-e", "x", "-m", "m", "--set", "train.samples_per_prompt=1"),
            "train.samples_per_prompt: is 1",
        ),
        (("grpo", "-e", "x", "-m", "m", "more"), "'more': what follows -- has to be flags of OpenRLHF"),
        (("grpo", "-e", "x", "-m", "m", "--", "--ds.zero_stage", "3"), "--ds.zero_stage: is set by"),
        (("grpo", "--resume"), "--resume: of which run? --output DIR"),
        (("grpo", "--resume", "--output", "nowhere"), "nowhere holds no run to go on with"),
    ],
)
def test_what_is_asked_for_wrongly_is_one_message(
    tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    done = envhub(*arguments, "--dry-run", where=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("envhub: ")
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_an_algorithm_there_is_not_is_refused(tmp_path: Path) -> None:
    done = envhub("sarsa", "--env", "frozenlake", "--model", "m", where=tmp_path)
    assert done.returncode == 2
    assert "grpo" in done.stderr
