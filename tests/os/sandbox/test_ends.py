"""Nothing is left of a sandbox: after close, and after every process that could close it has been killed."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from envhub_os.sandbox import Report, Sandbox, SandboxError, Settings, launcher

from .conftest import say

SPEC = Path(__file__).resolve().parents[3] / "env_specs" / "os"
JOBS = "sleep 1000 & setsid sleep 1000 & (trap '' HUP TERM; sleep 1000) &"
READY = (
    "until [ $(cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -o 'sleep 1000' | wc -l) -ge 3 ]; do :; done"
)
WORKER = textwrap.dedent(
    """
    import sys
    sys.path.insert(0, sys.argv[1])
    from envhub_os.sandbox import Sandbox, Settings, launcher
    boxes = [Sandbox.start(Settings(memory_mb=96, disk_mb=16, backend=sys.argv[3])) for _ in range(3)]
    for box in boxes:
        box.exec(["bash", "-c", "nohup sleep 1000 > /dev/null 2>&1 & true"])
        box.run(sys.argv[2], timeout_s=60, limit_bytes=100)
    print(launcher.launcher().pid, *(box.pid for box in boxes), flush=True)
    sys.stdin.read()
    """
)


def groups() -> set[str]:
    """The folders of control groups that launchers have made on this machine."""
    found = set()
    for folder, names, _ in os.walk("/sys/fs/cgroup"):  # which does not mind those that go meanwhile
        found |= {f"{folder}/{name}" for name in names if name.startswith("envhub-")}
    return found


def inside(pid: int) -> list[int]:
    """All processes whose namespace's first process this is."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if (
                entry.name.isdigit()
                and os.stat(entry / "ns/pid").st_ino == os.stat(f"/proc/{pid}/ns/pid").st_ino
            ):
                found.append(int(entry.name))
    return found


@pytest.fixture
def worker(held: Report) -> Iterator[tuple[subprocess.Popen[str], int, list[int]]]:
    """A process with three sandboxes, its launcher, and all of their processes."""
    command = [sys.executable, "-c", WORKER, str(SPEC), f"{JOBS}\n{READY}", held.backend]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        maker, *firsts = map(int, process.stdout.readline().split())
        everything = [pid for first in firsts for pid in inside(first)]
        assert len(everything) >= 3 * 5
        yield process, maker, everything
        process.kill()


@pytest.mark.parametrize("victim", ["worker", "launcher", "launcher, politely"])
def test_killing_ends_everything(
    worker: tuple[subprocess.Popen[str], int, list[int]],
    victim: str,
    wait_until: Callable[..., None],
    processes: Any,
) -> None:
    process, maker, everything = worker
    mounts = Path("/proc/self/mounts").read_text()
    if victim == "worker":
        process.send_signal(signal.SIGKILL)
    else:
        os.kill(maker, signal.SIGTERM if "politely" in victim else signal.SIGKILL)
    wait_until(lambda: not any(map(processes.alive, everything)), 60.0)
    wait_until(lambda: not processes.alive(maker), 60.0)
    if victim != "launcher":
        assert not any(f"envhub-{maker}-" in group for group in groups())
    assert Path("/proc/self/mounts").read_text() == mounts


def test_when_close_returns_nothing_is_left(small: Settings, processes: Any) -> None:
    files, mounts = len(os.listdir("/proc/self/fd")), Path("/proc/self/mounts").read_text()
    box = Sandbox.start(small)
    own = {group for group in groups() if f"envhub-{launcher.launcher().pid}-" in group}
    held_groups = {group: set(os.listdir(group)) for group in own}
    box.run(f"{JOBS}\n{READY}", timeout_s=60, limit_bytes=100)
    everything = inside(box.pid)
    assert len(everything) >= 5
    box.close()
    box.close()
    assert not any(map(processes.alive, everything))
    for group in own:
        assert len(os.listdir(group)) == len(held_groups[group]) - 1
    assert Path("/proc/self/mounts").read_text() == mounts
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) <= files


def test_calls_after_close_say_so(small: Settings) -> None:
    box = Sandbox.start(small)
    box.close()
    for call in (
        lambda: box.run("true", timeout_s=5, limit_bytes=10),
        lambda: box.exec(["true"]),
        lambda: box.read("/etc/passwd"),
        lambda: box.write("/tmp/x", b""),
    ):
        with pytest.raises(SandboxError):
            call()


def test_a_sandbox_whose_first_process_is_killed_says_so_and_can_be_closed(
    make: Callable[..., Sandbox], neighbour: Sandbox, wait_until: Callable[..., None], processes: Any
) -> None:
    box = make()
    os.kill(box.pid, signal.SIGKILL)
    wait_until(lambda: not processes.alive(box.pid), 60.0)
    with pytest.raises(SandboxError):
        box.run("true", timeout_s=60, limit_bytes=10)
    box.close()
    say(neighbour, "true")


def test_after_the_launcher_was_killed_another_one_makes_sandboxes(
    small: Settings, wait_until: Callable[..., None]
) -> None:
    from multiprocessing import get_context

    with get_context("fork").Pool(1) as pool:
        assert pool.apply(_outlive_a_launcher, (small,)) == (True, "on\n")


def _outlive_a_launcher(small: Settings) -> tuple[bool, str]:
    box = Sandbox.start(small)
    os.kill(launcher.launcher().pid, signal.SIGKILL)
    try:
        box.run("sleep 1000", timeout_s=60, limit_bytes=10)
        gone = False
    except SandboxError:
        gone = True
    box.close()
    with Sandbox.start(small) as another:
        return gone, another.run("echo on", timeout_s=60, limit_bytes=10).output


def test_groups_of_a_launcher_that_was_killed_are_removed_by_the_next(
    worker: tuple[subprocess.Popen[str], int, list[int]],
    wait_until: Callable[..., None],
    processes: Any,
    held: Report,
) -> None:
    if not held.groups:
        pytest.skip("no control groups here")
    _, maker, everything = worker
    os.kill(maker, signal.SIGKILL)
    wait_until(lambda: not any(map(processes.alive, [maker, *everything])), 60.0)
    command = [sys.executable, "-c", WORKER, str(SPEC), f"{JOBS}\n{READY}", held.backend]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as another:
        assert another.stdout is not None and another.stdout.readline()
        assert not any(f"envhub-{maker}-" in group for group in groups())
        another.communicate("")


def test_a_step_that_is_cut_short_leaves_a_sandbox_that_can_be_closed(
    small: Settings, processes: Any
) -> None:
    class TooLong(BaseException):
        pass

    def ring(number: int, frame: object) -> None:
        raise TooLong

    box = Sandbox.start(small)
    everything = inside(box.pid)
    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(TooLong):
            box.run("sleep 1000", timeout_s=600, limit_bytes=10)
    finally:
        signal.signal(signal.SIGALRM, before)
    box.close()
    assert not any(map(processes.alive, everything))
