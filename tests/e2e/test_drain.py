"""SIGTERM drains: what is under way ends, nothing new begins, and the hub is gone in time."""

import signal
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from envhub.server import Token, append_token

pytestmark = pytest.mark.e2e

QUIET = ("--port", "0", "--json")

GATED = """
import pathlib, time
FOLDER = pathlib.Path({folder!r})

class Env:
    def reset(self, *, seed=None, options=None):
        return "start", {{}}

    def step(self, action):
        (FOLDER / "begun").touch()
        while not (FOLDER / "go").exists():
            time.sleep(0.01)
        return "done", 1.0, False, False, {{}}
"""


class Stage:
    """A hub with one step under way, which ends when it is let go."""

    def __init__(self, serve: Any, write_spec: Any, wait_until: Any, folder: Path, *options: str) -> None:
        spec = write_spec(GATED.format(folder=str(folder)), "[limits]\nstep_timeout_s = 3600\n")
        self.command = serve("--env", f"{spec.path}=2", "--workers", "1", *options, *QUIET)
        self.url: str = self.command.ready()["url"]
        self.tree = self.command.tree()
        self.answers: list[httpx.Response | httpx.HTTPError] = []
        self._folder = folder
        with httpx.Client(timeout=20) as http:
            opened = http.post(f"{self.url}/v1/envs/probe/sessions", json={"count": 2}).json()["sessions"]
            self.session, self.other = (one["id"] for one in opened)
        self._thread = threading.Thread(target=self._step)
        self._thread.start()
        wait_until((folder / "begun").exists)

    def _step(self) -> None:
        try:
            with httpx.Client(timeout=60) as http:
                self.answers.append(
                    http.post(f"{self.url}/v1/sessions/{self.session}/step", json={"action": "a"})
                )
        except httpx.HTTPError as error:
            self.answers.append(error)

    def let_go(self) -> None:
        (self._folder / "go").touch()

    def terminate(self) -> None:
        self.command.process.send_signal(signal.SIGTERM)

    def answer(self) -> httpx.Response | httpx.HTTPError:
        """What the client of the step heard."""
        self._thread.join(20)
        (answer,) = self.answers
        return answer


def _is_draining(http: httpx.Client, url: str) -> bool:
    answer = http.get(url + "/readyz")
    return answer.status_code == 503 and "draining" in answer.json()["error"]["message"]


def test_a_running_step_ends_and_nothing_new_begins(
    serve: Any, write_spec: Any, http: httpx.Client, processes: Any, wait_until: Any, tmp_path: Path
) -> None:
    stage = Stage(serve, write_spec, wait_until, tmp_path)
    stage.terminate()
    wait_until(lambda: _is_draining(http, stage.url))
    for path, body in (
        ("/v1/envs/probe/sessions", {"wait_s": 0}),
        (f"/v1/sessions/{stage.other}/step", {"action": "a"}),
        (f"/v1/sessions/{stage.other}/reset", {}),
    ):
        refused = http.post(stage.url + path, json=body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "not_ready"), path
        assert "draining" in refused.json()["error"]["message"]
        assert refused.headers["retry-after"]
    assert http.get(stage.url + "/healthz").status_code == 200
    stage.let_go()
    answer = stage.answer()
    assert isinstance(answer, httpx.Response) and answer.status_code == 200
    assert answer.json()["observation"] == "done"
    assert stage.command.end() == 0
    assert not any(map(processes.alive, stage.tree))
    assert "Traceback" not in stage.command.errors


def test_a_step_that_does_not_end_is_given_up_in_time(
    serve: Any, write_spec: Any, processes: Any, wait_until: Any, tmp_path: Path
) -> None:
    stage = Stage(serve, write_spec, wait_until, tmp_path, "--drain-timeout", "0.2")
    stage.terminate()
    assert stage.command.end() == 0
    answer = stage.answer()
    assert isinstance(answer, httpx.HTTPError) or answer.status_code in (410, 502, 503)
    assert not any(map(processes.alive, stage.tree))


@pytest.mark.parametrize("second", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_stops_at_once(
    serve: Any,
    write_spec: Any,
    http: httpx.Client,
    processes: Any,
    wait_until: Any,
    tmp_path: Path,
    second: signal.Signals,
) -> None:
    stage = Stage(serve, write_spec, wait_until, tmp_path, "--drain-timeout", "3600")
    stage.terminate()
    wait_until(lambda: _is_draining(http, stage.url))
    stage.command.process.send_signal(second)
    assert stage.command.end() == 0
    assert not any(map(processes.alive, stage.tree))
    stage.answer()


def test_ctrl_c_does_not_drain(
    serve: Any, write_spec: Any, processes: Any, wait_until: Any, tmp_path: Path
) -> None:
    stage = Stage(serve, write_spec, wait_until, tmp_path, "--drain-timeout", "3600")
    stage.command.interrupt()
    assert stage.command.end() == 0
    assert "Draining" not in stage.command.errors
    stage.answer()


def test_sigterm_while_it_loads_ends_it(
    serve: Any, write_spec: Any, processes: Any, wait_until: Any, tmp_path: Path
) -> None:
    began = tmp_path / "began"
    spec = write_spec(f"import pathlib, time\npathlib.Path({str(began)!r}).touch()\ntime.sleep(3600)\n")
    command = serve("--env", str(spec.path), "--drain-timeout", "3600", *QUIET)
    wait_until(began.exists)
    tree = command.tree()
    command.process.send_signal(signal.SIGTERM)
    assert command.end() == 0
    assert not any(map(processes.alive, tree))


def test_sessions_of_a_drained_hub_are_their_owners_in_the_next(serve: Any, tmp_path: Path) -> None:
    headers = {}
    for name in ("ann", "bob"):
        token, text = Token.make(name, "client", max_sessions=1)
        append_token(tmp_path / "tokens.toml", token)
        headers[name] = {"authorization": f"Bearer {text}"}
    arguments = ("--env", "echo=4", "--tokens", str(tmp_path / "tokens.toml"))
    arguments += ("--state-dir", str(tmp_path / "state"), *QUIET)
    step = {"action": "a", "step_index": 0}

    command = serve(*arguments)
    url = command.ready()["url"]
    with httpx.Client(base_url=url, headers=headers["ann"], timeout=20) as ann:
        session = ann.post("/v1/envs/echo/sessions").json()["sessions"][0]["id"]
        stepped = ann.post(f"/v1/sessions/{session}/step", json=step)
    command.process.send_signal(signal.SIGTERM)
    assert command.end() == 0

    url = serve(*arguments).ready()["url"]
    with (
        httpx.Client(base_url=url, headers=headers["ann"], timeout=20) as ann,
        httpx.Client(base_url=url, headers=headers["bob"], timeout=20) as bob,
    ):
        taken = bob.post(f"/v1/sessions/{session}/step", json=step)
        assert (taken.status_code, taken.json()["error"]["code"]) == (404, "unknown_session")
        again = ann.post(f"/v1/sessions/{session}/step", json=step)
        assert (again.status_code, again.content) == (200, stepped.content)
        over = ann.post("/v1/envs/echo/sessions")
        assert (over.status_code, over.json()["error"]["code"]) == (429, "quota_exceeded")
