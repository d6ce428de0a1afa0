"""`envhub collect` and `envhub eval` as they are typed, against a real hub."""

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from envhub.cli import main
from envhub_sdk import Hub

from ..hubs import serving

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    envs = (
        "--env",
        "frozenlake=4",
        "--env",
        "echo=4",
        "--set",
        "echo.length=2",
        "--set",
        "echo.fail_on=boom",
    )
    with serving(*envs) as where:
        yield where


@pytest.fixture
def run(url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Any]:
    """Run the command; give its status, and what it wrote on both channels."""
    monkeypatch.setenv("ENVHUB_URL", url)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("ENVHUB_TOKEN", raising=False)

    def once(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    return once


EXPERT = ("--env", "frozenlake", "--policy", "expert")


def test_an_expert_is_collected_and_replays(run: Any, tmp_path: Path) -> None:
    out = tmp_path / "run"
    status, told, _ = run("collect", *EXPERT, "--split", "test", "--limit", 8, "--out", out)
    assert status == 0
    assert "100.0% [67.6, 100.0]" in told and f"8 conversations in {out}" in told
    assert run("replay", out / "episodes.jsonl")[:2] == (
        0,
        "8 episodes the same, 0 different, 0 not compared\n",
    )
    (first, *_) = (json.loads(line) for line in (out / "conversations.jsonl").read_text().splitlines())
    assert first["id"] == "frozenlake-test-0"
    assert [message["role"] for message in first["conversations"][:3]] == ["system", "user", "assistant"]


def test_a_run_goes_on_and_may_grow(run: Any, tmp_path: Path) -> None:
    command = ("collect", *EXPERT, "--out", tmp_path, "--json")
    assert json.loads(run(*command, "--limit", 3)[1])["episodes"] == 3
    lines = (tmp_path / "episodes.jsonl").read_bytes()
    assert json.loads(run(*command, "--limit", 5)[1])["episodes"] == 5
    assert (tmp_path / "episodes.jsonl").read_bytes().startswith(lines)
    status, _, told = run(*command, "--limit", 5, "--seed", 7)
    assert status == 2 and "has a run with seed = 0; now it would be 7" in told


def test_conversations_can_be_chosen(run: Any, tmp_path: Path) -> None:
    command = ("collect", *EXPERT, "--random-moves", 0.8, "--split", "test", "--limit", 40, "--json")
    found = json.loads(run(*command, "--success-only", "--out", tmp_path / "some")[1])
    assert 0 < found["conversations"] == found["successes"] < found["episodes"] == 40
    again = json.loads(run(*command, "--min-return", 1, "--out", tmp_path / "some")[1])
    assert again["conversations"] == found["conversations"]


def test_what_is_lost_to_faults_is_said(run: Any, tmp_path: Path) -> None:
    policy = tmp_path / "boom.py"
    policy.write_text("def boom(observation, info):\n    return 'boom' if observation else 'one'\n")
    out = tmp_path / "run"
    arguments = ("--env", "echo", "--policy", f"{policy}:boom", "--limit", 2, "--retries", 0, "--out", out)
    status, _, told = run("collect", *arguments)
    assert status == 1
    assert "2 of 2 episodes are missing" in told and "environment_error" in told
    assert (out / "faults.jsonl").read_text().count("\n") == 2
    policy.write_text("def boom(observation, info):\n    return 'two' if observation else 'one'\n")
    command = [sys.executable, "-m", "envhub", "eval", *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["total"]["episodes"], found["retried"], found["faults"]) == (2, 2, {"environment_error": 2})


def test_an_evaluation_is_reported_in_three_forms(run: Any, tmp_path: Path) -> None:
    status, told, _ = run("eval", *EXPERT, "--limit", 12, "--out", tmp_path)
    assert status == 0
    assert re.search(r"size 2 +\d", told) and f"report in {tmp_path / 'report.md'}" in told
    found = json.loads((tmp_path / "report.json").read_text())
    assert found["run"]["split"] == "test" and found["total"]["success_rate"] == 1.0
    assert found["total"]["success_interval"] == pytest.approx([0.757, 1.0], abs=0.001)
    assert (tmp_path / "report.md").read_text().startswith("# frozenlake: expert\n")
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")


def test_two_runs_are_compared(run: Any, tmp_path: Path) -> None:
    for name, share in (("a", "1.0"), ("b", "0.0")):
        run("eval", *EXPERT, "--random-moves", share, "--limit", 30, "--out", tmp_path / name)
    status, told, _ = run("eval", "compare", tmp_path / "a", tmp_path / "b", "--out", tmp_path / "c")
    assert status == 0 and "McNemar, exact" in told and "paired bootstrap" in told
    found = json.loads((tmp_path / "c" / "comparison.json").read_text())
    assert found["success"]["mean"] > 0 and found["success"]["p"] < 0.05 and found["only_first"] == 0
    assert (tmp_path / "c" / "comparison.png").read_bytes().startswith(b"\x89PNG")
    printed = json.loads(run("eval", "compare", tmp_path / "a", tmp_path / "b", "--json")[1])
    assert printed == found
    file = tmp_path / "b" / "run.json"
    file.write_text(file.read_text().replace('"data_digest": "sha256:', '"data_digest": "sha256:0'))
    status, _, told = run("eval", "compare", tmp_path / "a", tmp_path / "b")
    assert status == 2 and "can't be compared: their data_digest differs" in told


def test_without_matplotlib_there_is_everything_but_the_chart(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    status, _, told = run("eval", *EXPERT, "--limit", 2, "--out", tmp_path)
    assert status == 0
    assert "no chart.png: matplotlib.figure is not installed" in told and "envhub[eval]" in told
    assert (tmp_path / "report.md").exists() and not (tmp_path / "chart.png").exists()


def test_without_tenacity_no_endpoint_is_asked(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tenacity", None)
    arguments = ("--env", "frozenlake", "--endpoint", "http://127.0.0.1:9/v1", "--model", "m")
    status, _, told = run("collect", *arguments, "--out", tmp_path / "run")
    assert status == 2 and "tenacity is not installed" in told and "envhub[eval]" in told
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--env", "frozenlake"), "say who plays, in one way"),
        ((*EXPERT, "--endpoint", "http://x/v1", "--model", "m"), "say who plays, in one way"),
        (("--env", "frozenlake", "--endpoint", "http://x/v1"), "--endpoint needs --model"),
        (("--env", "echo", "--policy", "expert", "--limit", "1"), "no expert for 'echo'"),
        (("--env", "lake", "--policy", "expert"), "lake"),
        ((*EXPERT, "--split", "tset"), "no split 'tset'; there are: train, test"),
        (("--env", "echo", "--policy", "math:floor"), "lists no tasks: say with --limit"),
        ((*EXPERT, "--form", "poem"), "no form of actions 'poem'"),
        ((*EXPERT, "--hub", "http://127.0.0.1:9"), "127.0.0.1:9"),
        ((*EXPERT, "--hub", "nowhere"), "'nowhere' is no URL of a hub"),
    ],
)
@pytest.mark.parametrize("command", ["collect", "eval"])
def test_what_goes_not_together_is_said(
    run: Any, tmp_path: Path, command: str, arguments: tuple[str, ...], said: str
) -> None:
    status, _, told = run(command, *arguments, "--out", tmp_path / "run")
    *before, last = told.splitlines()
    assert status == 2 and last.startswith("envhub: ") and said in last
    assert len(before) <= 1 and all(line.startswith("waiting for the hub: ") for line in before)
    assert not (tmp_path / "run" / "run.json").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_says_how_to_go_on_and_leaves_no_session(
    url: str, tmp_path: Path, wait_until: Callable[..., None], number: signal.Signals
) -> None:
    policy, out = tmp_path / "slow.py", tmp_path / "run"
    policy.write_text("import time\ndef slow(observation, info):\n    time.sleep(0.02)\n    return 'x'\n")
    arguments = ["--env", "echo", "--policy", f"{policy}:slow", "--limit", "2000", "--out", str(out)]
    command = [sys.executable, "-m", "envhub", "collect", *arguments, "--hub", url]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            kept = out / "episodes.jsonl"
            wait_until(lambda: kept.exists() and kept.stat().st_size > 0, 60)
            os.kill(process.pid, number)
            _, told = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 128 + number
    assert "the same command goes on" in told and "Traceback" not in told
    with Hub(url) as hub:
        wait_until(lambda: hub.sessions() == [])
