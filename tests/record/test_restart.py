"""A real hub with `--state-dir` that is killed and started again while it is played."""

import contextlib
import json
import os
import random
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from gymnasium.vector import AutoresetMode

from envhub.record import Reading
from envhub_sdk import Hub

from ..hubs import end

REPLICAS = 8


class Command:
    """A hub that always comes back to the same address and state."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.folder = folder
        self.arguments = [*arguments, "--state-dir", str(folder / "state")]

    def start(self, *more: str) -> None:
        command = [sys.executable, "-m", "envhub", "serve", *self.arguments, *more]
        self.process = subprocess.Popen(
            [*command, "--port", str(self.port), "--json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline(), "it ended before it was ready"

    def end(self, number: int) -> None:
        end(self.process, number)

    def restart(self, *more: str, number: int = signal.SIGKILL) -> None:
        self.end(number)
        self.start(*more)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Command]]:
    made: list[Command] = []

    def make(*arguments: str) -> Command:
        made.append(Command(tmp_path, *arguments))
        made[-1].start()
        return made[-1]

    yield make
    for command in made:
        if command.process.poll() is None:
            command.end(signal.SIGINT)


def post(client: httpx.Client, path: str, **body: Any) -> bytes:
    answer = client.post(f"/v1/{path}", json=body)
    assert answer.status_code == 200, answer.text
    return answer.content


def opened(client: httpx.Client, env: str, **body: Any) -> str:
    session: str = json.loads(post(client, f"envs/{env}/sessions", **body))["sessions"][0]["id"]
    return session


def play(url: str, env: str, steps: int, disturb: Callable[[int], None]) -> list[Any]:
    """Plays a vector environment with random actions that depend on nothing but the step."""
    seen: list[Any] = []
    drawn = random.Random(5)
    with (
        Hub(url) as hub,
        contextlib.closing(hub.make_vec(env, REPLICAS, autoreset_mode=AutoresetMode.SAME_STEP)) as envs,
    ):
        seen.append(envs.reset(seed=11))
        for step in range(steps):
            disturb(step)
            actions = [drawn.choice(["up", "down", "left", "right"]) for _ in range(REPLICAS)]
            seen.append(envs.step(actions))
    return [repr(one) for one in seen]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_run_goes_on_through_restarts_as_if_nothing_had_happened(
    make: Callable[..., Command], number: int
) -> None:
    hub = make("--env", f"frozenlake={REPLICAS}")
    undisturbed = play(hub.url, "frozenlake", 120, lambda step: None)
    killers: list[threading.Thread] = []

    def disturb(step: int) -> None:
        if step in (20, 21, 90):
            hub.restart(number=number)
        elif step == 50:  # while steps are under way
            killers.append(threading.Thread(target=hub.restart, kwargs={"number": number}))
            killers[0].start()

    assert play(hub.url, "frozenlake", 120, disturb) == undisturbed
    killers[0].join()


def test_a_repeated_step_is_answered_byte_for_byte_by_the_next_hub(make: Callable[..., Command]) -> None:
    hub = make("--env", "echo=2", "--set", "echo.length=3")
    with httpx.Client(base_url=hub.url, timeout=20) as client:
        session = opened(client, "echo", seeds=[4])
        step = {"session_id": session, "episode_id": f"{session}.1", "action": "a"}
        answers = [
            post(client, "step", steps=[{**step, "step_index": index}], autoreset=True) for index in range(3)
        ]
        hub.restart()
        assert b'"reset":' in answers[2]
        assert post(client, "step", steps=[{**step, "step_index": 2}], autoreset=True) == answers[2]
        after = post(client, f"sessions/{session}/step", action="b", step_index=0)
        hub.restart()
        hub.restart()
        assert post(client, f"sessions/{session}/step", action="b", step_index=0) == after


def test_sessions_outlive_a_stop_and_closed_ones_stay_closed(make: Callable[..., Command]) -> None:
    hub = make("--env", "echo=2")
    with httpx.Client(base_url=hub.url, timeout=20) as client:
        one, two = (opened(client, "echo") for _ in range(2))
        client.delete(f"/v1/sessions/{two}")
        hub.end(signal.SIGTERM)
        hub.start()
        listed = client.get("/v1/sessions").json()["sessions"]
        assert [session["id"] for session in listed] == [one]
        post(client, f"sessions/{one}/step", action="go on", step_index=0)
        assert client.get("/v1/envs/echo").json()["replicas"]["free"] == 1


def test_a_changed_environment_ends_its_sessions_and_says_so(make: Callable[..., Command]) -> None:
    hub = make("--env", "echo=2")
    with httpx.Client(base_url=hub.url, timeout=20) as client:
        session = opened(client, "echo")
        hub.restart("--set", "echo.length=7")
        error = client.post(f"/v1/sessions/{session}/step", json={"action": "a"}).json()["error"]
        assert error["code"] == "session_lost"
        assert "its config was" in error["message"]
        assert client.get("/v1/envs/echo").json()["replicas"]["free"] == 2


def test_a_second_hub_is_refused_the_state(make: Callable[..., Command]) -> None:
    hub = make("--env", "echo=1")
    command = [sys.executable, "-m", "envhub", "serve", *hub.arguments, "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 2
    assert f"is written to by another hub (process {hub.process.pid})" in done.stderr


def test_the_state_does_not_grow_with_what_is_over(make: Callable[..., Command], tmp_path: Path) -> None:
    hub = make("--env", "echo=2")
    with httpx.Client(base_url=hub.url, timeout=20) as client:
        kept = opened(client, "echo")
        for _ in range(5):
            client.delete(f"/v1/sessions/{opened(client, 'echo')}")
        hub.restart()
        assert os.listdir(tmp_path / "state").count("events-000001.jsonl") == 0
        sessions = {getattr(event, "session", kept) for event in Reading(tmp_path / "state").events()}
        assert sessions == {kept}


def test_forks_go_on_from_where_they_stood(make: Callable[..., Command], tmp_path: Path) -> None:
    hub = make("--env", "frozenlake=4", "--record", str(tmp_path / "record"))
    with httpx.Client(base_url=hub.url, timeout=20) as client:
        one = opened(client, "frozenlake", seeds=[1])
        first = json.loads(post(client, f"sessions/{one}/step", action="down"))
        fork = json.loads(post(client, f"sessions/{one}/fork", count=1))["sessions"][0]["id"]
        hub.restart()
        answers = [post(client, f"sessions/{id}/step", action="down", step_index=1) for id in (one, fork)]
        assert answers[0] == answers[1]
        (forked,) = [one for one in Reading(tmp_path / "record").episodes() if one.started.session == fork]
        assert (forked.started.inherited, len(forked.steps), forked.whole) == (1, 2, True)
        assert json.loads(bytes(forked.steps[0].observation)) == first["observation"]


def test_snapshots_outlive_hubs_and_the_sessions_they_were_taken_of(make: Callable[..., Command]) -> None:
    hub = make("--env", "frozenlake=4", "--env", "echo=4")  # the one natively, the other by replay
    with httpx.Client(base_url=hub.url, timeout=20) as client:
        taken: dict[str, tuple[str, Any]] = {}
        for env, action in (("frozenlake", "down"), ("echo", "a")):
            session = opened(client, env, seeds=[1])
            answer = json.loads(post(client, f"sessions/{session}/step", action=action))
            taken[env] = json.loads(post(client, f"sessions/{session}/snapshot"))["snapshot_id"], answer
            client.delete(f"/v1/sessions/{session}")
        for _ in range(2):  # from its own event, then from a compacted log
            hub.restart()
            for env, (snapshot, answer) in taken.items():
                session = opened(client, env)
                there = json.loads(post(client, f"sessions/{session}/restore", snapshot_id=snapshot))
                assert (there["observation"], there["step_index"]) == (answer["observation"], 1)
                forks = json.loads(post(client, f"sessions/{session}/fork", snapshot_id=snapshot))["sessions"]
                (fork,) = forks
                assert (fork["observation"], fork["seed"]) == (answer["observation"], 1)
                post(client, "close", session_ids=[session, fork["id"]])


def test_a_hub_that_dies_between_the_last_step_and_the_reset_is_made_up_for(
    make: Callable[..., Command], tmp_path: Path
) -> None:
    hub = make("--env", "frozenlake=1")
    with httpx.Client(base_url=hub.url, timeout=20) as client:
        session = opened(client, "frozenlake", seeds=[9])
        step = {"session_id": session, "episode_id": f"{session}.1", "action": "right", "step_index": 0}
        answer = post(client, "step", steps=[step], autoreset=True)
        assert b'"reset":' in answer
        hub.end(signal.SIGKILL)
        (file,) = (tmp_path / "state").glob("events-*.jsonl")
        lines = file.read_bytes().splitlines(keepends=True)
        assert b'"autoreset":true' in lines.pop()
        file.write_bytes(b"".join(lines))
        hub.start()
        assert post(client, "step", steps=[step], autoreset=True) == answer
        hub.restart()
        assert post(client, "step", steps=[step], autoreset=True) == answer


def test_what_is_opened_while_the_hub_loads_outlives_the_next_death(make: Callable[..., Command]) -> None:
    hub = make("--env", "frozenlake=2")
    with Hub(hub.url) as client:
        env = client.make("frozenlake")
        for _ in range(2):
            starting = threading.Thread(target=hub.restart)
            starting.start()
            env.close()
            env = client.make("frozenlake")
            env.reset(seed=1)
            starting.join()
            hub.restart()
            env.step("left")
        env.close()


def test_restarts_change_neither_when_a_session_was_opened_nor_when_it_expires(
    make: Callable[..., Command],
) -> None:
    hub = make("--env", "echo=2")

    def told(session: str) -> tuple[float, float]:
        (found,) = [one for one in client.get("/v1/sessions").json()["sessions"] if one["id"] == session]
        return found["created_at"], found["expires_at"]

    with httpx.Client(base_url=hub.url, timeout=20) as client:
        session = opened(client, "echo", idle_timeout_s=1000)
        post(client, f"sessions/{session}/step", action="a")
        created_at, expires_at = told(session)
        after: list[float] = []
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
            hub.restart(number=number)
            after += told(session)
        assert after == pytest.approx([created_at, expires_at] * 3, abs=1.0)
