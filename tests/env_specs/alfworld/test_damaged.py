"""Folders with damaged games: refused by name when they are loaded, while the rules leave out in silence."""

import json
import logging
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from envhub_alfworld.data import open_library
from envhub_alfworld.errors import DataError
from envhub_alfworld.generate import households, write_game

Damage = Callable[[Path], object]

DAMAGES: dict[str, tuple[Damage, str]] = {
    "truncated": (lambda file: file.write_bytes(file.read_bytes()[:-20]), "is no JSON, or not all of it"),
    "empty": (lambda file: file.write_bytes(b""), "is blank"),
    "zeros": (lambda file: file.write_bytes(b"\0" * 4096), "is blank"),
    "random": (lambda file: file.write_bytes(b"\x93\xfa\x00\x81" * 100), "is no"),
    "nested": (lambda file: file.write_bytes(b"[" * 100_000), "is no JSON"),
    "list": (lambda file: file.write_bytes(b"[]"), "holds a JSON list, not an object"),
    "folder": (lambda file: (file.unlink(), file.mkdir()), "can't be read: Is a directory"),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with eight games."""
    for split, household in households(0, {"train": 6, "valid_seen": 2}):
        write_game(tmp_path / split / household.folder, household)
    return tmp_path


def games(root: Path) -> list[Path]:
    return sorted(file.parent for file in root.rglob("game.tw-pddl"))


@pytest.mark.parametrize("name", ["game.tw-pddl", "traj_data.json"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_game_is_named(root: Path, name: str, damage: str) -> None:
    file = games(root)[3] / name
    do, reason = DAMAGES[damage]
    do(file)
    with pytest.raises(DataError, match=f"^{re.escape(str(file))}: {reason}"):
        open_library(str(root))


def test_a_game_without_its_trajectory_is_named(root: Path) -> None:
    file = games(root)[0] / "traj_data.json"
    file.unlink()
    with pytest.raises(DataError, match=f"^{re.escape(str(file))}: can't be read: No such file"):
        open_library(str(root))


def test_a_game_that_lacks_a_part_is_named(root: Path) -> None:
    file = games(root)[0] / "game.tw-pddl"
    file.write_text('{"solvable": true, "pddl_domain": "", "pddl_problem": ""}', encoding="utf-8")
    with pytest.raises(DataError, match="has no text 'grammar'"):
        open_library(str(root))


def test_of_many_damaged_games_the_first_are_named_and_all_counted(root: Path) -> None:
    for folder in games(root)[:5]:
        (folder / "game.tw-pddl").write_bytes(b"")
    with pytest.raises(DataError, match=r"^5 games are damaged: ") as refused:
        open_library(str(root))
    message = str(refused.value)
    assert message.count("is blank") == 3 and "; and 2 more. Fetch or generate" in message
    assert str(games(root)[0]) in message


def test_a_folder_without_a_game_is_left_out_with_a_warning(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The published environment leaves it out as well."""
    folder = games(root)[0]
    (folder / "game.tw-pddl").unlink()
    with caplog.at_level(logging.WARNING):
        assert len(open_library(str(root)).entries["train"]) == 5
    assert caplog.messages == [f"{folder}: there is no game.tw-pddl"]


def test_what_the_rules_leave_out_is_left_out_in_silence(
    root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second, third = games(root / "train")[:3]
    content = json.loads((first / "game.tw-pddl").read_text("utf-8"))
    (first / "game.tw-pddl").write_text(json.dumps({**content, "solvable": False}), encoding="utf-8")
    (first / "traj_data.json").unlink()
    (second / "game.tw-pddl").write_bytes(b"")
    second.parent.rename(second.parent.with_name("pick_and_place_simple-AppleSliced-None-Desk-1"))
    (third / "game.tw-pddl").write_bytes(b"")
    third.parent.rename(third.parent.with_name("pick_and_place_with_movable_recep-Egg-Pan-Desk-1"))
    with caplog.at_level(logging.WARNING):
        assert len(open_library(str(root)).entries["train"]) == 3
    assert caplog.messages == []
