"""Makes a root file system: mmdebstrap installs, and what it took is compared with the lock."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import urllib.parse
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .lockfile import LOCK, MIRROR, LockFailed, Package, install, read_lock

INSIDE = "/var/local/packages"
"""Where the repository of offline packages lies in the root file system."""
RECIPE = 1
"""Raised whenever the same lock gives other files."""
FETCH_S = 60.0
NEWER = (
    "A mirror drops versions that newer ones replace: choose one that keeps them (snapshot.debian.org), "
    "or make a new lock"
)
MARKER = ".complete"


class BuildFailed(Exception):
    """No root file system was made; the message says why and what to do."""


def digest(lock: Path = LOCK) -> str:
    """Names what a lock gives."""
    return hashlib.sha256(f"{RECIPE}\n{lock.read_text('ascii')}".encode()).hexdigest()[:16]


def build(target: Path, mirror: str = MIRROR, cache: Path | None = None, lock: Path = LOCK) -> None:
    """Makes a root file system in a new folder; one that is there already and of the same lock stays.

    Args:
        target: The folder.
        mirror: A Debian mirror: the address of the folder that holds `pool`.
        cache: Where archives are kept. None: nowhere.
        lock: What it is made of.

    Raises:
        BuildFailed: mmdebstrap is not installed or failed, or an archive could not be had or is another one.
    """
    wanted = digest(lock)
    note = target.with_name(f"{target.name}{MARKER}")
    if target.is_dir() and note.is_file() and note.read_text("ascii") == wanted:
        return
    if target.exists():
        raise BuildFailed(
            f"{target} is there and was not made from this lock: remove it or choose another folder"
        )
    if shutil.which("mmdebstrap") is None:
        raise BuildFailed(
            "mmdebstrap is not installed: apt-get install mmdebstrap, or unpack an image instead"
        )
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        work.chmod(0o755)  # what mmdebstrap runs may be another user
        kept = cache or work / "archives"
        kept.mkdir(parents=True, exist_ok=True)
        offline = [package for package in read_lock(lock) if package.kind == "offline"]
        with ThreadPoolExecutor(4) as pool:
            archives = list(pool.map(lambda package: _fetch(package, mirror, kept), offline))
        _repository(work / "offline", archives)
        _install(target, work / "offline", mirror, read_lock(lock))
    note.write_text(wanted, "ascii")


def _fetch(package: Package, mirror: str, cache: Path) -> Path:
    """An archive that is what the lock says."""
    file = cache / Path(package.path).name
    if not (file.is_file() and _sha256(file) == package.sha256):
        address = f"{mirror.rstrip('/')}/{urllib.parse.quote(package.path)}"
        part = file.with_name(f"{file.name}.part")
        try:
            with urllib.request.urlopen(address, timeout=FETCH_S) as answer, part.open("wb") as sink:
                shutil.copyfileobj(answer, sink)
        except OSError as error:
            raise BuildFailed(f"{address}: {error}. {NEWER}") from error
        found = _sha256(part)
        if found != package.sha256:
            raise BuildFailed(f"{address} has the SHA-256 {found}; the lock says {package.sha256}")
        part.replace(file)
    return file


def _sha256(file: Path) -> str:
    with file.open("rb") as source:
        found = hashlib.sha256()
        for chunk in iter(lambda: source.read(1 << 20), b""):
            found.update(chunk)
    return found.hexdigest()


def _repository(folder: Path, archives: Sequence[Path]) -> None:
    """A folder that apt takes for a mirror: the archives and a list of them."""
    folder.mkdir()
    stanzas = []
    for archive in archives:
        shutil.copy(archive, folder / archive.name)
        fields = subprocess.run(
            ["dpkg-deb", "--field", archive], capture_output=True, text=True, check=True
        ).stdout
        size, sha256 = archive.stat().st_size, _sha256(archive)
        stanzas.append(f"{fields.rstrip()}\nFilename: ./{archive.name}\nSize: {size}\nSHA256: {sha256}\n")
    (folder / "Packages").write_text("\n".join(stanzas), "utf-8")


def _install(target: Path, offline: Path, mirror: str, locked: Sequence[Package]) -> None:
    """Has mmdebstrap install what is asked for; it is kept if apt took exactly the locked archives."""
    hooks = _hooks(offline)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    try:
        found = install(target, mirror, hooks, environment)
        if sorted(found) != sorted(locked):
            other = sorted(Path(one.path).name for one in set(found) - set(locked))
            raise BuildFailed(
                f"{mirror} has other archives than the lock: {', '.join(other) or 'fewer'}. {NEWER}"
            )
    except BaseException as error:
        shutil.rmtree(target, ignore_errors=True)
        if isinstance(error, LockFailed):
            raise BuildFailed(str(error)) from error
        raise


def _hooks(offline: Path) -> list[str]:
    """What is done at the end, as shell commands; $1 is the new root."""
    source = f"deb [trusted=yes] file:{INSIDE} ./"
    return [
        'rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/archives/*.deb "$1"/var/cache/apt/*.bin',
        'rm -f "$1"/etc/apt/sources.list.d/*',
        f'mkdir -p "$1{INSIDE}" && cp {offline}/* "$1{INSIDE}/" && chmod -R a+rX "$1{INSIDE}"',
        f'echo "{source}" > "$1/etc/apt/sources.list"',
        'chroot "$1" apt-get update --quiet=2',
        'rm -f "$1/etc/resolv.conf" && : > "$1/etc/resolv.conf" && echo envhub > "$1/etc/hostname"',
        'printf "127.0.0.1 localhost envhub\\n::1 localhost\\n" > "$1/etc/hosts"',
        'rm -rf "$1"/usr/share/doc/* "$1"/usr/share/man/* "$1"/var/log/*.log "$1"/var/log/apt',
    ]
