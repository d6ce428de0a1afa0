"""`envhub token`: what it prints, what it keeps, what it refuses."""

import json
from pathlib import Path

import pytest

from envhub.cli import main
from envhub.server import Tokens, read_tokens


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.delenv("ENVHUB_TOKEN", raising=False)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["token", *arguments])
    return int(ended.value.code or 0)


def test_a_new_token_is_printed_once_and_opens(capsys: pytest.CaptureFixture[str]) -> None:
    limits = ("--max-sessions", "64", "--requests-per-s", "200", "--file", "mine.toml")
    assert run("new", "trainer", *limits) == 0
    printed = capsys.readouterr()
    text = printed.out.strip()
    assert printed.out.count("\n") == 1 and text.startswith("trainer.")
    assert "mine.toml" in printed.err and text not in printed.err
    assert text.partition(".")[2] not in Path("mine.toml").read_text()
    (kept,) = read_tokens(Path("mine.toml"))
    assert (kept.role, kept.max_sessions, kept.requests_per_s) == ("client", 64, 200.0)
    caller = Tokens([kept]).find(f"Bearer {text}".encode())
    assert caller is not None and caller.name == "trainer"


def test_the_list_has_names_roles_and_limits_only(capsys: pytest.CaptureFixture[str]) -> None:
    run("new", "trainer", "--max-sessions", "64")
    run("new", "boss", "--role", "admin")
    secrets = capsys.readouterr().out
    assert run("list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["name", "role", "max", "sessions", "requests/s"]
    assert [line.split() for line in lines[1:]] == [
        ["trainer", "client", "64", "any"],
        ["boss", "admin", "any", "any"],
    ]
    assert run("list", "--json") == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed[1] == {"name": "boss", "role": "admin", "max_sessions": None, "requests_per_s": None}
    assert secrets.count("\n") == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["new", "trainer"], "named 'trainer' already"),
        (["new", "two words"], "no name of a token"),
        (["new", "x", "--role", "king"], "neither client nor admin"),
        (["new", "x", "--requests-per-s", "0"], "more than 0"),
        (["new", "x", "--max-sessions", "-1"], "--max-sessions"),
        (["new", "x", "--file", "no/such/folder/tokens.toml"], "cannot be written"),
        (["list", "--file", "none.toml"], "cannot be read"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_is_wrong_is_said_and_nothing_changes(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    run("new", "trainer")
    before = Path("tokens.toml").read_text()
    capsys.readouterr()
    assert run(*arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == "" and words in printed.err
    assert Path("tokens.toml").read_text() == before


def test_serve_refuses_a_tokens_file_that_lets_nobody_in(capsys: pytest.CaptureFixture[str]) -> None:
    Path("tokens.toml").write_text("# none yet\n")
    Path("hub.toml").write_text('[serve]\nport = 0\ntokens = "tokens.toml"\n')
    for arguments in (["--port", "0", "--tokens", "tokens.toml"], ["--config", "hub.toml"]):
        with pytest.raises(SystemExit) as ended:
            main(["serve", "--env", "echo", *arguments])
        assert ended.value.code == 2
        assert "envhub token new" in capsys.readouterr().err
