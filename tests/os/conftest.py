"""Puts the OS spec's folder on the path, as a worker does, and plays its tasks."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "env_specs" / "os"))

from envhub_os import OSEnv
from envhub_os.errors import InvalidOptions
from envhub_os.expert import Expert
from envhub_os.sandbox import Sandbox, Settings, report

Answer = Callable[[OSEnv, str], float]


@pytest.fixture(scope="session")
def machine() -> None:
    """Skips where there can be no sandbox, or none with the programs and the accounts that tasks need."""
    try:
        OSEnv()
    except InvalidOptions as error:
        pytest.skip(str(error))
    if report(Settings()).ids == "single":
        pytest.skip(
            "a sandbox has one user id here, and tasks are about more: run as root, or see /etc/subuid"
        )


@pytest.fixture
def sandbox(machine: None) -> Iterator[Sandbox]:
    """A sandbox of the test's own."""
    with Sandbox.start(Settings()) as started:
        yield started


@pytest.fixture(scope="session")
def agentbench(shared_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A part of AgentBench's data in its official layout."""
    folder = tmp_path_factory.mktemp("os_interaction")
    packed = json.loads((shared_data / "agentbench" / "os_interaction.json").read_text(encoding="utf-8"))
    for name, text in packed["files"].items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def _bash(script: str) -> str:
    return f"Think: as the solution says\nAct: bash\n\n```bash\n{script}\n```"


@pytest.fixture(scope="session")
def bash() -> Callable[[str], str]:
    """Writes a bash action in the classic grammar."""
    return _bash


@pytest.fixture(scope="session")
def solve() -> Answer:
    """Plays a task as its own solution does, and returns the reward."""

    def play(env: OSEnv, task: str) -> float:
        observation, info = env.reset(seed=1, options={"task": {"id": task}})
        expert = Expert()
        for _ in range(8):
            observation, reward, terminated, _, info = env.step(expert(observation, info))
            if terminated:
                assert info["success"] == (reward == 1.0)
                return reward
            assert reward == 0.0
        raise AssertionError(f"{task} has no end: {observation}")

    return play


@pytest.fixture(scope="session")
def fail() -> Answer:
    """Answers a task at once with what is no answer to anything, and returns the reward."""

    def play(env: OSEnv, task: str) -> float:
        env.reset(seed=1, options={"task": {"id": task}})
        observation, reward, terminated, truncated, info = env.step("Act: answer(no-such-answer)")
        assert (observation, terminated, truncated) == ("", True, False)
        assert info == {"action": "commit", "status": "completed", "success": reward == 1.0}
        return reward

    return play
