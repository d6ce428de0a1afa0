"""The machine as a check of it sees it: the agent's files, but the base's programs and libraries.

A check that runs programs inside must not run the agent's `python3`, `ls` or `libc`, and yet see the agent's
files. So it gets a mount namespace of its own with a root that is put together anew, out of the agent's
reach: the agent's folders, each where it was, and between them the base's libraries and what says which are
loaded (`OWN`). The base's folders of programs come first in its PATH, by open files that no path leads to;
at their own paths lie the agent's, for a check may ask what is in them, unless the agent has changed a
program there: then the base's.
"""

from __future__ import annotations

import errno
import fnmatch
import os
import stat
from collections.abc import Sequence

from . import kernel

VIEW = "view"
"""A folder of the stage, where a view is put together."""
OWN = {
    "/": ("lib*",),
    "/usr": ("lib*",),
    "/usr/local": ("lib*",),
    "/etc": ("alternatives", "ld.so.*", "nsswitch.conf", "python3*"),
}
"""What a view has of the base in the folders whose entries it shows one by one."""
LINKS = "links"
"""A folder of the stage with the links that the root had where no tree is the whole root."""
PROGRAMS = ("/usr/sbin", "/usr/bin", "/sbin", "/bin")
LOCAL = "/usr/local/sbin:/usr/local/bin"
ENVIRONMENT = {"PYTHONNOUSERSITE": "1", "PYTHONSAFEPATH": "1"}
FIRST_FILE = 60
"""The number of the first file that is open for PATH, beyond those that scripts use."""
MAX_ENTRIES = 4096
"""Of more files in a folder that is shown one by one no view is made."""


class Base:
    """The trees that a sandbox was made from, out of its reach.

    Args:
        stage: The folder that has a folder `N` for each tree: with the tree, read-only, as `lower`, and what
            was written over it in `upper`. It is opened and lies under the root.
        places: Where each tree lies inside.
    """

    def __init__(self, stage: int, places: Sequence[str]) -> None:
        self._stage = stage
        self._places = places

    def enter(self) -> tuple[dict[str, str], tuple[int, ...]]:
        """Takes this process, which has all capabilities, into a view of its own.

        Returns:
            Variables for the programs that it becomes, and files that must stay open for them.

        Raises:
            OSError: None can be put together of what the agent left.
        """
        os.fchdir(self._stage)  # which the new namespace has, too
        kernel.unshare(kernel.CLONE_NEWNS)
        files = tuple(self._open_programs())
        flags = kernel.MS_NOSUID | kernel.MS_NODEV
        kernel.mount("tmpfs", VIEW, "tmpfs", flags, f"size=1m,nr_inodes={4 * MAX_ENTRIES},mode=0755")
        self._lay("/")
        os.chdir(VIEW)
        kernel.mount(".", "/", flags=kernel.MS_MOVE)
        os.chroot(".")
        os.chdir("/")
        paths = [f"/proc/self/fd/{file}" for file in files]
        return {**ENVIRONMENT, "PATH": ":".join([*paths, *PROGRAMS, LOCAL])}, files

    def _open_programs(self) -> list[int]:
        """Opens the base's folders of programs, detached, so that nothing lies above them."""
        opened: list[int] = []
        for place in PROGRAMS:
            source = self._entries(os.path.dirname(place)).get(os.path.basename(place))
            if source and _is_folder(source):
                tree = kernel.clone_tree(source)
                opened.append(os.dup2(tree, FIRST_FILE + len(opened), inheritable=True))
                os.close(tree)
        return opened

    def _lay(self, folder: str) -> None:
        """Puts a folder together, entry by entry."""
        prefix = folder.rstrip("/")
        for name in _names(folder):
            path = f"{prefix}/{name}"
            if self._is_own(folder, name):
                continue
            if path in OWN and _is_folder(path):
                _make_folder(path, VIEW + path)
                self._lay(path)
            else:
                _show(path, VIEW + path)
        for name, source in self._entries(folder).items():
            if self._is_own(folder, name):
                _show(source, f"{VIEW}{prefix}/{name}")
        found = os.lstat(folder)
        os.utime(VIEW + folder, ns=(found.st_atime_ns, found.st_mtime_ns))

    def _is_own(self, folder: str, name: str) -> bool:
        """Whether a view has the base's file of this name."""
        if any(fnmatch.fnmatchcase(name, pattern) for pattern in OWN[folder]):
            return True
        path = f"{folder.rstrip('/')}/{name}"
        return path in PROGRAMS and self._is_changed(path)

    def _entries(self, folder: str) -> dict[str, str]:
        """What the base has in a folder, and where that is from the stage."""
        found = {}
        for below in (self._below(folder), LINKS if folder == "/" else None):
            if below and os.path.isdir(below):
                found.update({name: f"{below}/{name}" for name in os.listdir(below)})
        for number, place in enumerate(self._places):
            if place != "/" and os.path.dirname(place) == folder:
                found[os.path.basename(place)] = f"{number}/lower"
        return found

    def _below(self, path: str, layer: str = "lower") -> str | None:
        """Where a layer has a path, from the stage; None where no tree has it."""
        for number, place in enumerate(self._places):
            prefix = place.rstrip("/")
            if path == prefix or path.startswith(f"{prefix}/"):
                return f"{number}/{layer}{path[len(prefix) :]}"
        return None

    def _is_changed(self, folder: str) -> bool:
        """Whether other programs than the base's are run under names that the base has."""
        base = self._entries(os.path.dirname(folder)).get(os.path.basename(folder))
        if base is None:
            return False
        if os.path.islink(base):
            return not os.path.islink(folder) or os.readlink(folder) != os.readlink(base)
        written = self._below(folder, "upper")
        if not _is_folder(folder) or written is None or not os.path.isdir(written):
            return not _is_folder(folder)
        return any(_differs(f"{base}/{name}", f"{written}/{name}") for name in os.listdir(written))


def _names(folder: str) -> list[str]:
    file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        names = os.listdir(file)
    finally:
        os.close(file)
    if len(names) > MAX_ENTRIES:
        raise OSError(errno.E2BIG, f"{folder} has {len(names)} entries, more than {MAX_ENTRIES}")
    return names


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _differs(base: str, written: str) -> bool:
    """Whether something else was written over a program: not of owners, rights and dates alone."""
    if not os.path.lexists(base):
        return False
    first, second = os.lstat(base), os.lstat(written)
    if stat.S_ISCHR(second.st_mode):  # removed, by the overlay's mark of that
        return False
    if stat.S_IFMT(first.st_mode) != stat.S_IFMT(second.st_mode):
        return True
    if stat.S_ISLNK(first.st_mode):
        return os.readlink(base) != os.readlink(written)
    if not stat.S_ISREG(first.st_mode):
        return False
    if first.st_size != second.st_size:
        return True
    with open(base, "rb") as one, open(written, "rb") as other:
        return one.read() != other.read()


def _make_folder(source: str, target: str) -> None:
    """Makes a folder in a view, of the same looks."""
    found = os.lstat(source)
    os.mkdir(target)
    os.chown(target, found.st_uid, found.st_gid)
    os.chmod(target, stat.S_IMODE(found.st_mode))


def _show(source: str, target: str) -> None:
    """Lets a file, a folder with all in it, or a link be seen in a view."""
    found = os.lstat(source)
    if stat.S_ISLNK(found.st_mode):
        os.symlink(os.readlink(source), target)
        os.chown(target, found.st_uid, found.st_gid, follow_symlinks=False)
        os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns), follow_symlinks=False)
        return
    if stat.S_ISDIR(found.st_mode):
        os.mkdir(target)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC))
    kernel.mount(source, target, flags=kernel.MS_BIND | kernel.MS_REC)
