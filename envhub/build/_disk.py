"""Files of the store as they lie on the disk."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import subprocess
from pathlib import Path

MARKER = ".envhub.json"
"""In an environment: what it is; written last."""
MANIFEST = ".envhub-files.json"
"""In an environment: all its files."""
SPARE_BYTES = 64 * 2**20
"""What is left free on the disk."""
_RUNS = "+x "


def contents(prefix: Path) -> tuple[dict[str, str], int]:
    """Return what every file below a folder is, and the size of all in bytes.

    A file is its SHA-256, after "+x " where its owner may run it; a symlink is "-> " and its target. Of
    pipes and sockets, and of what this user may not read, there is less.
    """
    found: dict[str, str] = {}
    size = 0
    for parent, folders, names in os.walk(prefix):
        links = [name for name in folders if os.path.islink(os.path.join(parent, name))]
        for name in [*names, *links]:
            file = Path(parent, name)
            path = str(file.relative_to(prefix))
            if path in (MARKER, MANIFEST):
                continue
            if file.is_symlink():
                found[path] = f"-> {os.readlink(file)}"
                continue
            about = file.stat()
            if not stat.S_ISREG(about.st_mode):
                found[path] = "no plain file"
                continue
            runs = _RUNS if about.st_mode & stat.S_IXUSR else ""
            try:
                found[path] = f"{runs}{sha256_of(file)}"
            except PermissionError:  # an artifact's, which has users of its own
                found[path] = f"{runs}{about.st_size} bytes that only their owner reads"
            size += about.st_size
    return found, size


def difference(noted: str, found: str) -> str:
    """Say in words how a file differs from what was noted of it."""
    if noted == f"{_RUNS}{found}":
        return "cannot be run any more"
    return "can be run now" if found == f"{_RUNS}{noted}" else "was altered"


def sha256_of(file: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal digits."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def megabytes(size: int) -> str:
    """Return a number of bytes in words."""
    return f"{size / 2**20:,.0f} MB"


def write_whole(file: Path, content: str | bytes) -> None:
    """Write a file so that it is there with all of its content or not at all."""
    temporary = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    temporary.write_bytes(content.encode() if isinstance(content, str) else content)
    os.replace(temporary, file)


def wipe(folder: Path) -> None:
    """Remove a folder, its marker first.

    Files of this user's subordinate ids, which only a user namespace may remove, go too.
    """
    (folder / MARKER).unlink(missing_ok=True)
    if folder.exists():
        try:
            shutil.rmtree(folder)
        except PermissionError:
            command = ["unshare", "--map-root-user", "--map-auto", "rm", "-rf", str(folder)]
            if shutil.which("unshare") is None or subprocess.run(command, capture_output=True).returncode:
                raise


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(
        os.lstat(os.path.join(parent, name)).st_size for parent, _, names in os.walk(folder) for name in names
    )


def inside(folder: Path) -> list[Path]:
    """Return what lies in a folder, sorted; nothing where there is none."""
    return sorted(folder.iterdir()) if folder.is_dir() else []
