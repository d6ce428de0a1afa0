"""Limits of a sandbox: control groups of version 2 or 1 where this user may make them, rlimits always.

Groups are called `envhub-<pid>-<start>/<number>` after the launcher that made them, so that a later launcher
can tell those whose launcher is gone and remove them.
"""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Sequence
from typing import Any

CONTROLLERS = ("memory", "pids", "cpu")
NEEDED = frozenset({"memory", "pids"})
"""Without these, groups of version 2 are of no use."""
ROOT = "/sys/fs/cgroup"
OWN_GROUPS = "/proc/self/cgroup"
CPU_PERIOD_US = 100_000
SOCKETS = 8
"""What network sockets may hold of the memory: an eighth, in control groups of version 1."""
MIN_QUOTA_US = 1000
"""The least that the kernel takes."""


class Groups:
    """The folders of control groups under which this launcher makes one group a sandbox.

    Attributes:
        version: 2, 1, or 0 where there are none.
        controllers: Those in force: a subset of memory, pids and cpu.
    """

    def __init__(self) -> None:
        self._parents: dict[str, str] = {}
        self.version = 0
        self._name = f"envhub-{os.getpid()}-{start_time(os.getpid())}"
        parent = _parent_v2()
        if parent:
            self.version = 2
            enabled = _words(parent, "cgroup.subtree_control")
            self.controllers = tuple(name for name in CONTROLLERS if name in enabled)
            self._parents = {"": parent}
        else:
            self._parents = {name: path for name in CONTROLLERS if (path := _parent_v1(name))}
            self.controllers = tuple(self._parents)
            self.version = 1 if self._parents else 0

    def prepare(self) -> None:
        """Makes this launcher's folders and removes those of launchers that are gone."""
        for parent in self._parents.values():
            _remove_stale(parent)
            os.makedirs(f"{parent}/{self._name}", exist_ok=True)
            if self.version == 2:
                _put(
                    f"{parent}/{self._name}",
                    "cgroup.subtree_control",
                    " ".join(f"+{c}" for c in self.controllers),
                )

    def make(self, number: int, settings: dict[str, Any]) -> list[str]:
        """Makes a sandbox's groups; returns their folders, for `join` and `remove`."""
        memory, quota = settings["memory_mb"] << 20, max(int(settings["cpus"] * CPU_PERIOD_US), MIN_QUOTA_US)
        folders = []
        for controller, parent in self._parents.items():
            folder = f"{parent}/{self._name}/{number}"
            os.mkdir(folder)
            folders.append(folder)
            if controller in ("memory", "") and "memory" in self.controllers:
                if self.version == 2:
                    _put(folder, "memory.max", str(memory))
                    _put(folder, "memory.swap.max", "0", optional=True)
                else:
                    _put(folder, "memory.limit_in_bytes", str(memory))
                    _put(folder, "memory.memsw.limit_in_bytes", str(memory), optional=True)
                    # Version 1 counts what lies in network sockets apart, and only where it has a limit.
                    _put(folder, "memory.kmem.tcp.limit_in_bytes", str(memory // SOCKETS), optional=True)
            if controller in ("pids", "") and "pids" in self.controllers:
                _put(folder, "pids.max", str(settings["pids"]))
            if controller in ("cpu", "") and "cpu" in self.controllers:
                if self.version == 2:
                    _put(folder, "cpu.max", f"{quota} {CPU_PERIOD_US}")
                else:
                    _put(folder, "cpu.cfs_period_us", str(CPU_PERIOD_US))
                    _put(folder, "cpu.cfs_quota_us", str(quota))
        return folders

    def join(self, folders: list[str]) -> None:
        """Moves this process, which has but one thread, into groups that were made.

        A thread that moves itself waits for no other process: to move another one takes the kernel 10 ms.
        """
        for folder in folders:
            _put(folder, "cgroup.procs" if self.version == 2 else "tasks", "0")

    def close(self) -> None:
        """Removes this launcher's folders."""
        for parent in self._parents.values():
            remove([f"{parent}/{self._name}"])


def remove(folders: Sequence[str]) -> None:
    """Removes groups without processes."""
    for folder in folders:
        with contextlib.suppress(OSError):
            os.rmdir(folder)


def start_time(pid: int) -> str | None:
    """When a process started, in ticks since boot; None when it has ended."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            words = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if words[0] in "ZX" else words[19]


def _remove_stale(parent: str) -> None:
    for name in os.listdir(parent):
        kind, _, rest = name.partition("-")
        pid, _, started = rest.partition("-")
        if kind == "envhub" and pid.isdigit() and start_time(int(pid)) != started:
            folder = f"{parent}/{name}"
            remove([f"{folder}/{entry.name}" for entry in os.scandir(folder) if entry.is_dir()] + [folder])


def _own(controller: str) -> str | None:
    """This process's group in a hierarchy; "" is version 2's."""
    with open(OWN_GROUPS) as file:
        for line in file:
            _, names, path = line.rstrip("\n").split(":", 2)
            if controller in names.split(","):
                return path.rstrip("/")
    return None


def _parent_v2() -> str | None:
    """The nearest group, from this process's own upwards, that may have children with all controllers.

    Children get the controllers that the group's `cgroup.subtree_control` names. It may be given more of
    those that it has itself, but the kernel refuses that while it holds processes (but for the root of all),
    which is why this process's own group is rarely the one.
    """
    path = _own("")
    while path is not None:
        folder = f"{ROOT}{path}"
        try:
            if os.access(f"{folder}/cgroup.procs", os.W_OK) and _enables(folder):
                return folder
        except OSError:
            return None
        path = path.rpartition("/")[0] if path else None
    return None


def _enables(folder: str) -> bool:
    """Sees to it that a group's children have the controllers that are needed."""
    if NEEDED <= _words(folder, "cgroup.subtree_control"):
        return True
    found = _words(folder, "cgroup.controllers")
    if not NEEDED <= found:
        return False
    try:
        _put(folder, "cgroup.subtree_control", " ".join(f"+{name}" for name in CONTROLLERS if name in found))
    except OSError:  # it holds processes
        return False
    return NEEDED <= _words(folder, "cgroup.subtree_control")


def _words(folder: str, name: str) -> set[str]:
    with open(f"{folder}/{name}") as file:
        return set(file.read().split())


def _parent_v1(controller: str) -> str | None:
    own = _own(controller)
    if own is None:
        return None
    for folder in (
        f"{ROOT}/{controller}{own}",
        f"{ROOT}/{controller}",
    ):  # inside a container the path may be another
        if os.access(f"{folder}/cgroup.procs", os.W_OK):
            return folder
    return None


def _put(folder: str, name: str, value: str, optional: bool = False) -> None:
    try:
        with open(f"{folder}/{name}", "w") as file:
            file.write(value)
    except OSError:
        if not optional:
            raise


def set_rlimits(settings: dict[str, Any], controllers: tuple[str, ...]) -> None:
    """Sets the limits of this process and all it becomes, those by process for what no group limits too."""
    files = settings["open_files"] if "memory" in controllers else min(settings["open_files"], 4096)
    _lower(resource.RLIMIT_NOFILE, files)
    _lower(resource.RLIMIT_CORE, 1)  # none, and none to a program outside either: core(5), umh_coredump_setup
    _lower(resource.RLIMIT_MEMLOCK, 1 << 20)
    _lower(resource.RLIMIT_MSGQUEUE, 1 << 20)
    _lower(resource.RLIMIT_SIGPENDING, 1024)
    _lower(resource.RLIMIT_RTPRIO, 0)
    if "pids" not in controllers:
        _lower(resource.RLIMIT_NPROC, settings["pids"])
    if "memory" not in controllers:
        _lower(resource.RLIMIT_AS, settings["memory_mb"] << 20)


def _lower(kind: int, value: int) -> None:
    """Sets both limits, raising the hard one where that is allowed."""
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(kind, (value, value))
        return
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (min(value, hard), min(value, hard)))
