"""No sandbox at all, for machines that may be destroyed: the same shell and helpers, and the same end."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from envhub_os.sandbox import Sandbox, Settings, launcher

from .conftest import say


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(backend="none", i_know=True, cwd=str(tmp_path))


def test_it_is_the_machine_itself(settings: Settings, tmp_path: Path) -> None:
    with Sandbox.start(settings) as box:
        assert say(box, "pwd; id -u").output == f"{tmp_path}\n{os.getuid()}\n"
        say(box, "x=1; echo data > file")
        assert (tmp_path / "file").read_text() == "data\n"
        assert box.exec(["cat", "file"]).stdout == b"data\n"
        assert box.run("sleep 1000", timeout_s=0.5, limit_bytes=100).timed_out
        assert say(box, "echo $x").output == "1\n"


def started(settings: Settings) -> tuple[Sandbox, int]:
    """One with jobs of all kinds, and the launcher's pid."""
    box = Sandbox.start(settings)
    say(box, "sleep 1000 & setsid sleep 1000 & (trap '' HUP TERM; sleep 1000) &")
    box.exec(["bash", "-c", "nohup sleep 1000 > /dev/null 2>&1 &"])
    return box, launcher.launcher().pid


def test_at_its_end_all_of_its_processes_end(settings: Settings, processes: Any) -> None:
    box, _ = started(settings)
    below = processes.descendants(box.pid)
    assert len(below) >= 4
    box.close()
    assert not any(map(processes.alive, below | {box.pid}))


def _kill_the_launcher(settings: Settings, processes: Any) -> set[int]:
    box, maker = started(settings)
    below = processes.descendants(box.pid)
    os.kill(maker, signal.SIGKILL)
    return {box.pid, *below}


def test_they_end_when_the_launcher_is_killed(
    settings: Settings, processes: Any, wait_until: Callable[..., None]
) -> None:
    with get_context("fork").Pool(1) as pool:  # whose launcher is not the one of this process
        everything = pool.apply(_kill_the_launcher, (settings, processes))
        assert len(everything) >= 5
        wait_until(lambda: not any(map(processes.alive, everything)), 60.0)
