"""The verdict on what was learned; and, with the training stack, the whole of it in small."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from learn import chart, stages
from learn.stages import Rate, Score
from learn_frozenlake import STAGES, Outcome, Recipe, settings

from envhub_trainers._config import read

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "learn_frozenlake.py"


def outcome(before: int, after: int, tasks: int = 400) -> Outcome:
    scores = [Score(Rate(won, tasks), Rate(0, 0), {}) for won in (0, before, after)]
    return Outcome(1, 1000, scores, scores, chart.Curve("one", [1.0], [0.5], []), {})


@pytest.mark.parametrize(
    ("before", "after", "passed"),
    [
        (200, 320, True),
        (200, 260, True),
        (200, 259, False),  # less than 15 points
        (320, 200, False),
    ],
)
def test_the_bar_is_fifteen_points(before: int, after: int, passed: bool) -> None:
    assert outcome(before, after).passed is passed


def test_a_rise_within_the_intervals_is_no_pass() -> None:
    few = outcome(10, 14, tasks=20)
    assert few.rise == pytest.approx(0.2)
    assert not few.passed


def test_numbers_have_a_name_for_each_stage() -> None:
    found = json.loads(json.dumps(outcome(200, 320).to_dict()))
    assert list(found["scores"]) == list(STAGES)
    assert found["scores"]["after reinforcement"]["sampled"]["all"]["share"] == 0.8
    assert str(Rate(320, 400)) == "80.0% [75.8%, 83.6%]"


def test_a_smoothed_curve_is_as_long_and_looks_back_only() -> None:
    assert chart.smoothed([0.0, 1.0, 1.0, 1.0, 1.0, 1.0]) == [0.0, 0.5, 2 / 3, 0.75, 0.8, 1.0]


def test_a_critics_learning_rate_is_set_where_there_is_a_critic() -> None:
    assert "train.critic_lr" not in settings(Recipe(), 1)
    assert settings(Recipe(algorithm="ppo"), 3)["train.critic_lr"] == Recipe.critic_lr
    assert settings(Recipe(steps=5, prompts=4), 3)["data.tasks"] == 20


def test_the_file_for_envhub_train_says_what_is_done_here() -> None:
    file = SCRIPT.parent / "learn" / "frozenlake.toml"
    said = read(file, {"algorithm": "grpo", "model": "imitating"})
    recipe = Recipe(steps=said.steps)
    here = {**stages.training(settings(recipe, said.train.seed)), "data.eval_tasks": 0}
    del here["data.eval_every"], here["train.save_every"]  # how often is left to the user
    again = read(file, {"algorithm": "grpo", "model": "imitating", **here})
    assert again == said
    assert said.hub.settings == [
        "frozenlake.observation=coordinates",
        f"frozenlake.map_max_size={recipe.size + 1}",
    ]


def test_a_model_that_is_to_be_kept_needs_a_folder() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--steps", "0"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2
    assert "--folder DIR" in done.stderr


@pytest.mark.train
@pytest.mark.timeout(3600)
def test_a_tiny_model_learns(tmp_path: Path) -> None:
    """The short form, about six minutes on two cores. What is asked for is less than its bar, so that chance
    does not decide."""
    command = [sys.executable, str(SCRIPT), "--short", "--json", str(tmp_path / "found.json")]
    command += ["--chart", str(tmp_path / "curve.png"), "--folder", str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3000, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr[-4000:]
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    found = json.loads((tmp_path / "found.json").read_text())
    (learned,) = found["seeds"]
    shares = [learned["scores"][stage]["sampled"]["all"]["share"] for stage in STAGES]
    assert shares[0] < 0.1 < 0.4 < shares[1]
    assert shares[2] - shares[1] > 0.08
    assert len(learned["training"]) == found["recipe"]["steps"]
