"""Tokens are shown to the hub in many ways, right and wrong; none is ever repeated or written down."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import InvalidStatus

from envhub.server import Token, append_token

SECRET = "one-token-to-open-everything-5f2c"
WRONG = "a-token-of-another-hub-77aa"

SPYING = """
import os

class Env:
    def reset(self, *, seed=None, options=None):
        return "start", {}

    def step(self, action):
        if action == "fail":
            raise RuntimeError("on purpose")
        print("environment is", dict(os.environ), open("/proc/self/environ").read())
        return repr(dict(os.environ)) + open("/proc/self/environ").read(), 0.0, False, False, {}
"""


@pytest.mark.parametrize("log_format", ["json", "pretty"])
def test_no_log_no_answer_and_no_environment_has_a_token(
    start_hub: Any, write_spec: Any, tmp_path: Path, log_format: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec, file = write_spec(SPYING), tmp_path / "tokens.toml"
    token, text = Token.make("trainer", "client", requests_per_s=1000.0, max_sessions=4)
    append_token(file, token)
    monkeypatch.setenv("ENVHUB_TOKEN", SECRET)
    record, state = tmp_path / "record", tmp_path / "state"
    kept = ("--record", str(record), "--state-dir", str(state))
    hub = start_hub(
        *("-v", "--log-format", log_format, "--env", f"{spec.path}=4", "--tokens", str(file), *kept)
    )
    said: list[str] = []

    def tell(answer: httpx.Response) -> None:
        answer.read()
        said.append(f"{answer.headers} {answer.text}")

    shown = [
        *(f"Bearer {SECRET}", f"bearer {text}", f"Bearer {WRONG}", f"Bearer trainer.{WRONG}"),
        *(f"Basic {SECRET}", SECRET, f"Bearer {SECRET}x", f"Bearer {text}x", "Bearer"),
    ]
    for header in shown:
        with hub.client(headers={"Authorization": header}, event_hooks={"response": [tell]}) as client:
            attack(client)
        stream(hub, header, said)
    with hub.raw() as connection:
        connection.sendall(f"GET /{SECRET} HTTP/1.1\r\nAuthorization Bearer {SECRET}\r\n\r\n".encode())
        said.append(connection.recv(65536).decode())
    written = [file.read_text(), hub.log]
    written += [
        each.read_text() for folder in (record, state) for each in folder.rglob("*") if each.is_file()
    ]
    assert "on purpose" in hub.log and "environment is" in hub.log, "the log is there to be looked at"
    assert any("unauthorized" in one for one in said) and any("session" in one for one in said)
    for secret in (SECRET, WRONG, text, text.partition(".")[2]):
        assert not any(secret in one for one in [*said, *written])


def attack(client: httpx.Client) -> None:
    """Calls that go well and calls that go wrong in every way."""
    for path in ("/", "/healthz", "/metrics", "/v1/envs", "/v1/sessions", "/openapi.json", "/nowhere"):
        client.get(path)
    opened = client.post("/v1/envs/probe/sessions", json={"wait_s": 0})
    session = opened.json()["sessions"][0]["id"] if opened.status_code == 200 else "s-none"
    for action in ("look", "fail", "again", 5):
        client.post(f"/v1/sessions/{session}/step", json={"action": action})
    client.post(f"/v1/sessions/{session}/step", content=b"{")
    client.post("/v1/step", content=b"x", headers={"Origin": "http://evil.example"})
    client.get(f"/v1/sessions/{session}/trajectory")
    client.put("/v1/envs")
    client.delete(f"/v1/sessions/{session}")


def stream(hub: Any, header: str, said: list[str]) -> None:
    try:
        with hub.stream(additional_headers={"Authorization": header}) as ws:
            for request in ({"id": 1, "op": "open", "env": "probe"}, {"id": 2, "op": "dance"}):
                ws.send(json.dumps(request))
                said.append(str(ws.recv(timeout=20)))
    except InvalidStatus as refused:
        said.append(f"{refused.response.headers} {refused.response.body!r}")
