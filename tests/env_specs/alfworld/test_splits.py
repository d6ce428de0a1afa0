"""Folders that have not all splits, and folders of one split."""

import shutil
from pathlib import Path

import pytest
from envhub_alfworld import AlfworldEnv
from envhub_alfworld.errors import InvalidOptions
from envhub_alfworld.generate import households, write_game


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A folder with games, none of them to learn on."""
    for split, household in households(0, {"train": 6, "valid_seen": 2, "valid_unseen": 1}):
        if split != "train":
            write_game(tmp_path / split / household.folder, household)
    return tmp_path


def test_without_train_the_first_split_with_games_is_drawn_from(root: Path) -> None:
    env = AlfworldEnv(data_dir=str(root))
    assert env.reset(seed=1)[1]["task"]["split"] == "valid_seen"
    assert env.reset(seed=1, options={"split": "valid_unseen"})[1]["task"]["split"] == "valid_unseen"
    shutil.rmtree(root / "valid_seen")
    assert AlfworldEnv(data_dir=str(root)).reset(seed=1)[1]["task"]["split"] == "valid_unseen"


def test_a_split_without_games_is_refused_with_those_that_have_some(root: Path) -> None:
    env = AlfworldEnv(data_dir=str(root))
    with pytest.raises(InvalidOptions) as refused:
        env.reset(seed=1, options={"split": "train"})
    assert "these have some: valid_seen (2), valid_unseen (1)" in str(refused.value)
    assert 'options={"split": "valid_seen"}' in str(refused.value)


def test_the_folder_of_a_split_keeps_its_name(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = AlfworldEnv(data_dir=str(root / "valid_seen"))
    assert env.data_info()["games"] == {"train": 0, "valid_seen": 2, "valid_unseen": 0}
    assert env.tasks("valid_seen") == AlfworldEnv(data_dir=str(root)).tasks("valid_seen")
    monkeypatch.chdir(root / "valid_seen")
    assert AlfworldEnv(data_dir=".").data_info()["games"]["valid_seen"] == 2
