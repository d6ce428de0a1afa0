"""What the log says: who, what, and never a secret."""

import io
import json
import logging
import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from envhub.server import set_up_logs

ABOUT = {"request_id": "r-1", "session": "s-1", "env": "echo", "worker": 0, "pid": 7, "code": "not_ready"}


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """The root logger, which gets its handlers back."""
    found = logging.getLogger()
    handlers, level = list(found.handlers), found.level
    yield found
    found.handlers[:], found.level = handlers, level


def written(as_json: bool, root: logging.Logger, *arguments: Any, **more: Any) -> str:
    stream = io.StringIO()
    set_up_logs(stream, as_json, logging.INFO)
    logging.getLogger("envhub.test").warning(*arguments, **more)
    logging.getLogger("envhub.test").debug("too little")
    return stream.getvalue()


def test_json_has_everything_in_one_line(root: logging.Logger) -> None:
    line = written(True, root, "a\nb %s", "c", extra=ABOUT)
    assert line.count("\n") == 1
    entry = json.loads(line)
    assert entry.pop("time").endswith("+00:00")
    assert entry == {"level": "warning", "logger": "envhub.test", "message": "a\nb c", **ABOUT}


def test_json_has_the_traceback_of_a_defect(root: logging.Logger) -> None:
    try:
        raise KeyError("x")
    except KeyError as error:
        line = written(True, root, "defect", exc_info=error)
    assert "KeyError: 'x'" in json.loads(line)["traceback"]


def test_pretty_shows_what_it_is_about_and_lets_no_control_character_through(root: logging.Logger) -> None:
    text = written(False, root, "first\nsecond \x1b[31m", extra={"env": "echo", "worker": 1})
    first, second = text.splitlines()
    assert first.endswith("warning envhub.test: first  [env=echo worker=1]")
    assert second == "    second \\x1b[31m"


def entries(caplog: pytest.LogCaptureFixture, logger: str) -> list[logging.LogRecord]:
    return [record for record in caplog.records if record.name == logger]


def test_an_answer_5xx_is_logged_with_its_request_id(
    make_server: Any, make_plan: Any, caplog: pytest.LogCaptureFixture
) -> None:
    server = make_server(make_plan("echo", 1, fail_on="fail"), token="the-token")
    headers = {"Authorization": "Bearer the-token", "X-Request-Id": "mine-1"}
    with server.client(headers=headers) as client:
        (one,) = client.post("/v1/envs/echo/sessions", json={}).json()["sessions"]
        assert client.post(f"/v1/sessions/{one['id']}/step", json={"action": "fail"}).status_code == 502
        assert client.get("/v1/envs/none", headers={"X-Request-Id": "mine-2"}).status_code == 404
        (entry,) = entries(caplog, "envhub.server")
        assert (entry.request_id, entry.code, entry.session) == ("mine-1", "environment_error", one["id"])  # type: ignore[attr-defined]
        (failed,) = entries(caplog, "envhub.session")
        assert (failed.session, failed.env, failed.worker) == (one["id"], "echo", 0)  # type: ignore[attr-defined]
        with server.stream(additional_headers=headers) as stream:
            stream.send(json.dumps({"id": 5, "op": "open", "env": "echo", "wait_s": 0}))
            assert "no_free_replica" in stream.recv()
        entry = entries(caplog, "envhub.server")[-1]
        assert entry.getMessage().startswith("stream message 5 answered 503 no_free_replica")
        assert entry.request_id == "mine-1"  # type: ignore[attr-defined]
    assert "the-token" not in caplog.text


def test_the_end_of_a_session_by_a_fault_is_logged_once(
    make_server: Any, make_plan: Any, write_spec: Any, caplog: pytest.LogCaptureFixture, wait_until: Any
) -> None:
    source = (
        "class Env:\n    def reset(self, *, seed=None, options=None):\n        return 'start', {}\n"
        "    def step(self, action):\n        return action, 0.0, False, False, {}\n"
    )
    server = make_server(make_plan(write_spec(source, "replayable = false\n"), 2))
    with server.client() as client:
        lost, closed = client.post("/v1/envs/probe/sessions", json={"count": 2}).json()["sessions"]
        client.delete(f"/v1/sessions/{closed['id']}")
        os.kill(server.do(lambda: server.hub.pools["probe"]._workers[0].pid), signal.SIGKILL)
        wait_until(lambda: client.get(f"/v1/sessions/{lost['id']}").status_code == 502)
        message = client.get(f"/v1/sessions/{lost['id']}").json()["error"]["message"]
    (entry,) = entries(caplog, "envhub.session")
    assert (entry.session, entry.code) == (lost["id"], "session_lost")  # type: ignore[attr-defined]
    assert entry.getMessage() == message
    assert "was killed by signal 9" in message and "no request of this session was under way" in message
    died = next(one for one in entries(caplog, "envhub.pool") if "started again" in one.getMessage())
    assert (died.env, died.worker) == ("probe", 0)  # type: ignore[attr-defined]
