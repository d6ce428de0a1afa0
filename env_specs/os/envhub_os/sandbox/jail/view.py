"""The machine as a check of it sees it: the agent's files, but other people's programs and libraries.

A check that runs programs inside must not run the agent's `python3`, `ls` or `libc`, and yet see the agent's
files. So it gets a mount namespace of its own with a root that is put together anew, out of the agent's
reach, of the agent's folders, each where it was. The folders of programs and libraries are put together as
well: what the base, or the setup of the task, had under a name lies over what the agent has put there. What
the agent has added is seen and can be run, but for programs in /usr/local that go by the name of another one,
and for modules of Python.
"""

from __future__ import annotations

import errno
import fnmatch
import os
import stat
from collections.abc import Iterable, Sequence

from . import kernel, layers

LINKS, LAYERS, ROOTS = "links", "layers", "roots"
"""Folders of the stage: the links that the root had where no tree is all of it; where a view's own layers
lie; and where its root is, in the file system that the agent writes to, so that `df` says the same."""
OPENED = ("/usr", "/usr/local", "/etc")
"""Folders whose entries a view shows one by one, as it does those of the root."""
PROGRAMS = ("/usr/sbin", "/usr/bin", "/sbin", "/bin")
LOCAL = ("/usr/local/sbin", "/usr/local/bin")
OWN = {
    "/": ("lib*", "bin", "sbin"),
    "/usr": ("lib*", "bin", "sbin"),
    "/usr/local": ("lib*", "bin", "sbin"),
    "/etc": ("alternatives", "ld.so.*", "nsswitch.conf", "python3*"),
}
"""What in them is the base's, and says what is run."""
SEALED = {**OWN, "/etc": (*OWN["/etc"], "passwd", "group")}
"""What is kept of what was there before the agent. Accounts are shown as the agent's are; `look` compares."""
ENVIRONMENT = {"PYTHONNOUSERSITE": "1"}
MAX_ENTRIES = 4096
"""Of more files in a folder that is shown one by one no view is made."""


class Base:
    """What a sandbox was made from, out of its reach.

    Args:
        stage: The folder that has a folder `N` for each tree: with the tree, read-only, as `lower`, and what
            was written over it in `upper`. It is opened and lies under the root.
        places: Where each tree lies inside.
    """

    def __init__(self, stage: int, places: Sequence[str]) -> None:
        self._stage = stage
        self._places = places
        self._root = ""

    def seal(self) -> None:
        """Counts what has been written so far to the base."""
        os.fchdir(self._stage)
        for number in range(len(self._places)):
            for folder, patterns in SEALED.items():
                source, target = (self._below(folder, layer) for layer in ("upper", "sealed"))
                if source and target and source.startswith(f"{number}/") and os.path.isdir(source):
                    for name in os.listdir(source):
                        if _matches(name, patterns):
                            os.makedirs(target, exist_ok=True)
                            layers.copy(f"{source}/{name}", f"{target}/{name}")

    def read(self, path: str) -> bytes:
        """What a file of the base holds; nothing where there is none. For the first process and its forks."""
        os.fchdir(self._stage)
        try:
            place = next(filter(os.path.lexists, self._places_of(path)), None)
            if place is None or not os.path.isfile(place) or os.path.islink(place):
                return b""
            with open(place, "rb") as file:
                return file.read()
        finally:
            os.chdir("/")

    def enter(self) -> None:
        """Takes this process, which has all capabilities, into a view of its own.

        Raises:
            OSError: None can be put together of what the agent left.
        """
        os.fchdir(self._stage)  # which the new namespace has, too
        kernel.unshare(kernel.CLONE_NEWNS)
        flags = kernel.MS_NOSUID | kernel.MS_NODEV
        kernel.mount("tmpfs", LAYERS, "tmpfs", flags, "size=32m,nr_inodes=65536,mode=0755")
        self._root = f"{ROOTS}/{os.urandom(8).hex()}"
        os.mkdir(self._root)
        os.chmod(self._root, 0o755)
        kernel.mount(self._root, self._root, flags=kernel.MS_BIND)
        self._lay("/")
        os.chdir(self._root)
        kernel.mount(".", "/", flags=kernel.MS_MOVE)
        os.chroot(".")
        os.chdir("/")

    def _lay(self, folder: str) -> None:
        """Puts a folder together, entry by entry."""
        agents, base = _names(folder), self._names(folder)
        for name in sorted(agents | base):
            path = f"{folder.rstrip('/')}/{name}"
            if _matches(name, OWN[folder]):
                self._lay_own(path, name in agents)
            elif path in OPENED:
                os.mkdir(self._root + path)
                self._lay(path)
            elif name in agents:
                layers.show(path, self._root + path)
        if os.path.lexists(folder):
            layers.look_like(os.lstat(folder), self._root + folder)

    def _lay_own(self, path: str, is_agents: bool) -> None:
        """Shows what the base has at a path, and below it what the agent has added."""
        base = self._layers(path)
        if base:
            over, target = self._over(path), self._root + path
            if is_agents and not fnmatch.fnmatchcase(path, "/etc/python*"):
                with layers.opened(path) as file:
                    is_folder = stat.S_ISDIR(os.fstat(file).st_mode)
                    added = [*self._between(path), f"/proc/self/fd/{file}"] if is_folder else []
                    layers.overlay([*over, *base], added, target)
            else:
                layers.overlay([*over, *base], [], target)
            for name in self._pythons(path):
                layers.overlay(self._layers(f"{path}/{name}"), [], f"{self._root}{path}/{name}")
            return
        source = next(filter(os.path.lexists, self._places_of(path)), None)
        if source:
            layers.show(source, self._root + path)
        elif is_agents and not path.startswith("/etc/"):
            layers.show(path, self._root + path)

    def _over(self, path: str) -> list[str]:
        """A layer for over the base's files in a folder, or none."""
        layer = f"{LAYERS}/{path[1:].replace('/', '-')}"
        if path not in PROGRAMS:
            return []
        os.mkdir(layer)
        self._keep_rights(path, layer)
        return [layer] if os.listdir(layer) else []

    def _between(self, path: str) -> list[str]:
        """A layer for between the base's and the agent's files in a folder, which hides of the latter."""
        if path in PROGRAMS:
            return []
        layer = f"{LAYERS}/{'local' if path in LOCAL else 'modules'}"
        if not os.path.isdir(layer):
            os.mkdir(layer)
            modules = self._pythons("/usr/lib")
            if path in LOCAL:
                layers.hide(layer, {name for folder in PROGRAMS for name in self._names(folder)})
            else:
                layers.hide(layer, modules | {name.replace(".", "") + ".zip" for name in modules})
        return [layer] if os.listdir(layer) else []

    def _keep_rights(self, path: str, layer: str) -> None:
        """Puts programs of which the agent has changed owners, rights or dates alone into a layer."""
        written = self._below(path, "upper")
        for name in os.listdir(written) if written and os.path.isdir(written) else ():
            ours = next(filter(os.path.lexists, self._places_of(f"{path}/{name}")), None)
            if ours and _may_be_same(ours, f"{written}/{name}"):
                layers.copy(f"{written}/{name}", f"{layer}/{name}")
                if not _is_same(ours, f"{layer}/{name}"):
                    os.unlink(f"{layer}/{name}")

    # -- the base ---------------------------------------------------------------------------------------

    def _places_of(self, path: str) -> list[str]:
        """Where the base may have a path, the uppermost layer first."""
        found = [self._below(path, "sealed"), self._below(path, "lower")]
        if path.count("/") == 1:
            found.append(f"{LINKS}{path}")
        return [place for place in found if place]

    def _layers(self, path: str) -> list[str]:
        """The base's folders at a path, the uppermost first."""
        found = []
        for place in self._places_of(path):
            if _is_folder(place):
                found.append(place)
            elif os.path.lexists(place):
                break
        return found

    def _names(self, path: str) -> set[str]:
        """What the base has in a folder."""
        found = {name for layer in self._layers(path) for name in os.listdir(layer)}
        if path == "/":
            found |= {place.split("/")[1] for place in self._places if place != "/"}
            found |= set(os.listdir(LINKS)) if os.path.isdir(LINKS) else set()
        return found

    def _pythons(self, path: str) -> set[str]:
        """The folders of Python's modules among the base's libraries."""
        names = self._names(path) if os.path.basename(path).startswith("lib") else set()
        return {
            name for name in names if fnmatch.fnmatchcase(name, "python*") and self._layers(f"{path}/{name}")
        }

    def _below(self, path: str, layer: str) -> str | None:
        """Where a layer has a path, from the stage; None where no tree has it."""
        for number, place in enumerate(self._places):
            prefix = place.rstrip("/")
            if path == prefix or path.startswith(f"{prefix}/"):
                return f"{number}/{layer}{path[len(prefix) :].rstrip('/')}"
        return None


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _names(folder: str) -> set[str]:
    """What the agent has in a folder; it may have put a link in its place, which is no folder."""
    try:
        file = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return set()
    try:
        names = set(os.listdir(file))
    finally:
        os.close(file)
    if len(names) > MAX_ENTRIES:
        raise OSError(errno.E2BIG, f"{folder} has {len(names)} entries, more than {MAX_ENTRIES}")
    return names


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _may_be_same(one: str, other: str) -> bool:
    first, second = os.lstat(one), os.lstat(other)
    return stat.S_ISREG(first.st_mode) and stat.S_ISREG(second.st_mode) and first.st_size == second.st_size


def _is_same(one: str, other: str) -> bool:
    with open(one, "rb") as first, open(other, "rb") as second:
        return first.read() == second.read()
