"""Process trees: starting them, ending them by pid, and what they use of the machine."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

END_S = 10.0
"""How long a server may take to end in good order."""

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Memory(NamedTuple):
    """What one process holds, in KiB."""

    pid: int
    command: str
    proportional: int
    """Its own pages, and of each shared page its share (Pss)."""
    private: int
    shared: int


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()


def tree(pid: int) -> list[int]:
    """A process and all its descendants that are alive."""
    children: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            with contextlib.suppress(OSError):
                children.setdefault(int(_stat(int(entry))[1]), []).append(int(entry))
    found, todo = [], [pid]
    while todo:
        found.append(todo.pop())
        todo += children.get(found[-1], [])
    return found


def cpu_seconds(pids: Sequence[int]) -> float:
    """CPU time that processes have used so far, user and system, all threads."""
    total = 0.0
    for pid in pids:
        fields = _stat(pid)
        total += (int(fields[11]) + int(fields[12])) * _TICK_S
    return total


def memory(pid: int) -> Memory:
    """What a process holds, from its smaps_rollup."""
    sizes: dict[str, int] = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, amount, _ = line.split()
        sizes[name] = int(amount)
    command = Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip()
    private = sizes["Private_Clean:"] + sizes["Private_Dirty:"]
    return Memory(pid, command, sizes["Pss:"], private, sizes["Rss:"] - private)


@contextlib.contextmanager
def running(command: Sequence[str], folder: Path, speaks: bool = True) -> Iterator[subprocess.Popen[str]]:
    """Runs a server; on the way out it and all its descendants are ended, by pid.

    Args:
        command: The program and its arguments.
        folder: Where it runs.
        speaks: Whether its output is read (see `first_line`), or dropped.
    """
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE if speaks else subprocess.DEVNULL,
        stderr=None if speaks else subprocess.DEVNULL,
        text=True,
        cwd=folder,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with _handles(tree(process.pid)) as members:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(END_S)
            for member in members:  # a server that ended in good order left none
                with contextlib.suppress(ProcessLookupError):
                    signal.pidfd_send_signal(member, signal.SIGKILL)
            process.wait()
            for member in members:
                select.select([member], [], [], END_S)
        if process.stdout is not None:
            process.stdout.close()


@contextlib.contextmanager
def _handles(pids: Sequence[int]) -> Iterator[list[int]]:
    """Descriptors of processes: unlike a pid, each means this process for ever."""
    handles: list[int] = []
    try:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                handles.append(os.pidfd_open(pid))
        yield handles
    finally:
        for handle in handles:
            os.close(handle)


def first_line(process: subprocess.Popen[str], timeout_s: float) -> str:
    """The first line a process prints.

    Raises:
        RuntimeError: It ended first, or printed nothing in time.
    """
    assert process.stdout is not None
    deadline = time.monotonic() + timeout_s
    while not select.select([process.stdout], [], [], max(0.0, deadline - time.monotonic()))[0]:
        if time.monotonic() >= deadline:
            raise RuntimeError(f"{process.args!r} printed nothing within {timeout_s:g} s")
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"{process.args!r} ended with status {process.wait(10)} before it was ready")
    return line
