"""Whether a sandbox is at rest: all there is to know of it is its files, and what its shell can tell of itself."""

from __future__ import annotations

import contextlib
import os
from typing import Any

SHELL_FILES = {"0", "1", "2", "255"}
"""What an interactive bash has open."""
DEVICES = "/dev"
SHARED_MEMORY = "/dev/shm"
QUEUES = ("msg", "sem", "shm")


def devices() -> list[Any]:
    """What `/dev` is, so that a change is noticed."""
    found: list[Any] = []
    for path in (DEVICES, SHARED_MEMORY):
        status = os.stat(path)
        found.append((status.st_mode, status.st_uid, status.st_gid))
    return [*found, os.stat(DEVICES).st_mtime_ns]


def objection(shell: int, front: int, before: list[Any]) -> str:
    """Says what is there besides files and the shell at its prompt; "" where nothing is.

    Args:
        shell: The login shell's process.
        front: The process group in front on its terminal.
        before: What `devices` said at the start.
    """
    if shell < 0 or front != shell:
        return "the shell is not at its prompt"
    others = [name for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, shell)]
    if others:
        return f"a process runs beside the shell: {_name(others[0])}"
    if os.listdir(SHARED_MEMORY) or devices() != before:
        return "there is something in /dev"
    for kind in QUEUES:
        with contextlib.suppress(OSError), open(f"/proc/sysvipc/{kind}") as file:
            if len(file.readlines()) > 1:
                return f"there is a System V object ({kind})"
    return _of_the_shell(shell)


def _of_the_shell(shell: int) -> str:
    try:
        if os.path.basename(os.readlink(f"/proc/{shell}/exe")) != "bash":
            return "the login shell has become another program"
        if set(os.listdir(f"/proc/{shell}/fd")) - SHELL_FILES:
            return "the shell has files open"
        if os.readlink(f"/proc/{shell}/cwd").endswith(" (deleted)"):
            return "the shell's directory was removed"
        if _text(shell, "limits") != _text(1, "limits"):
            return "the shell has changed its limits"
        if os.getpriority(os.PRIO_PROCESS, shell) != os.getpriority(os.PRIO_PROCESS, 0):
            return "the shell has changed its priority"
        if os.sched_getaffinity(shell) != os.sched_getaffinity(0):
            return "the shell has chosen its processors"
    except OSError as error:
        return f"the shell can't be looked at: {error}"
    return ""


def _text(pid: int, name: str) -> str:
    with open(f"/proc/{pid}/{name}") as file:
        return file.read()


def _name(pid: str) -> str:
    try:
        return _text(int(pid), "comm").strip()
    except OSError:
        return pid
