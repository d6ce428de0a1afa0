"""What an operator sees of the real command: its log, its care for workers, why it is not ready."""

import json
import os
import signal
from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.e2e

SECRET = "a-token-nobody-may-read"

LEAKY = """
import os
KEPT = []


class Env:
    def reset(self, *, seed=None, options=None):
        if options and os.path.exists(options["flag"]):
            os._exit(5)
        self.seen = 0
        return 0, {}

    def step(self, action):
        KEPT.append(os.urandom(1) * 2**20)
        self.seen += 1
        return self.seen, 0.0, False, False, {}
"""


@pytest.mark.parametrize("form", ["json", "pretty"])
def test_the_log_is_in_the_form_asked_for_and_has_no_secret(
    serve: Any, http: httpx.Client, form: str, wait_until: Any
) -> None:
    command = serve("--env", "echo", "--port", "0", "--json", "--log-format", form, ENVHUB_TOKEN=SECRET)
    url = command.ready()["url"]
    http.headers["Authorization"] = f"Bearer {SECRET}"
    (worker,) = [pid for pid in command.tree() if pid not in _parents(command.tree())]
    os.kill(worker, signal.SIGKILL)
    wait_until(lambda: "was killed by signal 9" in command.errors)
    refused = http.post(
        f"{url}/v1/envs/echo/sessions", json={}, headers={"Authorization": f"Bearer {SECRET}!"}
    )
    assert refused.status_code == 401
    (line,) = [line for line in command.errors.splitlines() if "was killed by signal 9" in line]
    if form == "json":
        assert {"env": "echo", "worker": 0, "pid": worker, "level": "warning"}.items() <= json.loads(
            line
        ).items()
    else:
        assert line.endswith(f"[env=echo worker=0 pid={worker}]")
    assert SECRET not in command.errors


def _parents(pids: set[int]) -> set[int]:
    found = set()
    for pid in pids:
        with open(f"/proc/{pid}/stat") as stat:
            found.add(int(stat.read().rpartition(")")[2].split()[1]))
    return found


def test_workers_that_leak_are_replaced_and_the_client_does_not_notice(
    serve: Any, http: httpx.Client, write_spec: Any, wait_until: Any
) -> None:
    spec = write_spec(LEAKY)
    command = serve("--env", f"{spec.path}=2", "--port", "0", "--json", "--recycle-growth-mb", "16")
    url = command.ready()["url"]
    (one,) = http.post(f"{url}/v1/envs/probe/sessions", json={}).json()["sessions"]
    taken = 0

    def replaced() -> bool:
        nonlocal taken
        for _ in range(4):
            taken += 1
            answer = http.post(f"{url}/v1/sessions/{one['id']}/step", json={"action": 0})
            assert answer.json()["observation"] == taken
        assert http.get(f"{url}/readyz").status_code == 200
        metrics = http.get(f"{url}/metrics").text
        return 'envhub_worker_restarts_total{env="probe",reason="recycled"}' in metrics

    wait_until(replaced)
    assert (
        http.post(f"{url}/v1/sessions/{one['id']}/step", json={"action": 0}).json()["observation"]
        == taken + 1
    )


def test_a_crash_loop_turns_readyz_red_and_says_why(
    serve: Any, http: httpx.Client, write_spec: Any, tmp_path: Any, wait_until: Any
) -> None:
    flag = tmp_path / "broken"
    flag.touch()
    spec = write_spec(LEAKY)
    command = serve("--env", str(spec.path), "--port", "0", "--json")
    url = command.ready()["url"]

    def red() -> bool:
        answer = http.post(f"{url}/v1/envs/probe/sessions", json={"options": {"flag": str(flag)}})
        assert answer.json()["error"]["code"] == "environment_error"
        assert "ended itself with exit status 5" in answer.json()["error"]["message"]
        seen = http.get(f"{url}/readyz")
        return seen.status_code == 503 and "times in a row; it ended itself with exit status 5" in seen.text

    wait_until(red)  # each open may take three workers with it
    wait_until(lambda: http.get(f"{url}/readyz").status_code == 200)
