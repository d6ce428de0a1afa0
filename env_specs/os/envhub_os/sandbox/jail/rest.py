"""The first process's part in saving a sandbox, and in making one of what was saved.

A sandbox is at rest when all there is to know of it is its files, and what its shell can tell of itself.
"""

from __future__ import annotations

import contextlib
import os
from typing import Any

from . import kernel, mounts, packing

SHELL_FILES = {"0", "1", "2", "255"}
"""What an interactive bash has open."""
DEVICES = "/dev"
SHARED_MEMORY = "/dev/shm"
QUEUES = ("msg", "sem", "shm")
PROFILE = "/etc/profile"
SCRIPT = f"{SHARED_MEMORY}/resume"
ENVIRONMENT = {"HOME": SHARED_MEMORY, "PROMPT_COMMAND": f". {SCRIPT}"}
"""Of a shell that is to become another one: before a prompt it reads the script, nothing of the agent's."""


class Rest:
    """What is known of a sandbox's rest.

    Args:
        kept: The files that only the first process has; None where there is no sandbox around it.
    """

    def __init__(self, kept: mounts.Kept | None) -> None:
        self._kept = kept
        self._devices = _devices()
        self._mounts = [place for place in kept.places if os.path.ismount(place)] if kept else []
        self._cover = -1

    @property
    def last_pid(self) -> int:
        """The process id given last, 0 where that is not known; when set, the next one is after it."""
        if self._kept is None or self._kept.last_pid < 0:
            return 0
        return int(os.pread(self._kept.last_pid, 32, 0))

    @last_pid.setter
    def last_pid(self, pid: int) -> None:
        if self._kept is not None and self._kept.last_pid >= 0 and pid > 0:
            with contextlib.suppress(OSError):
                os.pwrite(self._kept.last_pid, str(pid).encode(), 0)

    def objection(self, shell: int, front: int) -> str:
        """Says what is there besides files and the shell at its prompt; "" where nothing is.

        Args:
            shell: The login shell's process.
            front: The process group in front on its terminal.
        """
        if self._kept is None:
            return "it was not made for that"
        if shell < 0 or front != shell:
            return "the shell is not at its prompt"
        others = [name for name in os.listdir("/proc") if name.isdigit() and int(name) not in (1, shell)]
        if others:
            return f"a process runs beside the shell: {_name(others[0])}"
        for place in self._mounts:
            if not mounts.is_in_place("/", place) or not os.path.ismount(place):
                return f"{place} was moved"
        if os.listdir(SHARED_MEMORY) or _devices() != self._devices:
            return "there is something in /dev"
        for kind in QUEUES:
            with contextlib.suppress(OSError), open(f"/proc/sysvipc/{kind}") as file:
                if len(file.readlines()) > 1:
                    return f"there is a System V object ({kind})"
        return _objection_to(shell)

    def save(self, order: dict[str, Any], sink: int) -> None:
        """Writes all that was written in the sandbox, up to `order["limit"]` bytes, as `packing` does."""
        assert self._kept is not None
        os.fchdir(self._kept.stage)
        packing.pack(sink, order["limit"])

    def cover(self, saved: int) -> None:
        """Lays down the script that makes a shell another one, and covers what a login shell reads else."""
        with open(saved, "rb", buffering=0) as source, open(SCRIPT, "wb") as script:
            while chunk := source.read(packing.CHUNK):
                script.write(chunk)
        if os.path.isfile(PROFILE):
            kernel.mount("/dev/null", PROFILE, flags=kernel.MS_BIND)
            self._cover = os.open(PROFILE, os.O_PATH | os.O_CLOEXEC)

    def uncover(self) -> None:
        """Takes both away again; what the path leads to by now may be another mount."""
        if self._cover >= 0:
            kernel.unmount(f"/proc/self/fd/{self._cover}")
            os.close(self._cover)
        os.unlink(SCRIPT)


def _devices() -> list[Any]:
    """What `/dev` is, so that a change is noticed."""
    found: list[Any] = []
    for path in (DEVICES, SHARED_MEMORY):
        status = os.stat(path)
        found.append((status.st_mode, status.st_uid, status.st_gid))
    return [*found, os.stat(DEVICES).st_mtime_ns]


def _objection_to(shell: int) -> str:
    """What of the process of the shell can't be given to another one."""
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
