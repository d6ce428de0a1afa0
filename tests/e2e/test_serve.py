"""What the command promises: it is ready soon, says what it serves, and ends without a trace."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import httpx
import pytest

from envhub.cli import main

pytestmark = pytest.mark.e2e

QUIET = ("--port", "0", "--json")


def opened(http: httpx.Client, url: str, env: str, **request: Any) -> dict[str, Any]:
    answer = http.post(f"{url}/v1/envs/{env}/sessions", json=request)
    assert answer.status_code == 200, answer.text
    first: dict[str, Any] = answer.json()["sessions"][0]
    return first


# -- start ------------------------------------------------------------------------------------------


def test_it_is_ready_and_ends_on_ctrl_c(serve: Any, http: httpx.Client, processes: Any) -> None:
    command = serve("--env", "echo", "--replicas", "8", "--workers", "2", *QUIET)
    said = command.ready()
    assert (said["envs"], said["pid"]) == ({"echo": 8}, command.pid)
    assert http.get(said["url"] + "/readyz").json() == {"status": "ready"}
    tree = command.tree()
    assert len(tree) == 3, "a template and two workers"
    command.interrupt()
    assert command.end() == 0
    assert not any(map(processes.alive, tree))
    assert "Traceback" not in command.errors


def test_sigterm_ends_it_too(serve: Any, processes: Any) -> None:
    command = serve("--env", "echo", *QUIET)
    command.ready()
    tree = command.tree()
    command.process.send_signal(signal.SIGTERM)
    assert command.end() == 0
    assert not any(map(processes.alive, tree))


def test_the_banner_says_what_is_served_and_its_snippet_works(serve: Any) -> None:
    command = serve("--env", "webshop=2", "--workers", "1", "--port", "0")
    banner, line = [], command.process.stdout.readline()
    while line.strip() or len(banner) < 8:
        banner.append(line.rstrip("\n"))
        line = command.process.stdout.readline()
    text = "\n".join(banner)
    for words in (
        "webshop 1.",
        "2 replicas in 1 worker process;",
        "isolation: host",
        "sha256:",
        "; tasks: train 1,172, validation 284, test 281",
        "http://127.0.0.1:",
    ):
        assert words in text
    snippet = "\n".join(line.strip() for line in banner if line.startswith("    ") and "  data" not in line)
    snippet = snippet[snippet.index("from envhub_sdk") :]
    assert snippet.count("\n") == 2
    played = subprocess.run([sys.executable, "-c", snippet], capture_output=True, text=True)
    assert played.returncode == 0, played.stderr
    assert "Instruction" in played.stdout
    assert "settings:" not in text, "nothing was set"
    loading, ready, runs_in = (json.loads(line)["message"] for line in command.errors.splitlines())
    assert loading == "Loading webshop …" and ready.startswith("Ready at http://127.0.0.1:")
    assert "isolation: host" in runs_in


def test_the_banner_names_what_was_set_a_usable_address_and_the_token_to_set(serve: Any) -> None:
    arguments = ("--env", "echo", "--set", "echo.length=7", "--set", "echo.max_episode_steps=9")
    command = serve(*arguments, "--host", "0.0.0.0", "--port", "0", "--token", "secret")
    banner = ""
    while "print(env.reset" not in banner:
        line = command.process.stdout.readline()
        assert line, command.errors
        banner += line
    assert "settings: length = 7, max_episode_steps = 9\n" in banner
    assert "0.0.0.0" not in banner
    assert f'Hub("http://{socket.gethostname()}:' in banner
    assert banner.index("export ENVHUB_TOKEN=") < banner.index("from envhub_sdk import Hub")
    assert "secret" not in banner


def test_it_serves_before_it_is_loaded_and_says_so(serve: Any, http: httpx.Client, write_spec: Any) -> None:
    spec = write_spec("import time; time.sleep(60)\n")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    command = serve("--env", str(spec.path), "--port", str(port), "--json")
    url = f"http://127.0.0.1:{port}"
    answer = None
    while answer is None:
        try:
            answer = http.get(url + "/readyz")
        except httpx.ConnectError:
            assert command.process.poll() is None, command.errors
    assert http.get(url + "/healthz").status_code == 200
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "not_ready")
    assert "probe" in answer.json()["error"]["message"]
    command.interrupt()
    command.end()


# -- what is served ---------------------------------------------------------------------------------


def test_several_environments_with_settings(serve: Any, http: httpx.Client) -> None:
    command = serve(
        *("--env", "echo=3", "--env", "frozenlake", "--env", "gymnasium:CartPole-v1=2", "--replicas", "4"),
        *("--set", "echo.length=2", "--set", "echo.step_timeout_s=5", "--set", "frozenlake.test_size=7"),
        *QUIET,
    )
    said = command.ready()
    assert said["envs"] == {"echo": 3, "frozenlake": 4, "CartPole-v1": 2}
    envs = {env["name"]: env for env in http.get(said["url"] + "/v1/envs").json()["envs"]}
    assert envs["echo"]["limits"]["step_timeout_s"] == 5
    assert envs["frozenlake"]["splits"]["test"]["tasks"] == 7
    assert envs["CartPole-v1"]["action"]["space"] == {"type": "Discrete", "n": 2, "start": 0}
    pole = opened(http, said["url"], "CartPole-v1", seeds=[1])
    assert len(pole["observation"]) == 4
    step = http.post(f"{said['url']}/v1/sessions/{pole['id']}/step", json={"action": 1}).json()
    assert step["reward"] == 1.0


def test_a_hub_file(serve: Any, http: httpx.Client, tmp_path: Path) -> None:
    (tmp_path / "hub.toml").write_text(
        '[serve]\nport = 0\ntoken = "from the file"\nreplicas = 2\n'
        '[[env]]\nspec = "echo"\n[env.set]\nlength = 1\n'
        '[[env]]\nspec = "frozenlake"\nreplicas = 3\n'
    )
    command = serve("--config", str(tmp_path / "hub.toml"), "--json")
    said = command.ready()
    assert said["envs"] == {"echo": 2, "frozenlake": 3}
    assert http.get(said["url"] + "/v1/envs").status_code == 401
    http.headers["authorization"] = "Bearer from the file"
    one = opened(http, said["url"], "echo")
    step = http.post(f"{said['url']}/v1/sessions/{one['id']}/step", json={"action": "only"}).json()
    assert step["terminated"]


# -- what is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--env", "webshp"], "did you mean 'webshop'"),
        (["--env", "echo", "--set", "echo.lenght=3"], "did you mean 'length'"),
        (["--env", "echo", "--set", "ecko.length=3"], "did you mean 'echo'"),
        (["--env", "webshop", "--set", "webshop.mode=faithfull"], "did you mean 'faithful'"),
        (["--env", "gymnasium:CartPol-v1"], "Did you mean: `CartPole`"),
        (["--env", "./no/such/folder"], "no such folder"),
        ([], "--env"),
        (["--env", "echo", "--host", "0.0.0.0"], "--token"),
        (["--env", "echo", "--host", "::"], "--token"),
        (["--env", "echo", "--token", ""], "empty"),
        (["--env", "echo", "--host", "no.such.host.invalid"], "--host"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_is_wrong_is_said_in_one_message(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.delenv("ENVHUB_TOKEN", raising=False)
    with pytest.raises(SystemExit) as ended:
        main(["serve", *arguments, "--port", "0"])
    said = capsys.readouterr().err
    assert ended.value.code == 2
    assert words in said
    assert len(said.splitlines()) == 1


def test_a_refusal_is_one_line_and_status_2(serve: Any) -> None:
    command = serve("--env", "echo", "--host", "0.0.0.0", *QUIET)
    assert command.end() == 2
    assert "--token" in command.errors
    assert "Traceback" not in command.errors


def test_a_port_in_use(serve: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = serve("--env", "echo", "--port", port)
        assert command.end() == 2
        assert port in command.errors and "--port" in command.errors


def test_an_environment_that_cannot_be_loaded(serve: Any, write_spec: Any) -> None:
    """The failure is told at once, however long another environment still loads."""
    slow = write_spec("import time; time.sleep(3600)\n", name="slow").path
    broken = write_spec("import nothing_of_that_name\n").path
    command = serve("--env", str(slow), "--env", str(broken), *QUIET)
    assert command.end() == 2
    assert "No module named 'nothing_of_that_name'" in command.errors
    assert "probe_env.py" in command.errors


def test_another_address_with_a_token(serve: Any, http: httpx.Client) -> None:
    command = serve("--env", "echo", "--host", "0.0.0.0", *QUIET, ENVHUB_TOKEN="sesame")
    url = command.ready()["url"].replace("0.0.0.0", "127.0.0.1")
    assert http.get(url + "/healthz").status_code == 200
    assert http.get(url + "/v1/envs").status_code == 401
    assert http.get(url + "/v1/envs", headers={"authorization": "Bearer sesame"}).status_code == 200


# -- ends -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["tree", "probe"])
def test_ctrl_c_while_it_starts_leaves_nothing(
    serve: Any, write_spec: Any, processes: Any, wait_until: Any, start: str
) -> None:
    """Right when the first process appears, and when an environment has long begun to load."""
    began = Path(write_spec("import pathlib, time\n", name="slow").path) / "began"
    (began.parent / "slow_env.py").write_text(
        f"import pathlib, time\npathlib.Path({str(began)!r}).touch()\ntime.sleep(60)\n"
    )
    command = serve("--env", "echo=2", "--env", str(began.parent), *QUIET)
    wait_until(command.tree if start == "tree" else began.exists)
    tree = command.tree()
    command.interrupt()
    command.end()
    wait_until(lambda: not any(map(processes.alive, tree)))
    assert "Traceback" not in command.errors


def test_ctrl_c_under_load_answers_or_drops_everybody_and_ends(
    serve: Any, http: httpx.Client, processes: Any, wait_until: Any
) -> None:
    command = serve(
        *("--env", "echo=4", "--workers", "2", "--set", "echo.hang_on=hang", "--set", "echo.stuck_on=stuck"),
        *QUIET,
    )
    url = command.ready()["url"]
    tree = command.tree()
    ids = [opened(http, url, "echo")["id"] for _ in range(4)]
    begun = threading.Barrier(5)

    def hang(session: str, action: str) -> None:
        with httpx.Client(timeout=60) as client:
            begun.wait()
            try:
                answer = client.post(f"{url}/v1/sessions/{session}/step", json={"action": action})
            except httpx.HTTPError:
                return
            assert answer.status_code in ((200, 410, 502, 503) if action == "fine" else (410, 502, 503))

    actions = ["hang", "stuck", "hang", "fine"]
    threads = [threading.Thread(target=hang, args=pair) for pair in zip(ids, actions, strict=True)]
    for thread in threads:
        thread.start()
    host, port = httpx.URL(url).host, httpx.URL(url).port
    with socket.create_connection((host, port)) as half:
        half.sendall(b"POST /v1/step HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
        begun.wait()
        wait_until(lambda: 'envhub_steps_total{env="echo"} 4.0' in http.get(url + "/metrics").text)
        command.interrupt()
        assert command.end() == 0
    for thread in threads:
        thread.join(20)
        assert not thread.is_alive()
    assert not any(map(processes.alive, tree))
    assert "Traceback" not in command.errors


@pytest.mark.parametrize("busy", ["idle", "hang", "stuck"])
def test_a_killed_hub_leaves_no_worker(
    serve: Any, http: httpx.Client, processes: Any, wait_until: Any, busy: str
) -> None:
    faults = ("--set", "echo.hang_on=hang", "--set", "echo.stuck_on=stuck")
    command = serve("--env", "echo=4", "--env", "gymnasium:CartPole-v1=1", *faults, *QUIET)
    url = command.ready()["url"]
    tree = command.tree()
    assert len(tree) >= 3
    session = opened(http, url, "echo")["id"]
    body = f'{{"action":"{busy}"}}'.encode()
    with socket.create_connection((httpx.URL(url).host, httpx.URL(url).port)) as connection:
        head = f"POST /v1/sessions/{session}/step HTTP/1.1\r\nHost: localhost\r\n"
        head += f"Content-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        http.get(url + "/healthz")
        os.kill(command.pid, signal.SIGKILL)
        command.end()
    wait_until(lambda: not any(map(processes.alive, tree)))


def test_a_hub_killed_while_an_environment_loads_leaves_nothing(
    serve: Any, write_spec: Any, processes: Any, wait_until: Any, tmp_path: Path
) -> None:
    began = tmp_path / "began"
    source = f"import pathlib, time\npathlib.Path({str(began)!r}).touch()\ntime.sleep(3600)\n"
    command = serve("--env", str(write_spec(source).path), *QUIET)
    wait_until(began.exists)
    tree = command.tree()
    assert tree
    os.kill(command.pid, signal.SIGKILL)
    command.end()
    wait_until(lambda: not any(map(processes.alive, tree)))


def test_two_thousand_sessions_cost_no_descriptor_and_no_process(serve: Any, http: httpx.Client) -> None:
    command = serve("--env", "echo=50", *QUIET)
    url = command.ready()["url"]

    def held() -> tuple[int, int]:
        return len(os.listdir(f"/proc/{command.pid}/fd")), len(command.tree())

    def visit() -> None:
        sessions = http.post(f"{url}/v1/envs/echo/sessions", json={"count": 50}).json()["sessions"]
        steps = [{"session_id": one["id"], "action": "a"} for one in sessions]
        assert len(http.post(f"{url}/v1/step", json={"steps": steps}).json()["results"]) == 50
        http.post(f"{url}/v1/close", json={"session_ids": [one["id"] for one in sessions]})

    visit()
    before = held()
    for _ in range(40):
        visit()
    assert held() == before
    assert http.get(url + "/v1/envs/echo").json()["replicas"]["free"] == 50
