"""With `--log-format json` every line of standard error is an entry of the log."""

import contextlib
import json
import os
import signal
import socket
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

pytestmark = pytest.mark.e2e

TALKS = """
import pathlib, time
FOLDER = pathlib.Path({folder!r})


class Env:
    def reset(self, *, seed=None, options=None):
        print("an environment prints")
        return 0, {{}}

    def step(self, action):
        if action == "fail":
            raise ValueError("the environment\\nfails")
        (FOLDER / "begun").touch()
        time.sleep(3600)
"""
LOSSY = "replayable = false\n[limits]\nstep_timeout_s = 3600\n"


def entries(command: Any) -> list[dict[str, Any]]:
    """The lines of standard error; each must be an object with the fields of an entry."""
    found = []
    for line in command.errors.splitlines():
        entry = json.loads(line)
        assert isinstance(entry, dict) and {"time", "level", "logger", "message"} <= set(entry), line
        found.append(entry)
    return found


def about(command: Any, words: str) -> dict[str, Any]:
    """The one entry that has these words."""
    (entry,) = [one for one in entries(command) if words in one["message"]]
    return entry


def test_every_line_is_an_entry_from_loading_to_the_end(
    serve: Any, http: httpx.Client, write_spec: Any, wait_until: Any, tmp_path: Path
) -> None:
    talks = write_spec(TALKS.format(folder=str(tmp_path)), LOSSY)
    arguments = ("--env", "echo=4", "--env", f"{talks.path}=1", "--port", "0", "--json", "--verbose")
    arguments += ("--log-format", "json", "--state-dir", str(tmp_path / "state"), "--drain-timeout", "0.1")
    command = serve(*arguments)
    url = command.ready()["url"]

    (lost,) = http.post(f"{url}/v1/envs/probe/sessions", json={}).json()["sessions"]
    (kept,) = http.post(f"{url}/v1/envs/echo/sessions", json={}).json()["sessions"]
    http.post(f"{url}/v1/sessions/{lost['id']}/step", json={"action": "fail"})
    http.post(f"{url}/v1/sessions/{lost['id']}/reset", json={})
    http.post(f"{url}/v1/sessions/{kept['id']}/step", json={"action": "a"})
    for pid in command.tree():
        with contextlib.suppress(ProcessLookupError):  # its template ended it
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: http.get(f"{url}/v1/sessions/{lost['id']}").status_code == 502)
    wait_until(lambda: http.get(f"{url}/readyz").status_code == 200)
    http.post(f"{url}/v1/sessions/{kept['id']}/step", json={"action": "b"})
    with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=20) as connection:
        connection.sendall(b"no HTTP\r\n\r\n")
        assert connection.recv(100)
    with pytest.raises(InvalidStatus), connect(f"ws{url[4:]}/v1/stream", origin="http://elsewhere.test"):  # type: ignore[arg-type]
        pass
    (busy,) = http.post(f"{url}/v1/envs/probe/sessions", json={}).json()["sessions"]
    step = threading.Thread(target=_step, args=(f"{url}/v1/sessions/{busy['id']}/step",))
    step.start()
    wait_until((tmp_path / "begun").exists)
    command.process.send_signal(signal.SIGTERM)
    assert command.end() == 0
    step.join(20)

    said = [entry["message"] for entry in entries(command)]
    for words in ("Loading echo, probe …", "Ready at http", "Draining for at most", "Stopping …"):
        assert sum(message.startswith(words) for message in said) == 1, words
    assert "uvicorn.error" in {entry["logger"] for entry in entries(command)}
    gone = next(one for one in entries(command) if one.get("code") == "session_lost")
    assert (gone["session"], gone["env"], gone["worker"]) == (lost["id"], "probe", 0)
    assert "the environment" in json.dumps(said) and "an environment prints" in said
    assert not [message for message in said if "handshake" in message]
    assert not [one for one in entries(command) if one.get("session") == kept["id"]], "it has not ended"

    again = serve(*arguments)
    url = again.ready()["url"]
    resumed = about(again, f"session {kept['id']} goes on")
    assert (resumed["env"], resumed["session"], resumed["level"]) == ("echo", kept["id"], "info")
    assert isinstance(resumed["worker"], int)
    assert about(again, "echo: going on with sessions of the hub before: 1")["env"] == "echo"
    metrics = http.get(f"{url}/metrics").text
    assert 'envhub_sessions_resumed_total{env="echo"} 1.0' in metrics
    wait_until(lambda: 'envhub_replays_total{env="echo"} 0.0' not in http.get(f"{url}/metrics").text)
    assert 'envhub_sessions_opened_total{env="echo"} 0.0' in metrics


def _step(url: str) -> None:
    """Takes a step that is still under way when the hub ends."""
    with contextlib.suppress(httpx.HTTPError):
        httpx.post(url, json={"action": "wait"}, timeout=60)


@pytest.mark.parametrize("chosen", [("--log-format", "json"), ()], ids=["chosen", "default"])
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--env", "nosuchspec"), "nosuchspec"),
        (("--env", "echo", "--host", "0.0.0.0"), "without a token"),
        (("--env", "gymnasium:no_such_module_at_all:X-v0", "--port", "0"), "no_such_module_at_all"),
    ],
)
def test_what_keeps_the_hub_from_starting_is_an_entry_too(
    serve: Any, arguments: tuple[str, ...], words: str, chosen: tuple[str, ...]
) -> None:
    command = serve(*arguments, *chosen)
    assert command.process.wait(60) == 2
    assert words in entries(command)[-1]["message"]
    assert entries(command)[-1]["level"] == "error"
