"""`envhub lock`, as it is typed."""

import json
from pathlib import Path

import pytest

from envhub.cli import main
from envhub.cli.new import write_skeleton

from .channel import SUBDIR, VERSION, Channel
from .inputs import write_inputs

pytestmark = pytest.mark.usefixtures("only_local")


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["lock", *arguments])
    return int(ended.value.code or 0)


def test_it_locks_and_then_says_fresh_until_something_changes(
    channel: Channel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "probe"
    write_inputs(folder, channel)

    assert run(str(folder), "--check") == 1
    out, err = capsys.readouterr()
    assert out.splitlines()[1].split(maxsplit=2)[:2] == ["probe", "stale"]
    assert "conda-lock.yml is missing" in out and "requirements.lock is missing" in out
    assert f"envhub lock {folder}" in err
    assert not (folder / "conda-lock.yml").exists()

    assert run(str(folder), "--json") == 0
    (locked,) = json.loads(capsys.readouterr().out)
    assert (locked["spec"], locked["python"], locked["conda"], locked["pypi"]) == ("probe", VERSION, 3, 1)
    assert [Path(file).name for file in locked["changed"]] == [
        "virtual-packages.yml",
        "conda-lock.yml",
        "requirements.lock",
    ]

    assert run(str(folder), "--check") == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["probe", "fresh"]
    assert run(str(folder), "--check", "--json") == 0
    assert json.loads(capsys.readouterr().out) == [
        {"spec": "probe", "fresh": True, "reasons": [], "notes": []}
    ]

    lock = (folder / "conda-lock.yml").read_text()
    (folder / "conda-lock.yml").write_text(lock.replace("    sha256: ", "    sha512: "))
    assert run(str(folder), "--check", "--json") == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert not found["fresh"] and "has no sha256" in found["reasons"][0]
    (folder / "conda-lock.yml").write_text(lock)

    (folder / "requirements.in").write_text("slate\n")
    assert run(str(folder), "--check", "--json") == 1
    (found,) = json.loads(capsys.readouterr().out)
    assert not found["fresh"]
    assert "requirements.in asks for slate, not locked in requirements.lock" in found["reasons"]


def test_every_bundled_spec_is_checked(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--check", "--all") == 0
    lines = capsys.readouterr().out.splitlines()
    assert {"echo", "frozenlake", "webshop"} <= {line.split()[0] for line in lines}


def test_of_several_a_failed_one_does_not_keep_the_others(
    channel: Channel, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    specs = [
        write_inputs(tmp_path / "none", channel, conda=("nonesuch",), pypi=None),
        write_inputs(tmp_path / "some", channel, conda=(), pypi=None),
    ]
    monkeypatch.setattr("envhub.cli.lock.bundled", lambda: specs)
    assert run("--all") == 1
    out, err = capsys.readouterr()
    assert "not locked: probe: " in err and "nonesuch" in err
    assert f"probe: Python {VERSION}, 1 conda and 0 PyPI packages" in out
    assert (tmp_path / "some" / "conda-lock.yml").is_file()


def test_a_failure_is_one_message_and_status_2(
    channel: Channel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_inputs(tmp_path / "probe", channel, conda=("nonesuch",))
    assert run(str(tmp_path / "probe")) == 2
    assert "envhub: probe: " in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["webshop", "--all"]])
def test_one_spec_or_all(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(*arguments) == 2
    assert "name one spec, or all bundled ones with --all" in capsys.readouterr().err


def test_the_skeleton_can_be_locked(
    channel: Channel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write_skeleton("maze", tmp_path)
    environment = folder / "environment.yml"
    text = environment.read_text()
    assert "- python 3.11.*\n" in text and "- linux-64\n" in text
    environment.write_text(text.replace("python 3.11.*", f"python {VERSION}").replace("linux-64", SUBDIR))
    assert run(str(folder), "--channel", channel.url) == 0
    assert f"maze: Python {VERSION}, 1 conda and 0 PyPI packages" in capsys.readouterr().out
    assert run(str(folder), "--check") == 0
