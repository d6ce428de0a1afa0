"""`envhub pack` and `envhub build --from` as they are typed."""

import json
from pathlib import Path

import pytest

from envhub.cli import main


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    return int(ended.value.code or 0)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["build", "echo", "--from", "x.envhub"], "--from says which spec"),
        (["build", "--all", "--from", "x.envhub"], "--from says which spec"),
        (["build", "echo", "--dir", "x"], "--dir goes with --from"),
        (["build"], "name one spec"),
        (["build", "--from", "none.envhub"], "none.envhub is not there"),
        (["pack", "gymnasium:CartPole-v1"], "no folder"),
        (["pack", "echo", "--offline"], "--offline fetches nothing"),
    ],
)
def test_what_cannot_be_is_told(
    arguments: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(*arguments, "--store", str(tmp_path)) == 2
    assert complaint in " ".join(capsys.readouterr().err.split())


def test_what_was_packed_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from envhub.build import Pack

    pack = Pack(tmp_path / "a.envhub", "a", "1", "sha256:ab", "linux-64", 2**21, 3)
    monkeypatch.setattr("envhub.build.pack", lambda *arguments, **named: pack)
    monkeypatch.setenv("COLUMNS", "300")
    assert run("pack", "echo") == 0
    assert "Build it elsewhere: envhub build --from a.envhub" in capsys.readouterr().out
    assert run("pack", "echo", "--json") == 0
    assert json.loads(capsys.readouterr().out) == {
        "file": str(tmp_path / "a.envhub"),
        "spec": "a",
        "version": "1",
        "digest": "sha256:ab",
        "platform": "linux-64",
        "size": 2**21,
        "archives": 3,
    }
