"""The environment behind a real hub: killed workers, forks, the expert, an endpoint that comes and goes."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from envhub_sdk import EnvironmentFailed, Hub

from .conftest import Server

pytestmark = pytest.mark.e2e

LAST = {"task": {"id": "last"}}
OZU = "Ozu (Yasujiro, the director)"


def _settings(**settings: object) -> list[str]:
    return [word for key, value in settings.items() for word in ("--set", f"kg.{key}={value}")]


@pytest.mark.parametrize("graph", ["file", "embedded"])
def test_an_episode_outlives_its_worker_and_is_forked(
    mortal: Callable[..., Any], processes: Any, wait_until: Any, films: Path, graph: str
) -> None:
    own = graph == "file"
    settings = {"store": films / "films.ttl", "data_dir": films / "questions.json"} if own else {}
    hub = mortal("--env", "kg=4", "--workers", "2", *_settings(expert="true", **settings))
    with Hub(hub.url) as client, client.make("kg") as env:
        _, info = env.reset(seed=1, options=LAST if own else {"task": {"id": "neighbor-largest-8"}})
        for _ in range(2):
            _, _, _, _, info = env.step(info["expert_action"])
        point = env.snapshot()
        assert point.kind == "native"
        (template,) = processes.children(hub.pid)
        wait_until(lambda: len(processes.children(template)) == 2)
        for pid in processes.children(template):
            os.kill(pid, signal.SIGKILL)
        played = []
        for one in (env, *env.fork(2)):
            terminated, steps, now = False, [], info
            while not terminated:
                steps.append(one.step(now["expert_action"]))
                terminated, now = steps[-1][2], steps[-1][4]
            assert steps[-1][1] == 1.0
            played.append(steps)
            if one is not env:
                one.close()
            else:
                env.restore(point)
        assert played[0] == played[1] == played[2]


def test_the_expert_is_evaluated(mortal: Callable[..., Any], tmp_path: Path) -> None:
    hub = mortal("--env", "kg=4", *_settings(expert="true", actions="tools"))
    command = [sys.executable, "-m", "envhub", "eval", "--env", "kg", "--hub", hub.url, "--policy", "expert"]
    done = subprocess.run(
        [*command, "--split", "test", "--limit", "12", "--out", str(tmp_path / "run"), "--json"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    total = json.loads(done.stdout)["total"]
    assert (total["episodes"], total["successes"]) == (12, 12), done.stdout


def test_an_endpoint_that_is_away_is_a_failure_and_no_score(
    mortal: Callable[..., Any], server: Server, films: Path, wait_until: Callable[..., None]
) -> None:
    settings = _settings(endpoint=server.url, data_dir=films / "questions.json", endpoint_retries=0)
    hub = mortal("--env", "kg=2", "--workers", "1", *settings)
    with Hub(hub.url) as client, client.make("kg") as env:
        env.reset(options=LAST)
        assert env.step(f"get_relations({OZU})")[0] == "Observation: [^directed_by]"
        server.kill()
        assert env.step(f"get_neighbors({OZU}, ^directed_by)")[1:3] == (0.0, False)  # that was known already
        with pytest.raises(EnvironmentFailed) as failed:
            env.step("get_attributes(#0)")
        assert failed.value.details["type"] == "StoreError"
        server.start()
        server.fill(wait_until)
        env.reset(options=LAST)
        for action in (f"get_relations({OZU})", f"get_neighbors({OZU}, ^directed_by)", "get_attributes(#0)"):
            env.step(action)
        env.step("argmax(#0, year)")
        _, reward, terminated, _, info = env.step("Final Answer: #1")
        assert (reward, terminated, info["answer_labels"]) == (1.0, True, {"tokyo_story": "Tokyo Story"})


def test_a_store_without_questions_is_refused_when_the_hub_starts(films: Path) -> None:
    command = [sys.executable, "-m", "envhub", "serve", "--env", "kg=1", "--port", "0"]
    done = subprocess.run(
        [*command, *_settings(store=films / "films.ttl")], capture_output=True, text=True, timeout=120
    )
    assert done.returncode != 0
    assert "there are no questions about this graph" in " ".join((done.stdout + done.stderr).split())
