"""The examples of the documentation, run as a user runs them."""

import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "docs" / "examples"


def _start(name: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def _run(name: str, *arguments: str) -> str:
    done = _start(name, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("env", ["frozenlake", "webshop", "echo", "CartPole-v1"])
def test_the_random_agent_plays_any_environment(url: str, env: str) -> None:
    out = _run("random_agent.py", "--url", url, "--env", env, "--episodes", "2")
    assert re.findall(r"episode (\d): return", out) == ["0", "1"]


def test_the_scripted_buyer_does_well(url: str) -> None:
    out = _run("webshop_buyer.py", "--url", url, "--episodes", "40")
    found = re.fullmatch(r"40 purchases: mean reward ([\d.]+), (\d+) of them perfect\n", out)
    assert found is not None, out
    assert float(found[1]) > 0.4 and int(found[2]) > 0


class Model(BaseHTTPRequestHandler):
    """An OpenAI-compatible endpoint whose model searches, opens the first product and buys it."""

    seen: list[dict[str, Any]]
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.seen.append({"path": self.path, "key": self.headers["authorization"], **request})
        said = f"Let me think.\nAction: {self._act(request['messages'][-1]['content'])}"
        body = json.dumps({"choices": [{"message": {"role": "assistant", "content": said}}]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _act(self, seen: str) -> str:
        actions = json.loads(seen.rpartition("Available actions: ")[2])
        if actions["has_search_bar"]:
            return "search[compact binoculars]"
        if "buy now" in actions["clickables"]:
            return "click[buy now]"
        return f"click[{actions['clickables'][-1]}]"

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@pytest.fixture
def model() -> Iterator[tuple[str, list[dict[str, Any]]]]:
    class OneModel(Model):
        seen: list[dict[str, Any]] = []  # noqa: RUF012

    with ThreadingHTTPServer(("127.0.0.1", 0), OneModel) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/v1", OneModel.seen
        server.shutdown()
        thread.join()


def test_a_chat_model_that_is_not_there_is_said_once(url: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        dead = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
    arguments = ["--url", url, "--base-url", dead, "--model", "m", "--episodes", "20"]
    done = _start("chat_agent.py", *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"the model can't be asked: no answer from {dead}/chat/completions: ")
    assert done.stderr.count("\n") == 1


def test_a_chat_model_that_refuses_is_quoted_once(url: str) -> None:
    """The hub itself is an endpoint that knows no such path."""
    arguments = ["--url", url, "--base-url", f"{url}/v1", "--model", "m"]
    done = _start("chat_agent.py", *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.match(rf"the model can't be asked: {url}/v1/chat/completions answered 404: .*\n\Z", done.stderr)


def test_a_chat_model_plays_through_any_openai_compatible_endpoint(
    url: str, model: tuple[str, list[dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    base_url, seen = model
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    out = _run("chat_agent.py", "--url", url, "--base-url", base_url, "--model", "m", "--episodes", "3")
    assert re.findall(r"episode (\d): return [\d.]+ in 3 steps\n", out) == ["0", "1", "2"]
    assert {(request["path"], request["key"], request["model"]) for request in seen} == {
        ("/v1/chat/completions", "Bearer key", "m")
    }
    longest = max((request["messages"] for request in seen), key=len)
    assert [message["role"] for message in longest] == ["system", "user", *["assistant", "user"] * 2]
    assert "click[" in longest[0]["content"]
