"""Finding who plays."""

from pathlib import Path

import pytest

from envhub_trainers import _policies
from envhub_trainers._policies import NoSuchPolicy


def test_there_is_an_expert_for_each_environment_that_is_named() -> None:
    for env in _policies.EXPERTS:
        player = _policies.load("expert", env)
        assert player.facts == {"kind": "script", "name": "expert"}
        assert player.make(0) is not player.make(0)  # type: ignore[comparison-overlap]


def test_random_moves_follow_from_the_seed() -> None:
    player = _policies.load("expert", "frozenlake", random_moves=1.0)
    assert player.facts["random_moves"] == 1.0
    wander = [[player.make(seed)(" P \t G \t", {}) for _ in range(1)] for seed in range(40)]
    assert len({moves[0] for moves in wander}) == 4
    assert wander == [[player.make(seed)(" P \t G \t", {})] for seed in range(40)]


def test_a_function_plays_all_episodes_and_a_class_makes_one_for_each(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "def right(observation, info):\n    return 'right'\n"
        "class Counter:\n    def __init__(self, seed):\n        self.seed = seed\n"
        "    def __call__(self, observation, info):\n        return str(self.seed)\n"
    )
    assert _policies.load(f"{file}:right", "any").make(0)("", {}) == "right"
    player = _policies.load(f"{file}:Counter", "any")
    assert [player.make(seed)("", {}) for seed in (3, 4)] == ["3", "4"]


@pytest.mark.parametrize(
    ("reference", "env", "said"),
    [
        (
            "expert",
            "echo",
            r"no expert for 'echo' \(there are for alfworld, db, frozenlake, kg, os, webshop\): give",
        ),
        ("nowhere.py:policy", "echo", "no file nowhere.py"),
        ("no.such.module:policy", "echo", "ModuleNotFoundError"),
        ("math:nothing", "echo", "math has no 'nothing'"),
        ("math:pi", "echo", "is no function or class, but 3.14"),
        ("right", "echo", "write module:name"),
    ],
)
def test_what_is_no_policy_is_said(reference: str, env: str, said: str) -> None:
    with pytest.raises(NoSuchPolicy, match=said):
        _policies.load(reference, env)


def test_a_policy_that_can_not_be_made_is_said(tmp_path: Path) -> None:
    file = tmp_path / "needs.py"
    file.write_text("class Needs:\n    def __init__(self, model):\n        pass\n")
    with pytest.raises(NoSuchPolicy, match=r"can't be made: TypeError: .*'model'"):
        _policies.load(f"{file}:Needs", "echo")


def test_random_moves_are_for_policies_that_take_them() -> None:
    with pytest.raises(NoSuchPolicy, match="leave out --random-moves"):
        _policies.load("expert", "webshop", random_moves=0.5)
    with pytest.raises(NoSuchPolicy, match="from 0 to 1"):
        _policies.load("expert", "frozenlake", random_moves=2.0)
