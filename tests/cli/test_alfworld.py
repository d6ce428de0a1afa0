"""`envhub data fetch|generate alfworld` and `envhub check alfworld --against textworld`."""

import json
import os
import shutil
from pathlib import Path

import pytest

from envhub.cli import main

ORIGINAL = os.environ.get("ENVHUB_ALFWORLD_PYTHON")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


@pytest.fixture
def games(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    folder = tmp_path / "my games"
    arguments = ["--out", str(folder), "--scenes", "6", "--seed", "4", "--json"]
    assert run("data", "generate", "alfworld", *arguments) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["games"]["train"] == dict.fromkeys(report["games"]["train"], 1)
    assert [sum(kinds.values()) for kinds in report["games"].values()] == [6, 6, 6]
    assert report["serve"] == f"envhub serve --env alfworld --set 'alfworld.data_dir={folder}'"
    return folder


def test_generated_games_are_counted_by_split_and_task_type(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("data", "generate", "alfworld", "--out", str(tmp_path), "--scenes", "7") == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1] == ["task", "type", "train", "valid_seen", "valid_unseen"]
    assert ["pick_and_place_simple", "2", "1", "1"] in lines
    assert ["all", "7", "6", "6"] in lines


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "These are the embedded games: the same task ids, in the same order."),
        (["--scenes", "10"], "22 of them are embedded games, too, under the same task ids."),
        (["--scenes", "6", "--seed", "1"], "None of them is an embedded game."),
    ],
)
def test_what_generated_games_have_to_do_with_the_embedded_ones(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert run("data", "generate", "alfworld", "--out", str(tmp_path), *arguments) == 0
    said = capsys.readouterr().out
    assert words in said
    assert "the embedded ones are not added" in said


def test_what_is_left_out_is_counted(games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    game = min((games / "json_2.1.1" / "train").rglob("game.tw-pddl"))
    game.unlink()
    archive = shutil.make_archive(str(tmp_path / "release"), "zip", games)
    assert run("data", "fetch", "alfworld", "--from", archive, "--out", str(tmp_path / "data")) == 0
    place = game.parent.relative_to(games / "json_2.1.1")
    assert f"Left out, as published: 1 without game.tw-pddl ({place})." in capsys.readouterr().out


def test_games_are_not_generated_over_others(games: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("data", "generate", "alfworld", "--out", str(games)) == 2
    assert "there are games already. Name another folder" in capsys.readouterr().err


def test_a_zip_of_games_is_laid_out(games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = shutil.make_archive(str(tmp_path / "release"), "zip", games)
    out = tmp_path / "data"
    assert run("data", "fetch", "alfworld", "--from", archive, "--out", str(out), "--json") == 0
    report = json.loads(capsys.readouterr().out)
    assert list(report["sha256"]) == ["release.zip"]
    assert sum(report["games"]["train"].values()) == 6
    record = json.loads((out / "downloads" / "sha256.json").read_text("utf-8"))
    assert record == report["sha256"]


def test_data_goes_to_the_folder_that_the_original_uses(
    games: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = shutil.make_archive(str(tmp_path / "release"), "zip", games)
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "usual"))
    assert run("data", "fetch", "alfworld", "--from", archive) == 0
    assert f"alfworld.data_dir={tmp_path / 'usual'}" in capsys.readouterr().out


def test_what_cannot_be_fetched_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--from", str(tmp_path), "--out", str(tmp_path / "data")]
    assert run("data", "fetch", "alfworld", *arguments) == 2
    assert "json_2.1.1_json.zip: there is no such file" in capsys.readouterr().err


@pytest.mark.parametrize("below", ["", "data"])
def test_a_folder_that_cannot_be_written_to_is_said_in_a_line(
    games: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], below: str
) -> None:
    archive = shutil.make_archive(str(tmp_path / "release"), "zip", games)
    (tmp_path / "file").write_text("")
    out = str(tmp_path / "file" / below)
    for arguments in (("fetch", "alfworld", "--from", archive), ("generate", "alfworld", "--scenes", "6")):
        assert run("data", *arguments, "--out", out) == 2
        (line,) = capsys.readouterr().err.strip().splitlines()
        assert line.startswith(f"envhub: {out} cannot be used: Not a directory")


def test_a_comparison_needs_games_and_the_spec_with_two_engines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("check", "alfworld", "--against", "textworld") == 2
    assert "--against textworld and --games DIR go together" in capsys.readouterr().err
    assert run("check", "echo", "--against", "textworld", "--games", str(tmp_path)) == 2
    assert "there is no other engine for echo" in capsys.readouterr().err
    assert run("check", "alfworld", "--against", "textworld", "--games", str(tmp_path)) == 2
    assert ": there are no games. A game is" in capsys.readouterr().err


def test_a_comparison_without_the_original_says_what_to_install(
    games: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    python = ["--set", "alfworld.textworld_python=/usr/bin/false"]
    assert run("check", "alfworld", "--against", "textworld", "--games", str(games), *python) == 2
    assert "pip install alfworld==0.4.2" in capsys.readouterr().err


@pytest.mark.skipif(ORIGINAL is None, reason="ENVHUB_ALFWORLD_PYTHON names no interpreter that has alfworld")
def test_a_difference_is_shown_and_ends_with_status_1(
    games: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    game = min((games / "json_2.1.1" / "train").glob("look_at*/*/game.tw-pddl"))
    shutil.rmtree(games / "json_2.1.1" / "valid_seen")
    for other in (games / "json_2.1.1").glob("*/*/*/game.tw-pddl"):
        if other != game:
            other.unlink()
    content = json.loads(game.read_text("utf-8"))
    # the original reads the domain; the native engine has the rules built in
    content["pddl_domain"] = content["pddl_domain"].replace("(not (holdsAny ?a)) (or", "(or")
    assert content["pddl_domain"].count("(not (holdsAny ?a))") == 1
    game.write_text(json.dumps(content), encoding="utf-8")
    arguments = ["--games", str(games), "--set", f"alfworld.textworld_python={ORIGINAL}", "--json"]
    assert run("check", "alfworld", "--against", "textworld", *arguments) == 1
    difference = json.loads(capsys.readouterr().out)["difference"]
    assert difference["what"] == "admissible_commands"
    assert difference["commands"][-1].startswith("take ")
    assert all(command.startswith("take ") for command in difference["textworld"])
