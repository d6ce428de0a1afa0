"""`envhub sessions` against a real hub with tokens."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from envhub.cli import main
from envhub.cli.sessions import _duration
from envhub.server import Token, append_token

from ..hubs import end

pytestmark = pytest.mark.e2e


class Running(NamedTuple):
    """A hub with an admin and two clients."""

    url: str
    tokens: dict[str, str]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    file = tmp_path_factory.mktemp("hub") / "tokens.toml"
    texts = {}
    for name, role in (("boss", "admin"), ("ann", "client"), ("bob", "client")):
        token, texts[name] = Token.make(name, "admin" if role == "admin" else "client")
        append_token(file, token)
    command = [sys.executable, "-m", "envhub", "serve", "--env", "echo=4", "--port", "0", "--json"]
    process = subprocess.Popen(
        [*command, "--tokens", str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={name: value for name, value in os.environ.items() if name != "ENVHUB_TOKEN"},
    )
    assert process.stdout is not None
    try:
        yield Running(json.loads(process.stdout.readline())["url"], texts)
    finally:
        status = end(process, signal.SIGINT)
    assert status == 0


@pytest.fixture(autouse=True)
def as_boss(hub: Running, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setenv("ENVHUB_URL", hub.url)
    monkeypatch.setenv("ENVHUB_TOKEN", hub.tokens["boss"])
    yield
    headers = {"authorization": f"Bearer {hub.tokens['boss']}"}
    with httpx.Client(base_url=hub.url, headers=headers) as client:
        left = [one["id"] for one in client.get("/v1/sessions").json()["sessions"]]
        client.post("/v1/close", json={"session_ids": left})


def opened(hub: Running, name: str, **request: Any) -> str:
    answer = httpx.post(
        f"{hub.url}/v1/envs/echo/sessions",
        json=request,
        headers={"authorization": f"Bearer {hub.tokens[name]}"},
    )
    session: str = answer.json()["sessions"][0]["id"]
    return session


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["sessions", *arguments])
    return int(ended.value.code or 0)


def test_the_list(hub: Running, capsys: pytest.CaptureFixture[str]) -> None:
    hers, his = opened(hub, "ann"), opened(hub, "bob", reset=False)
    assert run("list") == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["id", "env", "owner", "status", "step", "return", "age", "expires", "in"]
    assert [row.split()[:6] for row in rows] == [
        [hers, "echo", "ann", "running", "0", "0"],
        [his, "echo", "bob", "new", "0", "0"],
    ]
    assert run("list", "--json") == 0
    assert [one["owner"] for one in json.loads(capsys.readouterr().out)] == ["ann", "bob"]
    assert run("list", "--token", hub.tokens["bob"], "--json") == 0
    assert [one["id"] for one in json.loads(capsys.readouterr().out)] == [his], "a client's own only"


def test_one_of_them(hub: Running, capsys: pytest.CaptureFixture[str]) -> None:
    session = opened(hub, "ann", seeds=[7], labels={"run": "a1"})
    assert run("show", session) == 0
    shown = capsys.readouterr().out
    for words in (session, "ann", "running", "7", "run=a1", "10 min 0 s"):
        assert words in shown
    assert run("show", session, "--json") == 0
    assert json.loads(capsys.readouterr().out)["seed"] == 7


def test_kill(hub: Running, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, third = (opened(hub, "ann") for _ in range(3))
    assert run("kill", first, second) == 0
    assert capsys.readouterr().out == f"closed {first}\nclosed {second}\n"
    run("list", "--json")
    assert [one["id"] for one in json.loads(capsys.readouterr().out)] == [third]
    headers = {"authorization": f"Bearer {hub.tokens['ann']}"}
    told = httpx.get(f"{hub.url}/v1/sessions/{first}", headers=headers)
    assert told.json()["error"]["code"] == "session_closed"
    assert run("kill", third, "--token", hub.tokens["bob"]) == 1, "another's is not there for a client"
    assert third in capsys.readouterr().err
    assert run("kill", third, "--token", hub.tokens["ann"], "--json") == 0
    assert json.loads(capsys.readouterr().out) == [{"id": third, "closed": True, "reason": None}]


def test_kill_tries_each_and_says_what_became_of_it(hub: Running, capsys: pytest.CaptureFixture[str]) -> None:
    first, second, third = (opened(hub, "ann") for _ in range(3))
    assert run("kill", "s-none", first, "s-[b]", second) == 1
    said = capsys.readouterr()
    assert said.out == f"closed {first}\nclosed {second}\n"
    assert [line.partition(":")[0] for line in said.err.splitlines()] == [
        "not closed s-none",
        "not closed s-[b]",
    ]
    assert run("kill", first, third, "--json") == 1
    gone, ended = json.loads(capsys.readouterr().out)
    assert (gone["id"], gone["closed"]) == (first, False) and "was closed" in gone["reason"]
    assert ended == {"id": third, "closed": True, "reason": None}
    run("list", "--json")
    assert json.loads(capsys.readouterr().out) == []


@pytest.mark.parametrize("id", ["", " ", "..", "../s-1", "s-1/"])
def test_kill_refuses_what_is_no_id(hub: Running, capsys: pytest.CaptureFixture[str], id: str) -> None:
    assert run("kill", id) == 1
    assert "no id of a session" in " ".join(capsys.readouterr().err.split())


def test_what_is_wrong_is_one_message(
    hub: Running, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for arguments, words in (
        (["list", "--token", "ann.wrong"], "--token TOKEN, or set ENVHUB_TOKEN"),
        (["list", "--hub", "http://127.0.0.1:9"], "could not be reached"),
        (["list", "--hub", "nonsense"], "no URL of a hub"),
        (["show", "s-none"], "no open session 's-none'"),
        (["kill", "s-none", "--token", "ann.wrong"], "--token TOKEN, or set ENVHUB_TOKEN"),
    ):
        assert run(*arguments) == 2
        said = capsys.readouterr()
        assert words in said.err and said.err.count("\n") == 1 and said.out == ""
    monkeypatch.delenv("ENVHUB_TOKEN")
    assert run("list") == 2
    assert "needs a token" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-1, "0 s"),
        (0.4, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min 0 s"),
        (3599, "59 min 59 s"),
        (7800, "2 h 10 min"),
    ],
)
def test_durations(seconds: float, words: str) -> None:
    assert _duration(seconds) == words
