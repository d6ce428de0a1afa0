"""The chaos benchmark kills whom it says, and would notice an episode that differs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from chaos import Killer, Run, digest, judge

from envhub_sdk import Trajectory
from envhub_sdk._trajectory import EpisodeError

CHAOS = Path(__file__).resolve().parents[2] / "benchmarks" / "chaos.py"


def _episode(**changes: object) -> Trajectory:
    facts = {"seed": 3, "task": {"id": "t"}, "observations": ["a", "b"], "actions": ["x"], "rewards": [0.5]}
    return Trajectory("webshop", infos=[{}, {}], terminated=True, **{**facts, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 4},
        {"task": {"id": "u"}},
        {"observations": ["a", "c"]},
        {"actions": ["y"]},
        {"rewards": [0.25]},
        {"truncated": True},
    ],
    ids=str,
)
def test_whatever_differs_changes_the_digest(changes: dict[str, object]) -> None:
    assert digest(_episode()) == digest(_episode())
    assert digest(_episode(**changes)) != digest(_episode())


def test_each_bar_is_missed_by_itself() -> None:
    good = {
        "lost": {"undisturbed": {}, "disturbed": {}},
        "different": [],
        "throughput": 0.6,
        "workers_killed": 5,
        "templates_killed": 2,
    }
    assert all(verdict.passed for verdict in judge(good))
    bad = [
        {"lost": {"undisturbed": {}, "disturbed": {"session_lost": 1}}},
        {"different": ["webshop 3"]},
        {"throughput": 0.5},
        {"workers_killed": 0},
        {"templates_killed": 1},
    ]
    for number, change in enumerate(bad):
        verdicts = judge({**good, **change})
        assert [verdict.passed for verdict in verdicts] == [at != number for at in range(len(bad))]


def test_an_episode_that_ended_with_an_error_counts_as_lost() -> None:
    run = Run()
    run.add(_episode())
    run.add(_episode(seed=4, error=EpisodeError("session_lost", "gone", "SessionLost")))
    assert run.lost == {"session_lost": 1} and run.steps == 2 and len(run.digests) == 2


def test_workers_are_those_in_a_group_of_a_template() -> None:
    sleeper = [sys.executable, "-c", "import time; time.sleep(60)"]
    fork = f"import subprocess; subprocess.run({sleeper!r})"
    template = subprocess.Popen([sys.executable, "-c", fork], start_new_session=True)
    other = subprocess.Popen(sleeper)
    try:
        killer = Killer(os.getpid(), 0, 60.0)
        templates, workers = killer.look()
        while not workers:
            templates, workers = killer.look()
        assert template.pid in templates and other.pid in templates
        assert len(workers) == 1 and workers[0] not in (template.pid, other.pid)
        killer.kill()
        assert template.wait(20) == 0  # its worker was killed, not it
        assert other.poll() is None
    finally:
        for process in (template, other):
            process.kill()
            process.wait()


@pytest.mark.e2e
def test_nothing_is_lost_while_workers_and_templates_are_killed(tmp_path: Path) -> None:
    command = [sys.executable, str(CHAOS), "--seconds", "4", "--json", str(tmp_path / "found")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (tmp_path / "found").exists(), done.stderr[-2000:]
    found = json.loads((tmp_path / "found").read_text())
    assert found["lost"] == {"undisturbed": {}, "disturbed": {}}
    assert found["different"] == []
    assert found["workers_killed"] > 0 and found["templates_killed"] == 2
    assert found["restarts"] > 0 and found["replays"] > 0
    assert found["episodes"] >= 2 * 64
