"""Which Debian packages a root file system is made of, to the byte."""

from __future__ import annotations

import re
import subprocess
import tempfile
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
LOCK = HERE / "debian.lock"
SUITE = "bookworm"
MIRROR = "http://deb.debian.org/debian"
_URI = re.compile(r"'(?P<uri>[^']+)' \S+ \d+ SHA256:(?P<sha256>[0-9a-f]{64})")


class LockFailed(Exception):
    """What is installed could not be found out; the message says why."""


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


def names(file: str) -> list[str]:
    """The packages that a list beside this module asks for."""
    return (HERE / file).read_text("ascii").split()


def read_lock(file: Path = LOCK) -> list[Package]:
    """Reads a lock; lines that begin with # say where it is from.

    Raises:
        LockFailed: It is no lock.
    """
    packages = []
    for number, line in enumerate(file.read_text("ascii").splitlines(), 1):
        if line.startswith("#"):
            continue
        fields = line.split()
        if len(fields) != 3 or not re.fullmatch("[0-9a-f]{64}", fields[1]):
            raise LockFailed(f"{file}, line {number}: not a kind, a SHA-256 and a path")
        packages.append(Package(*fields))
    return packages


def write_lock(packages: Iterable[Package], architecture: str, file: Path = LOCK) -> None:
    """Writes a lock, sorted."""
    lines = [f"# Debian {SUITE}, {architecture}"]
    lines += (" ".join(package) for package in sorted(packages))
    file.write_text("\n".join(lines) + "\n", "ascii")


def lock(mirror: str = MIRROR) -> list[Package]:
    """Installs what the lists ask for, as a mirror has it now, into a folder that is thrown away.

    Raises:
        LockFailed: The mirror or mmdebstrap failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        return install(Path(folder, "root"), mirror)


def install(
    root: Path, mirror: str, hooks: Sequence[str] = (), environment: Mapping[str, str] | None = None
) -> list[Package]:
    """Installs what the lists ask for into a new folder, and says which archives that took.

    Needs mmdebstrap, and root or a range of user ids. apt checks the mirror's signature, and archives by it.

    Args:
        root: The new folder.
        mirror: The address of the folder that holds `pool` and `dists`.
        hooks: Shell commands to run at the end; $1 is the new root.
        environment: mmdebstrap's variables.

    Raises:
        LockFailed: The mirror or mmdebstrap failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder, "said")
        said.touch()
        said.chmod(0o666)  # the hooks may run as another user
        Path(folder).chmod(0o755)
        command = ["mmdebstrap", "--variant=minbase", "--skip=cleanup/apt"]
        command += [f"--include={','.join(names('packages.txt'))}"]
        command += [f"--customize-hook=({question}) >> {said}" for question in _questions('"$1"')]
        command += [f"--customize-hook={hook}" for hook in hooks]
        command += [SUITE, str(root), f"deb {mirror} {SUITE} main"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, env=environment)
        except FileNotFoundError as error:
            raise LockFailed("mmdebstrap is not installed: apt-get install mmdebstrap") from error
        if done.returncode:
            raise LockFailed(f"mmdebstrap failed ({done.returncode}): {done.stderr[-2000:]}")
        return parse(said.read_text("utf-8"), mirror)


def _questions(root: str) -> Sequence[str]:
    """Commands that say which archives are installed and which the offline packages need."""
    apt = "apt-get --print-uris --quiet=2 --option=Acquire::ForceHash=SHA256 --no-install-recommends"
    installed = r"dpkg-query --show --showformat '\${Package}=\${Version}\n'"
    return (
        f'chroot {root} apt-get clean; chroot {root} sh -c "{installed} | xargs {apt} --reinstall install"',
        f"echo offline; chroot {root} {apt} install {' '.join(names('offline.txt'))}",
    )


def parse(said: str, mirror: str) -> list[Package]:
    """What apt said it would download; after the line "offline" it is for the repository inside."""
    packages, kind = [], "installed"
    for line in said.splitlines():
        if line == "offline":
            kind = "offline"
        found = _URI.match(line)
        if found:
            path = urllib.parse.unquote(found["uri"].replace(mirror.rstrip("/"), "").lstrip("/"))
            packages.append(Package(kind, found["sha256"], path))
    if not {"installed", "offline"} <= {package.kind for package in packages}:
        raise LockFailed(f"apt named no packages: {said[-2000:]}")
    return packages
