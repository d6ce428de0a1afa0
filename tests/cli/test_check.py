"""`envhub check` as it is typed."""

import json
from pathlib import Path

import pytest

from envhub.check import CHECKS
from envhub.cli import main
from envhub.cli.new import write_skeleton


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")


def test_the_skeleton_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_skeleton("maze", tmp_path)
    assert run("check", str(folder)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[1 : 1 + len(CHECKS)]] == [[name, "PASS"] for name in CHECKS]
    assert lines[-1] == f"maze: {len(CHECKS)} passed, 0 failed, 0 skipped"


def test_a_broken_environment_ends_with_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_skeleton("maze", tmp_path)
    code = folder / "envhub_maze" / "__init__.py"
    code.write_text(code.read_text("utf-8").replace('state["low"], state["high"]', "1, 2"), encoding="utf-8")
    assert run("check", str(folder), "--json") == 1
    printed = capsys.readouterr()
    results = {entry["check"]: entry for entry in json.loads(printed.out)}
    assert printed.err == ""
    assert [name for name, entry in results.items() if entry["outcome"] == "FAIL"] == ["snapshots"]
    assert set(results["snapshots"]) == {"check", "outcome", "reason", "next_step", "traceback"}


def test_the_table_has_the_message_and_the_traceback_follows_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_skeleton("maze", tmp_path)
    code = folder / "envhub_maze" / "__init__.py"
    text = code.read_text("utf-8").replace("import random", "import no_such_module_anywhere")
    code.write_text(text, encoding="utf-8")
    assert run("check", str(folder)) == 1
    table, _, below = capsys.readouterr().out.partition("\nloads: Traceback")
    assert "No module named 'no_such_module_anywhere'" in table
    assert f'look at "{code}", line 5' in table
    assert "Traceback" not in table
    assert "envhub/worker" not in below


def test_settings_reach_the_environment(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "echo", "--set", "echo.length=3", "--json") == 0
    printed = capsys.readouterr()
    results = {entry["check"]: entry for entry in json.loads(printed.out)}
    assert printed.err == ""
    assert results["ends"]["reason"] == "refused after the end at step 3"


def test_a_wrong_setting_is_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "echo", "--set", "echo.lenght=3") == 2
    assert "did you mean 'length'?" in capsys.readouterr().err


def test_a_changed_data_file_is_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_skeleton("maze", tmp_path)
    (folder / "words.txt").write_text("north")
    with (folder / "envhub.toml").open("a", encoding="utf-8") as toml:
        toml.write(f'[[data]]\nname = "words.txt"\nsize = 5\nsha256 = "{"0" * 64}"\nsource = "bundled"\n')
    assert run("check", str(folder)) == 2
    assert "words.txt is not the declared file" in capsys.readouterr().err
