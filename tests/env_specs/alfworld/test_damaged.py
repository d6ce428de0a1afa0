"""Folders with damaged games are refused by name; what the rules leave out is counted."""

import json
import logging
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from envhub_alfworld import AlfworldEnv
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
        library = open_library(str(root))
    assert len(library.entries["train"]) == 5
    assert library.left_out == f"1 without game.tw-pddl ({folder.relative_to(root)})"
    assert caplog.messages == [f"{root}: left out, as published: {library.left_out}"]


def test_what_the_rules_leave_out_is_counted(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    first, second, third, fourth = games(root / "train")[:4]
    content = json.loads((first / "game.tw-pddl").read_text("utf-8"))
    (first / "game.tw-pddl").write_text(json.dumps({**content, "solvable": False}), encoding="utf-8")
    (first / "traj_data.json").unlink()
    (second / "game.tw-pddl").write_bytes(b"")
    second.parent.rename(second.parent.with_name("pick_and_place_simple-AppleSliced-None-Desk-1"))
    (third / "game.tw-pddl").write_bytes(b"")
    third.parent.rename(third.parent.with_name("pick_and_place_with_movable_recep-Egg-Pan-Desk-1"))
    (fourth / "traj_data.json").write_text('{"task_type": "water_plants"}', encoding="utf-8")
    (root / "tests_seen").mkdir()
    games(root / "valid_seen")[0].rename(root / "tests_seen" / "trial_T1")
    with caplog.at_level(logging.WARNING):
        env = AlfworldEnv(data_dir=str(root))
    info = env.data_info()
    assert info["games"] == {"train": 2, "valid_seen": 1, "valid_unseen": 0}
    assert sorted(info["note"].removeprefix("left out, as published: ").split(", ")) == [
        "1 in none of the splits",
        "1 not marked as solvable",
        "1 of none of the six task types",
        "2 with movable receptacles or slices",
    ]
    assert caplog.messages == []


def test_of_many_folders_without_a_game_some_are_named(root: Path) -> None:
    folders = games(root)
    for folder in folders[:-1]:
        (folder / "game.tw-pddl").unlink()
    found = open_library(str(root))
    assert found.left_out.startswith("7 without game.tw-pddl (train/") and "; and 4 more)" in found.left_out
    kind = "look_at_obj_in_light"
    with pytest.raises(DataError, match=f"there are no games of {kind}; left out, as published: 7 without"):
        open_library(str(root), [kind])
    (folders[-1] / "game.tw-pddl").unlink()
    with pytest.raises(DataError, match=r"there are no games; left out, as published: 8 without"):
        open_library(str(root))


def test_the_kind_of_task_is_what_the_trajectory_says(root: Path) -> None:
    """As in the published environment: folders may have names of their own."""
    game = min((root / "train").glob("pick_two*/*/"))
    game.parent.rename(root / "train" / "mine")
    kept = open_library(str(root), ["pick_two_obj_and_place"]).entries["train"]
    assert [entry.id for entry in kept] == [f"train/mine/{game.name}"]
