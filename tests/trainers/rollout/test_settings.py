"""The settings' file."""

import json

import pytest

from envhub_trainers._settings import (
    FormatReward,
    ModelReward,
    OutcomeReward,
    SettingsRefused,
    StepPenalty,
    convert,
    read,
)

LEAST = {"hubs": ["http://one"], "env": "webshop"}


def test_json_and_toml_say_the_same(tmp_path):
    (tmp_path / "a.json").write_text(
        json.dumps({**LEAST, "max_turns": 4, "reward": [{"type": "format", "weight": 0.1, "clip": [-1, 0]}]})
    )
    (tmp_path / "a.toml").write_text(
        'hubs = ["http://one"]\nenv = "webshop"\nmax_turns = 4\n'
        '[[reward]]\ntype = "format"\nweight = 0.1\nclip = [-1, 0]\n'
    )
    settings = read(tmp_path / "a.json")
    assert settings == read(tmp_path / "a.toml")
    assert settings.reward == [FormatReward(weight=0.1, clip=(-1.0, 0.0))]


def test_by_default_the_reward_is_the_outcome():
    assert convert(LEAST).reward == [OutcomeReward()]


def test_parts_are_called_by_their_type_or_their_name():
    parts = [
        {"type": "outcome"},
        {"type": "step_penalty"},
        {"type": "model", "url": "http://rm", "name": "taste"},
    ]
    settings = convert({**LEAST, "reward": parts})
    assert settings.reward == [OutcomeReward(), StepPenalty(), ModelReward(url="http://rm", name="taste")]
    assert [part.called for part in settings.reward] == ["outcome", "step_penalty", "taste"]


REFUSED = [
    ({"max_turn": 3}, "max_turn"),
    ({"max_turns": 0}, r"\$.max_turns"),
    ({"hubs": []}, r"\$.hubs"),
    ({"episode_deadline_s": -1}, r"\$.episode_deadline_s"),
    ({"max_masked_share": 1.5}, r"\$.max_masked_share"),
    ({"reward": []}, "nothing would be learned"),
    ({"reward": [{"type": "magic"}]}, "magic"),
    ({"reward": [{"type": "format", "wieght": 1}]}, "wieght"),
    ({"reward": [{"type": "function"}]}, "call"),
    ({"reward": [{"type": "outcome", "clip": [1, 0]}]}, r"reward\[0\].clip: is \[1.0, 0.0\]"),
    ({"reward": [{"type": "outcome"}, {"type": "outcome"}]}, "another part is called 'outcome' too"),
]


@pytest.mark.parametrize(("change", "reason"), REFUSED)
def test_what_can_not_be_used_is_refused_by_its_name(change, reason):
    with pytest.raises(SettingsRefused, match=reason):
        convert({**LEAST, **change})


def test_a_weight_has_to_be_finite():
    with pytest.raises(SettingsRefused, match=r"reward\[0\].weight: is inf"):
        convert({**LEAST, "reward": [{"type": "outcome", "weight": float("inf")}]})


@pytest.mark.parametrize("text", ["{", "[]", None])
def test_a_file_that_can_not_be_read_is_named(text, tmp_path):
    file = tmp_path / "settings.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(SettingsRefused, match=r"settings\.json"):
        read(file)
