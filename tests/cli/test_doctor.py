"""`envhub doctor` as it is typed."""

import json
import shutil
from pathlib import Path

import pytest

from envhub.cli import main
from envhub.spec import find


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a bundled spec."""
    monkeypatch.setenv("COLUMNS", "300")
    source = find("echo").path
    assert source is not None
    return Path(shutil.copytree(source, tmp_path / "echo", ignore=shutil.ignore_patterns("__pycache__")))


def test_all_is_well(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["doctor", str(folder), "--offline", "--store", str(tmp_path / "store"), "--port", "0"]
    assert run(*arguments) == 0
    printed = capsys.readouterr().out
    assert printed.splitlines()[0].split() == ["check", "of", "status", "found"]
    assert f"built echo: envhub build {folder}" in printed


def test_a_problem_is_a_failure(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = folder / "environment.yml"
    file.write_text(file.read_text().replace("python 3.11", "python 3.12"))
    assert run("doctor", str(folder), "--offline", "--store", str(tmp_path / "store"), "--json") == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["ok"] is False
    (problem,) = [one for one in answer["findings"] if one["status"] == "problem"]
    assert (problem["check"], problem["about"]) == ("lock", "echo")
    assert problem["mend"] == f"envhub lock {folder}"


def test_every_bundled_spec_is_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("doctor", "--offline", "--quick", "--store", str(tmp_path), "--json") == 0
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert {"echo", "frozenlake", "webshop"} <= {one["about"] for one in findings if one["check"] == "lock"}


def test_a_spec_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("doctor", "webshopp") != 0
    assert "webshop" in capsys.readouterr().err
