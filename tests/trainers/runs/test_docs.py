"""What docs/collect-and-eval.md shows runs, and what the commands take is in it."""

import re
from pathlib import Path

import pytest
import typer.main

from envhub.cli._app import app
from envhub_trainers import _policies

PAGE = (Path(__file__).parents[3] / "docs" / "collect-and-eval.md").read_text()


def test_the_snippets_run(url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: object) -> None:
    monkeypatch.setenv("ENVHUB_URL", url)
    monkeypatch.chdir(tmp_path)
    script, program = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "right.py").write_text(script)
    assert _policies.load("right.py:right", "frozenlake").make(0)("", {}) == "right"
    exec(compile(program, "collect-and-eval.md", "exec"), {})
    assert (tmp_path / "runs" / "python" / "episodes.jsonl").read_text().count("\n") == 20


@pytest.mark.parametrize("command", ["collect", "eval"])
def test_every_option_is_documented(command: str) -> None:
    found = typer.main.get_command(app).commands[command]  # type: ignore[attr-defined]
    options = {option for one in found.params for option in one.opts if option.startswith("--")}
    missing = {option for option in options if option not in PAGE} - {"--env", "--help"}
    assert not missing
