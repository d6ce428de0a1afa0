"""The commands as they are typed: list, show, version, and how errors are printed."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import envhub
from envhub.cli import main


@pytest.fixture(autouse=True)
def wide_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "300")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("--version") == 0
    assert capsys.readouterr().out == f"envhub {envhub.__version__}\n"


def test_list_names_every_bundled_spec(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["name", "version", "summary"]
    assert {"echo", "frozenlake"} <= {line.split()[0] for line in lines}


def test_list_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("list", "--json") == 0
    listed = {entry["name"]: entry for entry in json.loads(capsys.readouterr().out)}
    assert set(listed["echo"]) == {"name", "version", "summary", "path"}
    assert Path(listed["echo"]["path"]).name == "echo"


def test_list_leaves_a_broken_plugin_out_and_says_so(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "broken-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[envhub.specs]\nmaze = no_such_module_anywhere\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert run("list") == 0
    printed = capsys.readouterr()
    assert "echo" in printed.out
    assert "left out: plug-in 'maze'" in printed.err


def test_show_prints_what_is_declared(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "frozenlake") == 0
    shown = capsys.readouterr().out
    for part in ("env_max_steps", "max_episode_steps", "train", "envhub_frozenlake:FrozenLakeEnv"):
        assert part in shown
    assert "[Text, up to 100000 characters]" in shown
    assert "envhub serve --env frozenlake" in shown


def test_show_fits_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert run("show", "webshop") == 0
    shown = re.sub(r"\x1b\[\d*m", "", capsys.readouterr().out)
    table = shown.partition("KEY=VALUE\n")[2].partition("\n\n")[0].splitlines()
    assert table[0].split() == ["setting", "type", "default", "meaning"]
    assert table[1].split() == [
        "mode",
        "str",
        '"fixed"',
        *"fixed or faithful; fixed: the shop without the".split(),
    ]
    assert len(table) < 28


def test_show_offers_no_setting_without_a_choice(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "gymnasium:CartPole-v1") == 0
    shown = capsys.readouterr().out
    first_words = [line.split()[0] for line in shown.splitlines() if line]
    assert "disable_env_checker" in first_words
    assert "id" not in first_words
    assert "Any other KEY goes to gymnasium:make" in shown


def test_the_help_has_no_types_beside_flags(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("serve", "show", "new"):
        assert run(command, "--help") == 0
        shown = capsys.readouterr().out
        assert "<bool>" not in shown
        assert "{name}" not in shown


def test_show_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "gymnasium:CartPole-v1", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["entry_point"] == "gymnasium:make"
    assert shown["config"]["id"]["default"] == "CartPole-v1"
    assert shown["path"] is None


def test_a_wrong_name_is_one_message_and_status_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("show", "ecko") == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("envhub: no spec named 'ecko' (did you mean 'echo'?)")
    assert printed.err.count("\n") == 1


def test_a_name_without_its_option_is_answered_with_the_option(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("serve", "webshop", "echo=2") == 2
    assert capsys.readouterr().err == (
        "envhub: serve takes options only: did you mean --env webshop --env echo=2?\n"
    )


def test_no_command_prints_the_help() -> None:
    assert run() == 2


def test_listing_imports_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from envhub.cli import main\n"
        "try:\n    main(['list'])\nexcept SystemExit:\n    pass\n"
        "heavy = {'fastapi', 'uvicorn', 'gymnasium', 'numpy', 'pyarrow', 'spacy'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_without_the_extra_the_command_names_it() -> None:
    code = "import sys\nsys.modules['typer'] = None\nfrom envhub.cli import main\nmain(['list'])\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        "envhub: the command line needs typer, which is not installed: pip install '.[serve]' in a clone of "
        "EnvHub, pip install 'envhub[serve]' anywhere else\n"
    )


INTERRUPTED = """
import os, signal, sys, envhub.cli

class Finalizer:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)  # what is raised here is lost

class Finder:
    def find_spec(self, name, *_):
        if name == {module!r}:
            Finalizer()

sys.meta_path.insert(0, Finder())
envhub.cli.main({arguments!r})
"""


@pytest.mark.parametrize(
    ("module", "arguments"),
    [
        ("envhub.cli._app", ["list"]),
        ("envhub.cli._serving", ["serve", "--env", "echo"]),
        ("envhub_trainers.collect", ["collect", "--env", "echo", "--out", "nowhere", "--policy", "expert"]),
        ("envhub_trainers.collect", ["eval", "--env", "echo", "--out", "nowhere", "--policy", "expert"]),
    ],
)
def test_an_interrupt_while_a_command_is_imported_ends_it_quietly(module: str, arguments: list[str]) -> None:
    program = INTERRUPTED.format(module=module, arguments=arguments)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
