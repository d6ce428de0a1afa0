"""The environment behind a real hub: sessions outlive their workers; forks go on from states or by replay."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from envhub_sdk import Hub, ReplayDiverged

from ..hubs import Mortal

pytestmark = pytest.mark.e2e

TASK = {"task": {"id": "files-find-text-0"}}


def kill_worker(hub: Mortal, processes: Any, wait_until: Any) -> None:
    """Kill the hub's one worker."""
    (template,) = processes.children(hub.pid)
    wait_until(lambda: len(processes.children(template)) == 1)
    os.kill(*processes.children(template), signal.SIGKILL)


@pytest.fixture(scope="module")
def hub(machine: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mortal]:
    """A hub with one worker of the environment."""
    state = tmp_path_factory.mktemp("state")
    hub = Mortal("--env", "os=4", "--workers", "1", "--state-dir", str(state))
    yield hub
    hub.kill()


def test_an_episode_goes_on_after_its_worker_was_killed(
    hub: Mortal, bash: Callable[[str], str], processes: Any, wait_until: Any
) -> None:
    with Hub(hub.url) as client, client.make("os") as env:
        env.reset(seed=1, options=TASK)
        env.step(bash("mkdir /tmp/made; cd /tmp/made; X=kept"))
        env.step(bash("find /srv -type f -printf '%t %p\\n' | sort | head -3"))
        kill_worker(hub, processes, wait_until)
        observation, _, terminated, _, _ = env.step(bash("echo $X in $PWD"))
        assert observation.endswith("\nkept in /tmp/made\n") and not terminated


def test_jobs_and_process_ids_are_the_same_in_a_replay(
    hub: Mortal, bash: Callable[[str], str], processes: Any, wait_until: Any
) -> None:
    with Hub(hub.url) as client, client.make("os") as env:
        env.reset(seed=1, options={"task": {"id": "processes-stop-one-0"}})  # whose setup waits in a loop
        for script in (
            "sleep 1000 & echo $!",
            "sleep 0.1 & sleep 0.2 &",
            "echo on",
            "kill %1",
        ):
            env.step(bash(script))
        kill_worker(hub, processes, wait_until)
        assert "Terminated" not in env.step(bash("true"))[0]


def test_forks_go_on_apart(hub: Mortal, bash: Callable[[str], str]) -> None:
    with Hub(hub.url) as client, client.make("os") as env:
        env.reset(seed=1, options=TASK)
        env.step(bash("cd /tmp; X=1"))
        one, other = env.fork(2)
        with one, other:
            one.step(bash("X=2; touch one"))
            assert other.step(bash("ls; echo $X"))[0].endswith("\n\n1\n")
            assert one.step(bash("ls; echo $X"))[0].endswith("\n\none\n2\n")


def test_the_expert_is_evaluated(hub: Mortal, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "envhub", "eval", "--env", "os", "--hub", hub.url, "--policy", "expert"]
    done = subprocess.run(
        [*command, "--split", "test", "--limit", "2", "--out", str(tmp_path / "run"), "--json"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    total = json.loads(done.stdout)["total"]
    assert (total["episodes"], total["successes"]) == (2, 2), done.stdout


def test_what_the_clock_decides_is_not_passed_over_in_silence(
    hub: Mortal, bash: Callable[[str], str], processes: Any, wait_until: Any
) -> None:
    with Hub(hub.url) as client, client.make("os") as env:
        env.reset(seed=1, options=TASK)
        env.step(bash("date +%s%N"))
        kill_worker(hub, processes, wait_until)
        with pytest.raises(ReplayDiverged):
            env.step(bash("pwd"))


def test_snapshots_of_machines_at_rest_are_native(
    hub: Mortal, bash: Callable[[str], str], processes: Any, wait_until: Any
) -> None:
    with Hub(hub.url) as client, client.make("os") as env:
        env.reset(seed=1, options=TASK)
        shown = env.step(bash("date +%s%N; rm /usr/bin/xargs; cd /tmp; X=1"))[0]
        point = env.snapshot()
        assert (point.kind, point.step_index) == ("native", 1)
        kill_worker(hub, processes, wait_until)  # no replay shows the same time of day again
        assert env.step(bash("echo $X"))[0].endswith("\n1\n")
        assert env.restore(point)[0] == shown
        kill_worker(hub, processes, wait_until)
        assert env.step(bash("ls -d /usr/bin/xargs; pwd; echo $X; X=2"))[0].endswith("directory\n/tmp\n1\n")
        (fork,) = env.fork()
        with fork:
            assert fork.step(bash("echo $X; touch here"))[0].endswith("\n2\n")
        env.restore(point)
        assert env.step(bash("echo $X; ls"))[0].endswith("\n\n1\n")


def test_snapshots_of_machines_that_do_more_are_replays(hub: Mortal, bash: Callable[[str], str]) -> None:
    with Hub(hub.url) as client, client.make("os") as env:
        env.reset(seed=1, options=TASK)
        env.step(bash("cd /tmp; sleep 1000 & X=1"))
        point = env.snapshot()
        assert (point.kind, point.step_index) == ("replay", 1)
        (fork,) = env.fork(snapshot=point)
        with fork:
            assert fork.step(bash("jobs; echo $X"))[0].endswith("sleep 1000 &\n1\n")
