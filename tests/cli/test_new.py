"""`envhub new` writes an environment that works as it is."""

import subprocess
import sys
from pathlib import Path

import pytest

from envhub.cli import CommandError, main
from envhub.cli.new import write_skeleton
from envhub.spec import find


def run_its_test(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts=", str(folder)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder.parent,
        timeout=60,
    )


def test_the_skeleton_is_a_valid_spec_and_its_own_test_passes(tmp_path: Path) -> None:
    folder = write_skeleton("my-maze_2", tmp_path)
    spec = find(str(folder))
    assert (spec.name, spec.entry_point) == ("my-maze_2", "envhub_my_maze_2:MyMaze2Env")
    done = run_its_test(folder)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 passed" in done.stdout


def test_the_command_says_what_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["new", "maze"])
    assert not ended.value.code
    printed = capsys.readouterr().out
    assert "pip install pytest && pytest maze" in printed
    assert "envhub check ./maze" in printed
    assert (tmp_path / "maze" / "envhub.toml").is_file()


@pytest.mark.parametrize("name", ["", "My", "1maze", "a b", "a--b", "-a", "a-", "../a", "a/b", "a" * 41])
def test_an_unusable_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(CommandError, match="is not a usable name"):
        write_skeleton(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_python_keyword_is_refused_as_such(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="'class' is a Python keyword"):
        write_skeleton("class", tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("1.0, True, False, {", "1.0, False, False, {", "info offers no action at step"),
        ("guess = int(action)", "guess = 0", "the episode did not end within 100 steps"),
        ("1.0, True, False, {", "0.0, False, True, {", "without success"),
    ],
)
def test_the_skeletons_test_says_how_a_changed_environment_fails(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    folder = write_skeleton("maze", tmp_path)
    code = folder / "envhub_maze" / "__init__.py"
    text = code.read_text("utf-8")
    assert old in text
    code.write_text(text.replace(old, new), encoding="utf-8")
    done = run_its_test(folder)
    assert done.returncode == 1
    assert said in done.stdout


def test_a_bundled_specs_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="bundled spec"):
        write_skeleton("echo", tmp_path)


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    write_skeleton("maze", tmp_path)
    with pytest.raises(CommandError, match="exists already"):
        write_skeleton("maze", tmp_path)
