"""A run's configuration: what wins over what, and refusals that name the key."""

from pathlib import Path

import pytest

from envhub_trainers._config import PRESETS, ConfigRefused, read, values_of
from envhub_trainers._settings import FormatReward

BASE = {"algorithm": "grpo", "env": "frozenlake", "model": "some/model"}


def test_flags_win_over_the_file_and_the_file_over_the_preset(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text("[train]\nlr = 0.5\nkl_coef = 0.25\n[[reward]]\ntype = 'format'\nweight = 0.5\n")
    config = read(file, {**BASE, "train.lr": 0.125})
    assert config.train.lr == 0.125
    assert config.train.kl_coef == 0.25
    assert config.train.lr_warmup == PRESETS["cpu-tiny"]["train"]["lr_warmup"]
    assert config.reward == [FormatReward(weight=0.5)]
    assert config.output == "runs/frozenlake-grpo"


def test_a_run_that_goes_on_begins_with_its_own_configuration() -> None:
    saved = {**BASE, "output": "there", "preset": "cpu-tiny", "train": {"lr": 0.5}}
    config = read(None, {"algorithm": "grpo", "train.seed": 7}, saved)
    assert (config.output, config.train.lr, config.train.seed) == ("there", 0.5, 7)


def test_the_preset_may_come_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('preset = "one-node-8gpu"\n')
    assert read(file, BASE).resources.gpus == 8
    assert read(file, {**BASE, "preset": "cpu-tiny"}).resources.gpus == 1


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"train.lrr": 1.0}, "train.lrr: no such key; did you mean lr?"),
        ({"trian.lr": 1.0}, "trian: no such key; did you mean train?"),
        ({"train.lr": "fast"}, "train.lr: expected `float`, got `str`"),
        ({"train.lr": 0.0}, "train.lr: expected `float` > 0.0"),
        ({"train.seed": -1}, "train.seed: expected `int` >= 0"),
        ({"algorithm": "sarsa"}, "algorithm: invalid enum value 'sarsa'"),
        ({"env": None}, "env: is not set: --env NAME"),
        ({"model": ""}, "model: is not set: --model PATH"),
        ({"preset": "huge"}, "preset: there is no 'huge'; there are cpu-tiny, one-node-8gpu, multi-node"),
        ({"hub.urls": "http://one"}, "hub.urls: expected `array`, got `str`"),
        ({"env.name": "x"}, "env.name: env is no table"),
        ({"rollout.max_turnz": 3}, "rollout.max_turnz: no such key; did you mean max_turns?"),
        ({"rollout.max_turns": 0}, "rollout.max_turns: expected `int` >= 1"),
        ({"rollout.hubs": ["http://one"]}, "rollout.hubs: is no key of this table: it is hub.urls"),
        ({"rollout.reward": [{"type": "outcome"}]}, "rollout.reward: is no key of this table: it is reward"),
        ({"rollout.token": "t"}, "rollout.token: is no key of this table: it is ENVHUB_TOKEN"),
        ({"reward": {"type": "outcome"}}, "reward: expected `array`, got `object`"),
        ({"reward": [{"type": "luck"}]}, "reward[0].type: invalid value 'luck'; there are outcome, format,"),
        (
            {"reward": [{"type": "outcome"}, {"type": "model"}]},
            "reward[1]: object missing required field `url`",
        ),
        ({"reward": [{"type": "format", "weight": "much"}]}, "reward[0].weight: expected `float`, got `str`"),
        ({"reward": [{"type": "format", "wait": 1}]}, "reward[0].wait: no such key"),
    ],
)
def test_what_can_not_be_used_is_refused_by_its_key(flags: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigRefused) as refused:
        read(None, {**BASE, **flags})
    assert str(refused.value).startswith(said)


def test_a_file_that_is_no_toml_is_named(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text("[train\n")
    with pytest.raises(ConfigRefused, match=r"run\.toml: "):
        read(file, BASE)


def test_values_on_the_command_line_are_toml_or_else_text() -> None:
    texts = [
        "train.lr=1e-5",
        "train.asynchronous=true",
        'hub.settings=["a.b=1"]',
        "data.split=test",
        "train.lr=0.00001",
    ]
    assert values_of(texts) == {
        "train.lr": 1e-5,
        "train.asynchronous": True,
        "hub.settings": ["a.b=1"],
        "data.split": "test",
    }
    with pytest.raises(ConfigRefused, match="KEY=VALUE"):
        values_of(["train.lr"])


def test_values_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(
        ConfigRefused, match=r"--set train\.lr=1e-5 and --set train\.lr=1e-6 contradict each other"
    ):
        values_of(["train.lr=1e-5", "train.steps=2", "train.lr=1e-6"])


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_is_a_configuration(preset: str) -> None:
    assert read(None, {**BASE, "preset": preset}).steps > 0
