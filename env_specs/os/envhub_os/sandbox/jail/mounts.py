"""The files a sandbox sees: read-only trees of this machine under writable overlays, in a root of its own.

All that is written lies in one tmpfs of limited size. With a root file system the overlay is the root;
without one there is an overlay for each folder that `host` takes from the machine.

Before Linux 6.6 a tmpfs keeps no user attributes, and overlays on it can't note that a folder replaces one
below: a folder of the base that was removed can't be made again.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable
from typing import Any, NamedTuple

from . import host, kernel, packing
from .view import LAYERS, LINKS, ROOTS, Base

DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
MASKED = (
    "kcore",
    "keys",
    "key-users",
    "timer_list",
    "sched_debug",
    "kmsg",
    "kallsyms",
    "latency_stats",
    "sysrq-trigger",
)
READ_ONLY = ("bus", "fs", "irq", "sys")
EMPTY = ("acpi", "scsi", "asound", "driver", "tty/driver")
OWN = ("fd", "fdinfo", "map_files", "ns")
"""Folders of the first process's that nobody inside may read. They are shown empty, so that what reads all of
`/proc` as root, such as `find /`, does so without an error."""
SYSCTLS = {"user/max_user_namespaces": 0, "user/max_inotify_instances": 8, "user/max_inotify_watches": 1024}
"""Limits of the new namespaces; those that a kernel does not know are left out."""
STAGE = "/tmp"
SHM_MB = 64


class Kept(NamedTuple):
    """What only the first process has: no path inside leads there."""

    base: Base
    """The trees as they were."""
    stage: int
    """The folder of all that is written, under the overlays, to be read without a trace."""
    last_pid: int
    """The process id given last, to be read and set; -1 where the kernel has no such file."""
    places: list[str]
    """Where the trees lie inside."""


def is_in_place(root: str, place: str) -> bool:
    """Whether a path below a root has only folders on its way: the agent may have put a link there.

    Here such a link would lead through this machine, as long as the new root is not this process's.
    """
    folder = os.open(root, os.O_PATH | os.O_DIRECTORY)
    try:
        for name in filter(None, place.split("/")):
            below = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
            os.close(folder)
            folder = below
    except OSError:
        return False
    finally:
        os.close(folder)
    return True


def open_trees(rootfs: str | None, user_namespace: int | None) -> list[tuple[int, str]]:
    """The trees of this machine that a sandbox is built on, detached, each with its place inside.

    Args:
        rootfs: The folder of a root file system, or None for host mode.
        user_namespace: Owners are seen through the maps of this one. None: they stay as they are.

    Raises:
        OSError: The kernel can't do it for the file system they are on.
    """
    places = [(rootfs, "/")] if rootfs else [(tree, tree) for tree in host.trees()]
    trees = []
    for source, place in places:
        tree = kernel.clone_tree(source)
        kernel.make_read_only(tree)
        if user_namespace is not None:
            kernel.shift_owners(tree, user_namespace)
        trees.append((tree, place))
    return trees


def build(
    trees: list[tuple[int, str]],
    shifted: bool,
    secrets: list[str],
    settings: dict[str, Any],
    saved: int | None,
) -> Kept:
    """Makes the new root and enters it, as root of new user, mount and pid namespaces.

    `saved` is a stream of `packing` with all that was written in another sandbox on the same trees.

    Where owners could not be shifted, what is root's outside is nobody's inside, and nobody's files can't be
    changed. In host mode `/etc` is therefore copied there, and only some folders of `/usr` take new files.
    """
    kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    size = f"size={settings['disk_mb']}m,nr_inodes={settings['inodes']},mode=0755"
    kernel.mount("tmpfs", STAGE, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, size)
    stage = kernel.clone_tree(STAGE)
    with contextlib.suppress(OSError):
        kernel.keep_access_times(stage)
    root, new = f"{STAGE}/root", saved is None
    for folder in (root, f"{STAGE}/{LAYERS}", f"{STAGE}/{ROOTS}"):
        os.mkdir(folder)
    if saved is not None:
        os.chdir(STAGE)
        packing.unpack(saved)
    elif not settings["rootfs"]:
        host.make_root(root, f"{STAGE}/{LINKS}")
    places = [place for _, place in trees]
    _lay_trees(trees, root, shifted or bool(settings["rootfs"]), secrets, new)
    if not settings["rootfs"]:
        kernel.mount(root, root, flags=kernel.MS_BIND | kernel.MS_REC)  # pivot_root wants a mount of its own
        if new:
            host.make_shadow(root)
    _devices(root)
    last_pid = _proc(root, {"kernel/shmall": settings["disk_mb"] << 20 >> 12, **SYSCTLS})
    return Kept(Base(_enter(), places), stage, last_pid, places)


def _lay_trees(
    trees: list[tuple[int, str]], root: str, writable: bool, secrets: list[str], new: bool
) -> None:
    """Mounts each tree in its place; where it is not `writable`, what takes new files is made here."""
    for number, (tree, place) in enumerate(trees):
        stage, target = f"{STAGE}/{number}", f"{root}{place}".rstrip("/")
        _check_place(root, place)
        if writable:
            _overlay(stage, tree, target, new, secrets if place == "/etc" else [])
        elif place == "/etc":
            _lay(stage, tree)
            if new:
                host.copy("/etc", target)
        else:
            _overlay(stage, tree, target, new, [], host.OPEN_FOLDERS.get(place, ()))


def _enter() -> int:
    """Makes the root on the stage this process's; returns the stage, opened: no path leads there now."""
    os.chdir(STAGE)
    kernel.pivot_root(".", ".")  # the old root is now mounted over the new one ...
    kernel.unmount(".")  # ... and no longer
    stage = os.open(".", os.O_PATH | os.O_CLOEXEC)
    os.chdir("root")
    kernel.mount(".", "/", flags=kernel.MS_MOVE)  # over the stage
    os.chroot(".")
    os.chdir("/")
    return stage


def _check_place(root: str, place: str) -> None:
    if not is_in_place(root, place):
        raise OSError(errno.ENOTDIR, f"{place} is no folder of the root itself")


def _lay(stage: str, tree: int) -> None:
    """Mounts a tree in its folder of the stage."""
    os.makedirs(f"{stage}/lower")
    kernel.attach_tree(tree, f"{stage}/lower")
    os.close(tree)


def _overlay(
    stage: str, tree: int, target: str, new: bool, secrets: list[str], open_folders: Iterable[str] = ()
) -> None:
    lower, upper, work = (f"{stage}/{name}" for name in ("lower", "upper", "work"))
    _lay(stage, tree)
    for folder in (upper, work):
        os.makedirs(folder, exist_ok=True)
    if new:
        os.chmod(upper, stat.S_IMODE(os.stat(lower).st_mode))
        for secret in secrets:
            _hide(lower, upper, secret)
        for folder in open_folders:
            if os.path.isdir(f"{lower}/{folder}"):
                os.mkdir(f"{upper}/{folder}")
    options = f"lowerdir={lower},upperdir={upper},workdir={work},userxattr"
    kernel.mount("overlay", target, "overlay", kernel.MS_NODEV, options)


def _hide(lower: str, upper: str, path: str) -> None:
    """Puts a whiteout, overlay's mark of what was removed, over a path."""
    folder = ""
    for part in path.split("/")[:-1]:
        folder += f"/{part}"
        if not os.path.isdir(upper + folder):
            os.mkdir(upper + folder)
            os.chmod(upper + folder, stat.S_IMODE(os.stat(lower + folder).st_mode))
    os.mknod(f"{upper}/{path}", stat.S_IFCHR, os.makedev(0, 0))


def _devices(root: str) -> None:
    """A /dev of the few devices that are safe to share, and new terminals."""
    dev = f"{root}/dev"
    os.makedirs(dev, exist_ok=True)
    _check_place(root, "/dev")
    kernel.mount(
        "tmpfs", dev, "tmpfs", kernel.MS_NOSUID | kernel.MS_NOEXEC, "size=64k,nr_inodes=64,mode=0755"
    )
    for name in DEVICES:
        with open(f"{dev}/{name}", "w"):
            pass
        kernel.mount(f"/dev/{name}", f"{dev}/{name}", flags=kernel.MS_BIND)
    for name in ("pts", "shm"):
        os.mkdir(f"{dev}/{name}")
    terminals = "newinstance,ptmxmode=0666,mode=0620,max=16"
    kernel.mount("devpts", f"{dev}/pts", "devpts", kernel.MS_NOSUID | kernel.MS_NOEXEC, terminals)
    flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    kernel.mount("tmpfs", f"{dev}/shm", "tmpfs", flags, f"size={SHM_MB}m,nr_inodes=1024,mode=1777")
    links = {"ptmx": "pts/ptmx", "fd": "/proc/self/fd", "stdin": "/proc/self/fd/0"}
    for name, target in {**links, "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"}.items():
        os.symlink(target, f"{dev}/{name}")


def _proc(root: str, sysctls: dict[str, int]) -> int:
    """A /proc of the new pid namespace, without what Docker hides or makes read-only.

    Returns a file of it that can be written here alone, see `Kept.last_pid`.
    """
    proc = f"{root}/proc"
    os.makedirs(proc, exist_ok=True)
    _check_place(root, "/proc")
    flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
    kernel.mount("proc", proc, "proc", flags)
    for name, value in sysctls.items():
        with contextlib.suppress(OSError), open(f"{proc}/sys/{name}", "w") as file:
            file.write(str(value))
    last_pid = -1
    with contextlib.suppress(OSError):
        last_pid = os.open(f"{proc}/sys/kernel/ns_last_pid", os.O_RDWR | os.O_CLOEXEC)
    for name in READ_ONLY:
        if os.path.exists(f"{proc}/{name}"):
            kernel.mount(f"{proc}/{name}", f"{proc}/{name}", flags=kernel.MS_BIND | kernel.MS_REC)
            read_only = flags | kernel.MS_BIND | kernel.MS_REMOUNT | kernel.MS_RDONLY
            kernel.mount("none", f"{proc}/{name}", flags=read_only)
    for name in MASKED:
        if os.path.exists(f"{proc}/{name}"):
            kernel.mount("/dev/null", f"{proc}/{name}", flags=kernel.MS_BIND)
    _empty(f"{proc}/{name}" for name in EMPTY)
    return last_pid


def hide_own_process() -> None:
    """Shows folders of this process in `/proc` empty; they are for itself, too."""
    own = f"/proc/{os.getpid()}"
    _empty(f"{task}/{name}" for task in (own, f"{own}/task/{os.getpid()}") for name in OWN)


def _empty(folders: Iterable[str]) -> None:
    """Mounts one empty file system over all of these folders that there are."""
    first = ""
    for folder in filter(os.path.isdir, folders):
        if first:
            kernel.mount(first, folder, flags=kernel.MS_BIND)
            continue
        first = folder
        flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC | kernel.MS_RDONLY
        kernel.mount("tmpfs", folder, "tmpfs", flags, "size=0,nr_inodes=2")
