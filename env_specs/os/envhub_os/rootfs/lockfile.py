"""Which Debian packages a root file system is made of, to the byte."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
LOCK = HERE / "debian.lock"
SUITE = "bookworm"
_HEAD = re.compile(r"# Debian (?P<suite>[a-z]+), (?P<architecture>[a-z0-9]+), as of (?P<date>\d{8}T\d{6}Z)")


class LockInvalid(Exception):
    """A lock can't be read, or does not hold what is asked for; the message says why."""


class Package(NamedTuple):
    """One archive.

    Attributes:
        kind: "installed", or "offline": in the repository inside.
        sha256: Of the archive.
        path: Below a mirror's root, as `pool/main/b/bash/bash_5.2.15-2_amd64.deb`.
    """

    kind: str
    sha256: str
    path: str

    @property
    def file_name(self) -> str:
        """The name of the archive, `NAME_VERSION_ARCHITECTURE.deb`; the version is without its epoch."""
        return self.path.rpartition("/")[2]

    @property
    def name(self) -> str:
        """The name of the package."""
        return self.file_name.split("_")[0]

    @property
    def version(self) -> str:
        """The version without its epoch."""
        return self.file_name.split("_")[1]


class Lock(NamedTuple):
    """A whole lock.

    Attributes:
        suite: The release of Debian, by its code name.
        architecture: Debian's word, "amd64".
        date: The state of the archive it was made from, as snapshot.debian.org names it.
        packages: The archives.
    """

    suite: str
    architecture: str
    date: str
    packages: tuple[Package, ...]

    def of(self, kind: str) -> list[Package]:
        """Return the packages of a kind."""
        return [package for package in self.packages if package.kind == kind]

    def write(self, file: Path = LOCK) -> None:
        """Write the lock, sorted; it is there whole or as it was."""
        lines = [f"# Debian {self.suite}, {self.architecture}, as of {self.date}"]
        lines += (
            " ".join(package) for package in sorted(self.packages, key=lambda one: (one.kind, one.path))
        )
        part = file.with_name(f".{file.name}.{os.getpid()}")
        part.write_text("\n".join(lines) + "\n", "ascii")
        part.replace(file)


def names(file: str) -> list[str]:
    """The packages that a list beside this module asks for."""
    return (HERE / file).read_text("ascii").split()


def read_lock(file: Path = LOCK) -> Lock:
    """Read a lock.

    Raises:
        LockInvalid: It is none, or lacks a package that `packages.txt` or `offline.txt` asks for.
    """
    lines = file.read_text("ascii").splitlines()
    head = _HEAD.fullmatch(lines[0]) if lines else None
    if head is None:
        raise LockInvalid(f"{file}, line 1: it does not say of which Debian and when; {_again(file)}")
    packages = []
    for number, line in enumerate(lines[1:], 2):
        fields = line.split()
        if (
            len(fields) != 3
            or fields[0] not in ("installed", "offline")
            or not re.fullmatch("[0-9a-f]{64}", fields[1])
            or not re.fullmatch(r"(?!.*\.\.)pool/[\w.+~/-]+/[\w.+-]+_[\w.+~-]+_[a-z0-9]+\.deb", fields[2])
        ):
            raise LockInvalid(f"{file}, line {number}: not a kind, a SHA-256 and a path; {_again(file)}")
        packages.append(Package(*fields))
    lock = Lock(head["suite"], head["architecture"], head["date"], tuple(packages))
    for kind, asked in (("installed", "packages.txt"), ("offline", "offline.txt")):
        _require(file, asked, names(asked), lock.of(kind))
    return lock


def _require(file: Path, asked: str, wanted: Iterable[str], packages: Iterable[Package]) -> None:
    missing = set(wanted) - {package.name for package in packages}
    if missing:
        raise LockInvalid(
            f"{file} lacks {', '.join(sorted(missing))}, which {asked} asks for; {_again(file)}"
        )


def _again(file: Path) -> str:
    return "restore it, or make it anew: envhub lock os"
