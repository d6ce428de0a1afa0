"""Sandboxes of a real hub end with it."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from envhub_os.sandbox import Settings, report

from envhub_sdk import Hub

BASH = "Think: nothing.\nAct: bash\n\n```bash\n(sleep 1000 & setsid sleep 1000 &)\n```"


def is_launcher(pid: int) -> bool:
    try:
        return b"jail/__main__" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:  # it has ended
        return False


@pytest.mark.e2e
@pytest.mark.parametrize("victim", ["hub", "worker"])
def test_a_killed_hub_or_worker_leaves_no_sandbox(
    mortal: Callable[..., Any], victim: str, wait_until: Callable[..., None], processes: Any
) -> None:
    found = report(Settings())
    if found.problem:
        pytest.skip(found.problem)
    hub = mortal("--env", "os=2", "--workers", "1")
    with Hub(hub.url, retries=1, patience_s=0.1) as client:
        env = client.make("os")
        env.reset(seed=1)
        env.step(BASH)
        below = processes.descendants(hub.pid)
        launchers = set(filter(is_launcher, below))
        inside = {pid for maker in launchers for pid in processes.descendants(maker)}
        assert len(inside) >= 3
        (worker,) = {pid for pid in below if launchers & processes.children(pid)}
        if victim == "hub":
            hub.kill()
        else:
            os.kill(worker, signal.SIGKILL)
        wait_until(lambda: not any(map(processes.alive, inside | launchers)), 60.0)
        if victim == "worker":
            env.step(BASH)  # replayed in a new sandbox
            env.close()
