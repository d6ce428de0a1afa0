"""Real hubs and a real chat endpoint, each in a process of its own, and runs that were never played."""

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from envhub_trainers import _endpoint
from envhub_trainers._runs import Episode, Facts, WritableRun

from ...hubs import serving

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def quick_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_endpoint, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(_endpoint, "LONGEST_PAUSE_S", 0.02)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


# -- hubs -------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """A hub that serves frozenlake, webshop, CartPole, and echo (3 steps an episode; "fail" fails it)."""
    envs = ("frozenlake=4", "webshop=4", "echo=4", "gymnasium:CartPole-v1=2")
    arguments = [part for env in envs for part in ("--env", env)]
    settings = ("--set", "echo.length=3", "--set", "echo.fail_on=fail")
    with serving(*arguments, *settings) as where:
        yield where


# -- the endpoint -----------------------------------------------------------------------------------


class ChatServer:
    """A chat endpoint in its own process."""

    def __init__(self, script: tuple[str, ...]) -> None:
        command = [sys.executable, str(HERE / "chat_server.py"), json.dumps(script)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()

    def seen(self) -> list[dict[str, Any]]:
        """The requests so far: when each came, and what it was."""
        found: list[dict[str, Any]] = httpx.get(f"{self.url}/seen", trust_env=False).json()
        return found

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


@pytest.fixture
def chat_server() -> Iterator[Callable[..., ChatServer]]:
    """Start an endpoint whose first requests fare as said: `chat_server("500", "drop")`."""
    with contextlib.ExitStack() as servers:

        def start(*script: str) -> ChatServer:
            server = ChatServer(script)
            servers.callback(server.stop)
            return server

        yield start


# -- runs -------------------------------------------------------------------------------------------


def facts(**changes: Any) -> Facts:
    known = {
        "env": "frozenlake",
        "env_version": "1.0.0",
        "config": {"map_max_size": 6},
        "limits": {"max_episode_steps": 10},
        "isolation": "host",
        "conda_locked": False,
        "lock_digest": None,
        "data_digest": "sha256:00",
        "split": "test",
        "offset": 0,
        "repeats": 1,
        "seed": 0,
        "max_steps": None,
        "policy": {"kind": "script", "name": "expert"},
    }
    return Facts(**(known | changes))


def episode(job: int, success: bool = True, steps: int = 2, **changes: Any) -> Episode:
    """An episode of `steps` moves to the right, rewarded at the end if it was a success."""
    observations = [" P \t G \t"] * (steps + 1)
    rewards = [0.0] * (steps - 1) + [float(success)] if steps else []
    known = {
        "env": "frozenlake",
        "env_version": "1.0.0",
        "config": {},
        "limits": {},
        "isolation": "host",
        "conda_locked": False,
        "lock_digest": None,
        "data_digest": "sha256:00",
        "labels": {},
        "session": "s-1",
        "episode": f"s-1.{job}",
        "seed": job,
        "task": {"id": f"test-{job}", "size": 2 + job % 2},
        "asked_task": {"id": f"test-{job}"},
        "options": {},
        "started_at": time.time(),
        "reset_s": 0.0,
        "step_s": [0.0] * steps,
        "outcome": "terminated",
        "error": None,
        "total_reward": sum(rewards),
        "success": success,
        "observations": observations,
        "actions": ["right"] * steps,
        "rewards": rewards,
        "infos": [{}] * (steps + 1),
        "terminated": True,
        "truncated": False,
        "job": job,
        "repeat": 0,
        "attempts": 1,
        "replies": [[]] * steps,
        "problems": [[]] * steps,
        "thoughts": [None] * steps,
        "invalid_actions": 0,
        "policy_s": 0.0,
    }
    return Episode(**(known | changes))


class Made:
    """Makes what runs are made of."""

    facts = staticmethod(facts)
    episode = staticmethod(episode)

    def run(self, folder: Path, *episodes: Episode, **changes: Any) -> Path:
        """Write a run."""
        run = WritableRun(folder, facts(**changes))
        for one in episodes:
            run.add(one)
        run.close()
        return folder


@pytest.fixture(scope="session")
def made() -> Made:
    return Made()
