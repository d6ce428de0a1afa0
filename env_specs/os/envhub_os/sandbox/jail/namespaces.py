"""New namespaces for a process, and the user ids inside them.

A sandbox's ids 0 to 65535 are ids of this machine that nobody else has: as root a range of its own above
2^30, without root the range that `/etc/subuid` and `/etc/subgid` give this user. Root inside is therefore
nobody outside. Without either, only root's id exists inside, and it is the user's own.
"""

from __future__ import annotations

import errno
import os

from . import kernel

IDS = 1 << 16
_FIRST_RANGE, _RANGES = 1 << 30, 1 << 14
NAMESPACES = (
    kernel.CLONE_NEWUSER
    | kernel.CLONE_NEWNS
    | kernel.CLONE_NEWPID
    | kernel.CLONE_NEWNET
    | kernel.CLONE_NEWIPC
    | kernel.CLONE_NEWUTS
    | kernel.CLONE_NEWCGROUP
)


def id_source() -> str:
    """Where ids come from: "root" (any range), "subuid" (this user's range), "single" (one id)."""
    if os.geteuid() == 0 and _maps_everything():
        return "root"
    installed = _installed("newuidmap") and _installed("newgidmap")
    if installed and _subordinate("/etc/subuid") and _subordinate("/etc/subgid"):
        return "subuid"
    return "single"


def _installed(program: str) -> bool:
    return any(os.access(f"{folder}/{program}", os.X_OK) for folder in os.get_exec_path())


def _maps_everything() -> bool:
    with open("/proc/self/uid_map") as file:
        return any(int(line.split()[2]) >= _FIRST_RANGE + _RANGES * IDS for line in file)


def _subordinate(path: str) -> int | None:
    """The first id of this user's first range of at least `IDS`, or None."""
    names = (_own_name(), str(os.getuid()))
    try:
        with open(path) as file:
            for line in file:
                name, first, count = line.strip().split(":")
                if name in names and int(count) >= IDS:
                    return int(first)
    except (OSError, ValueError):
        pass
    return None


def _own_name() -> str:
    with open("/etc/passwd") as file:
        for line in file:
            fields = line.split(":")
            if fields[2:3] == [str(os.getuid())]:
                return fields[0]
    return ""


def root_id(maker: int) -> int:
    """As root: which id outside root has in the sandbox that a process makes; the others follow it."""
    return _FIRST_RANGE + maker % _RANGES * IDS


def become_owner(root: int) -> None:
    """As root: becomes the user that is root in the sandbox to be made, and keeps all capabilities.

    What is made in a user namespace is charged to its owner outside, too. So each has an owner of its own,
    and who uses up what a user may have (inotify instances, locked memory, message queues) does so alone.
    """
    permitted = kernel.permitted_capabilities()
    kernel.prctl(kernel.PR_SET_KEEPCAPS, 1)
    os.setgroups([])
    os.setresgid(root, root, root)
    os.setresuid(root, root, root)
    kernel.set_capabilities(permitted)


def map_ids(pid: int, source: str, maker: int, own_root: bool = False) -> None:
    """Gives the new user namespace of a process its ids.

    Args:
        pid: The process.
        source: Where they come from, see `id_source`.
        maker: The process that made the namespace.
        own_root: Root inside is this user even where `/etc/subuid` gives it other ids.

    Raises:
        OSError: The kernel, or newuidmap, refuses.
    """
    if source == "root":
        _write_map(pid, "uid_map", f"0 {root_id(maker)} {IDS}")
        _write_map(pid, "gid_map", f"0 {root_id(maker)} {IDS}")
    elif source == "subuid":
        for tool, path, own in (
            ("newuidmap", "/etc/subuid", os.geteuid()),
            ("newgidmap", "/etc/subgid", os.getegid()),
        ):
            first = str(_subordinate(path))
            ids = ["0", str(own), "1", "1", first, str(IDS - 1)] if own_root else ["0", first, str(IDS)]
            status = os.spawnvp(os.P_WAIT, tool, [tool, str(pid), *ids])
            if status:
                raise OSError(errno.EPERM, f"{tool} failed with exit code {status}")
    else:
        _write_map(pid, "setgroups", "deny")
        _write_map(pid, "uid_map", f"0 {os.geteuid()} 1")
        _write_map(pid, "gid_map", f"0 {os.getegid()} 1")


def _write_map(pid: int, name: str, text: str) -> None:
    with open(f"/proc/{pid}/{name}", "w") as file:
        file.write(text)


def become_root(source: str) -> None:
    """Takes id 0 of the new user namespace, with all of its capabilities."""
    if source != "single":
        os.setgroups([])
    os.setresgid(0, 0, 0)
    os.setresuid(0, 0, 0)
