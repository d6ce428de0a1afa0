"""Folders laid one over the other, and what is shown or copied from one place to another."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator

from . import kernel


def hide(layer: str, names: Iterable[str]) -> None:
    """Puts whiteouts, overlay's marks of what was removed, into a layer."""
    first = ""
    for name in names:
        if first:
            os.link(first, f"{layer}/{name}")
        else:
            first = f"{layer}/{name}"
            os.mknod(first, stat.S_IFCHR, os.makedev(0, 0))


def overlay(layers: list[str], added: list[str], target: str) -> None:
    """Mounts folders one over the other, the uppermost first, and those of `added` below all of them."""
    if not os.path.isdir(target):
        _make_folder(layers[-1], target)
    if added:
        with contextlib.suppress(OSError):  # where the base lies in an overlay itself, there may be no room
            _mount([*layers, *added], target)
            return
    _mount(layers, target)


def _mount(layers: list[str], target: str) -> None:
    if len(layers) == 1:
        kernel.mount(layers[0], target, flags=kernel.MS_BIND)
        return
    options = f"lowerdir={':'.join(layers)},userxattr"
    kernel.mount("overlay", target, "overlay", kernel.MS_NODEV | kernel.MS_RDONLY, options)


@contextlib.contextmanager
def opened(path: str) -> Iterator[int]:
    """Opens what is at a path now: the agent may put a link to `/proc/self` in its place at any time."""
    file = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield file
    finally:
        os.close(file)


def _make_folder(source: str, target: str) -> None:
    """Makes a folder of the same looks."""
    os.mkdir(target)
    look_like(os.lstat(source), target)


def look_like(found: os.stat_result, target: str) -> None:
    """Gives what is there the owner, rights and dates of something else."""
    with contextlib.suppress(OSError):  # without root, what is root's outside has an owner that is nobody's
        os.chown(target, found.st_uid, found.st_gid, follow_symlinks=False)
    if not stat.S_ISLNK(found.st_mode):
        os.chmod(target, stat.S_IMODE(found.st_mode))
    os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns), follow_symlinks=False)


def show(source: str, target: str) -> None:
    """Lets a file, a folder with all in it, or a link be seen in a view."""
    with opened(source) as file:
        found = os.fstat(file)
        if stat.S_ISLNK(found.st_mode):
            os.symlink(os.readlink("", dir_fd=file), target)
            look_like(found, target)
            return
        if stat.S_ISDIR(found.st_mode):
            os.mkdir(target)
        else:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC))
        kernel.mount(f"/proc/self/fd/{file}", target, flags=kernel.MS_BIND | kernel.MS_REC)


def copy(source: str, target: str) -> None:
    """Copies a file, a link, a folder with all in it, or overlay's mark of what was removed."""
    found = os.lstat(source)
    if stat.S_ISLNK(found.st_mode):
        os.symlink(os.readlink(source), target)
    elif stat.S_ISDIR(found.st_mode):
        os.mkdir(target)
        for name in os.listdir(source):
            copy(f"{source}/{name}", f"{target}/{name}")
        for name in os.listxattr(source):  # such as overlay's mark of a folder that hides those below it
            os.setxattr(target, name, os.getxattr(source, name))
    elif stat.S_ISREG(found.st_mode):
        with open(source, "rb") as old, open(target, "xb") as new:
            while chunk := old.read(1 << 20):
                new.write(chunk)
    elif stat.S_ISCHR(found.st_mode):
        hide(os.path.dirname(target), [os.path.basename(target)])
        return
    else:
        return
    look_like(found, target)
