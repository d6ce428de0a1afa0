"""Clients of the real command notice nothing of killed workers but the time."""

import contextlib
import json
import os
import signal
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from websockets.sync.client import connect

from envhub_sdk import EnvHubError, Hub

pytestmark = pytest.mark.e2e

MOVES = ["right", "down", "left", "down", "right", "up"] * 4
QUIET = ("--port", "0", "--json")


def workers(command: Any) -> list[int]:
    """The pids of its workers: they share the process group of their template, who leads it."""
    return sorted(pid for pid in command.tree() if os.getpgid(pid) not in (pid, os.getpgid(command.pid)))


def kills(command: Any, wait_until: Any) -> Iterator[None]:
    """Kill one worker after the other, once all are up."""
    count = len(workers(command))
    number = 0
    while True:
        wait_until(lambda: len(workers(command)) == count)
        os.kill(workers(command)[number % count], signal.SIGKILL)
        number += 1
        yield


def metric(url: str, name: str) -> float:
    lines = [line for line in httpx.get(url + "/metrics").text.splitlines() if line.startswith(name + "{")]
    return sum(float(line.rpartition(" ")[2]) for line in lines)


def test_a_stream_with_kills_equals_one_without(serve: Any, http: httpx.Client, wait_until: Any) -> None:
    command = serve("--env", "frozenlake=8", "--workers", "2", *QUIET)
    url = command.ready()["url"]
    killing = kills(command, wait_until)

    def play(kill: bool) -> list[Any]:
        asked = {"count": 8, "seeds": list(range(8))}
        opened = http.post(f"{url}/v1/envs/frozenlake/sessions", json=asked).json()["sessions"]
        seen: list[Any] = []
        with connect(url.replace("http", "ws") + "/v1/stream") as stream:
            for index, move in enumerate(MOVES):
                for number, session in enumerate(opened):
                    step = {"op": "step", "session_id": session["id"], "action": move, "step_index": index}
                    stream.send(json.dumps({"id": number, **step}))
                    if kill and number == 4 and index % 4 == 1:
                        next(killing)
                answers = sorted((json.loads(stream.recv(timeout=30)) for _ in opened), key=lambda a: a["id"])
                for answer in answers:
                    answer.pop("request_id", None)
                    answer.get("error", {}).pop("details", None)  # ids of sessions are there
                    answer.get("error", {}).pop("message", None)
                seen.append(answers)
        http.post(f"{url}/v1/close", json={"session_ids": [session["id"] for session in opened]})
        return seen

    calm = play(kill=False)
    assert any(answer.get("terminated") for answers in calm for answer in answers)
    assert play(kill=True) == calm
    wait_until(lambda: metric(url, "envhub_worker_restarts_total") == 6)
    assert metric(url, "envhub_replays_total") > 0
    wait_until(lambda: http.get(f"{url}/v1/envs/frozenlake").json()["replicas"]["free"] == 8)


def test_a_vector_environment_of_64_with_kills_equals_one_without(serve: Any, wait_until: Any) -> None:
    command = serve("--env", "frozenlake=64", "--workers", "2", *QUIET)
    url = command.ready()["url"]
    killing = kills(command, wait_until)

    def play(kill: bool) -> list[Any]:
        with Hub(url) as hub, contextlib.closing(hub.make_vec("frozenlake", 64)) as env:
            observations, _ = env.reset(seed=list(range(64)))
            seen: list[Any] = [list(observations)]
            for index, move in enumerate(MOVES):
                if kill and index % 6 == 2:
                    next(killing)
                observations, rewards, terminated, truncated, _ = env.step([move] * 64)
                seen.append((list(observations), *(x.tolist() for x in (rewards, terminated, truncated))))
        return seen

    calm = play(kill=False)
    assert any(any(terminated) for _, _, terminated, _ in calm[1:])
    assert play(kill=True) == calm
    wait_until(lambda: metric(url, "envhub_worker_restarts_total") == 4)


def test_a_deadly_action_is_an_error_of_its_episode_and_the_session_goes_on(serve: Any) -> None:
    command = serve("--env", "echo=2", "--workers", "1", "--set", "echo.exit_on=die", *QUIET)
    url = command.ready()["url"]
    with Hub(url) as hub, hub.make("echo") as deadly, hub.make("echo") as other:
        deadly.reset(seed=1)
        other.reset(seed=2)
        assert other.step("one")[0] == "one"
        session = deadly.session_id
        with pytest.raises(EnvHubError) as caught:
            deadly.step("die")
        assert caught.value.code == "environment_error"
        assert "status 70" in str(caught.value)
        assert other.step("two")[0] == "two"
        deadly.reset(seed=3)
        assert deadly.session_id == session
        assert deadly.step("alive")[0] == "alive"
