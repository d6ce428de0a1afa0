"""The store: built environments by the digest of their locks, and the archives they were built from.

    store/<id>/       conda prefixes        venvs/<id>/   plain virtual environments
    archives/<sha256>/FILE                  roots/        which spec folder uses what
    locks/            one file a lock       work/<id>/    what a build needs while it runs

Invariants:
- An environment is complete if its marker is there, and the marker is written last. A folder without one is
  what a build left that did not live to finish; nobody uses it, and the next build of it begins by wiping it.
- One process at a time builds an environment. The lock is inherited by everything the build starts, so that
  it is free only when nobody is left who could still write.
- `gc` and builds exclude each other; it leaves alone what a hub holds.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from envhub.build._errors import StoreInvalid
from envhub.build._lock import Kind

MARKER = ".envhub.json"
MANIFEST = ".envhub-files.json"
_FOLDERS: dict[Kind, str] = {"conda": "store", "venv": "venvs"}


def default_root() -> Path:
    """Return where the store is unless somebody says otherwise: `$ENVHUB_STORE`, else `~/.cache/envhub`."""
    named = os.environ.get("ENVHUB_STORE")
    return Path(named) if named else Path.home() / ".cache" / "envhub"


@dataclass(frozen=True, slots=True)
class Archive:
    """One archive that an environment was built from: the package, its version and the file's SHA-256."""

    name: str
    version: str
    manager: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Built:
    """A complete environment.

    Attributes:
        kind: Whether it is a conda prefix or a plain virtual environment.
        digest: The digest of the locks it was built from, "sha256:…".
        spec: The name of the spec it was built for first.
        python_version: The version of its interpreter, such as "3.11.14".
        platform: The conda platform.
        created: When, in seconds since 1970.
        size: The size of its files, in bytes.
        files: The SHA-256 of the list of its files.
        archives: What it was built from, by name.
        prefix: Its folder; an environment works nowhere else.
    """

    kind: Kind
    digest: str
    spec: str
    python_version: str
    platform: str
    created: float
    size: int
    files: str
    archives: tuple[Archive, ...]
    prefix: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.prefix / "bin" / "python"


@dataclass(frozen=True, slots=True)
class Removed:
    """Something that `gc` removed: its path and the bytes that freed."""

    path: Path
    size: int


class Store:
    """A store in a folder, which is made when something is built.

    Args:
        root: The folder; `default_root()` where none is given.
    """

    def __init__(self, root: Path | None = None) -> None:
        self.root = (root or default_root()).expanduser().absolute()

    # -- what is there --------------------------------------------------------------------------------

    def find(self, digest: str, kind: Kind = "conda") -> Built | None:
        """Return the complete environment of a digest, or None where there is none."""
        built = _read_marker(self._folder(digest, kind))
        return built if built and (built.digest, built.kind) == (digest, kind) else None

    def prefix(self, digest: str, kind: Kind = "conda") -> Path | None:
        """Return the folder of a complete environment, or None where there is none."""
        built = self.find(digest, kind)
        return built.prefix if built else None

    def python(self, digest: str, kind: Kind = "conda") -> Path | None:
        """Return the interpreter of a complete environment, or None where there is none."""
        built = self.find(digest, kind)
        return built.python if built else None

    def all(self) -> list[Built]:
        """Return every complete environment, the newest first."""
        folders = [folder for parent in _FOLDERS.values() for folder in _inside(self.root / parent)]
        found = [built for folder in folders if (built := _read_marker(folder))]
        return sorted(found, key=lambda built: -built.created)

    def leftovers(self) -> list[Path]:
        """Return the folders of builds that did not live to finish; `gc` and the next build remove them."""
        unfinished = [
            folder
            for kind, parent in _FOLDERS.items()
            for folder in _inside(self.root / parent)
            if _read_marker(folder) is None and self._free(f"{kind}-{folder.name}")
        ]
        return unfinished + [folder for folder in _inside(self.root / "work") if self._free(folder.name)]

    def archive(self, sha256: str) -> Path | None:
        """Return the archive kept under a SHA-256; what it holds is for the caller to hash."""
        return next(iter(_inside(self.root / "archives" / sha256)), None)

    def keep(self, file: Path, sha256: str, name: str) -> Path:
        """Move an archive into the store; its SHA-256 is the caller's word."""
        target = self.root / "archives" / sha256 / name
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(file, target)
        return target

    def drop(self, sha256: str) -> None:
        """Forget an archive."""
        shutil.rmtree(self.root / "archives" / sha256, ignore_errors=True)

    # -- building -------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def building(self, digest: str, kind: Kind, on_wait: Callable[[], None]) -> Iterator[Work]:
        """Take the right to build an environment, for as long as the context lasts.

        Args:
            digest: Which one.
            kind: Of which kind.
            on_wait: Called when another process builds the same one and this one has to wait for it.

        Raises:
            StoreInvalid: The store's folder cannot be made or written to.
        """
        with (
            self._locked("store", fcntl.LOCK_SH),
            self._locked(_id(digest, kind), fcntl.LOCK_EX, on_wait) as fd,
        ):
            work = Work(self._folder(digest, kind), self.root / "work" / _id(digest, kind), fd)
            work.wipe()
            try:
                yield work
            finally:
                shutil.rmtree(work.scratch, ignore_errors=True)

    @contextlib.contextmanager
    def scratch(self) -> Iterator[Path]:
        """Give a folder for what is needed only as long as the context lasts; `gc` waits for its end.

        Raises:
            StoreInvalid: The store's folder cannot be made or written to.
        """
        name = f"scratch-{os.getpid()}-{time.time_ns()}"
        folder = self.root / "work" / name
        with self._locked("store", fcntl.LOCK_SH), self._locked(name, fcntl.LOCK_EX):
            try:
                folder.mkdir(parents=True)
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
                (self.root / "locks" / name).unlink(missing_ok=True)

    @contextlib.contextmanager
    def hold(self, digest: str, kind: Kind = "conda") -> Iterator[None]:
        """Keep `gc` from removing an environment for as long as the context lasts."""
        with self._locked(_id(digest, kind), fcntl.LOCK_SH):
            yield

    def claim(self, folder: Path, digest: str, kind: Kind) -> Built | None:
        """Find an environment and note that a spec's folder uses it, before `gc` could remove it."""
        with contextlib.suppress(StoreInvalid), self._locked("store", fcntl.LOCK_SH):
            built = self.find(digest, kind)
            if built:
                self.use(folder, built)
            return built
        return self.find(digest, kind)  # a store that is only read: nobody here removes anything

    def use(self, folder: Path, built: Built) -> None:
        """Note that a spec's folder uses an environment, instead of the one it used before.

        Nothing is noted in a store that cannot be written to.
        """
        root = (
            self.root / "roots" / f"{built.kind}-{hashlib.sha256(os.fsencode(folder)).hexdigest()[:32]}.json"
        )
        content = json.dumps({"folder": str(folder), "kind": built.kind, "digest": built.digest})
        if not root.is_file() or root.read_text() != content:
            with contextlib.suppress(OSError):
                root.parent.mkdir(parents=True, exist_ok=True)
                write_whole(root, content)

    # -- care -----------------------------------------------------------------------------------------

    def verify(self, built: Built) -> list[str]:
        """Compare every file of an environment with what was built, byte by byte.

        Compiled modules that an interpreter wrote since are not looked at.

        Returns:
            What is wrong, one line a file; nothing when all is as it was.
        """
        file = built.prefix / MANIFEST
        content = file.read_bytes() if file.is_file() else b""
        if hashlib.sha256(content).hexdigest() != built.files:
            return [f"{file} is missing or altered"]
        noted: dict[str, str] = json.loads(content)
        found, _ = contents(built.prefix)
        complaints = [f"{built.prefix / path} is missing" for path in noted.keys() - found.keys()]
        complaints += [
            f"{built.prefix / path} was added"
            for path in found.keys() - noted.keys()
            if not path.endswith(".pyc")
        ]
        complaints += [
            f"{built.prefix / path} was altered"
            for path in found.keys() & noted.keys()
            if found[path] != noted[path]
        ]
        return sorted(complaints)

    def remove(self, built: Built) -> bool:
        """Remove an environment, unless a hub holds it or a build waits for it."""
        with (
            contextlib.suppress(BlockingIOError),
            self._locked(_id(built.digest, built.kind), fcntl.LOCK_EX | fcntl.LOCK_NB),
        ):
            wipe(built.prefix)
            return True
        return False

    def gc(self) -> list[Removed]:
        """Remove the environments that no spec's folder uses, and all archives that no environment needs.

        Raises:
            StoreInvalid: A build is running.
        """
        try:
            with self._locked("store", fcntl.LOCK_EX | fcntl.LOCK_NB):
                return self._collect()
        except BlockingIOError:
            raise StoreInvalid(f"{self.root}: a build is running; run it again when that is done") from None

    def _collect(self) -> list[Removed]:
        used = set()
        for root in _inside(self.root / "roots"):
            noted = json.loads(root.read_text())
            if Path(noted["folder"], "envhub.toml").is_file():
                used.add((noted["kind"], noted["digest"]))
            else:
                root.unlink()
        removed = []
        needed: set[str] = set()
        for parent in _FOLDERS.values():
            for folder in _inside(self.root / parent):
                built, size = _read_marker(folder), size_of(folder)
                if built and ((built.kind, built.digest) in used or not self.remove(built)):
                    needed.update(archive.sha256 for archive in built.archives)
                else:
                    wipe(folder)
                    removed.append(Removed(folder, size))
        unneeded = [one for one in _inside(self.root / "archives") if one.name not in needed]
        for folder in [*unneeded, *_inside(self.root / "work")]:
            removed.append(Removed(folder, size_of(folder)))
            wipe(folder)
        return removed

    def _free(self, name: str) -> bool:
        """Whether nobody has a lock."""
        with contextlib.suppress(BlockingIOError), self._locked(name, fcntl.LOCK_EX | fcntl.LOCK_NB):
            return True
        return False

    def _folder(self, digest: str, kind: Kind) -> Path:
        return self.root / _FOLDERS[kind] / _id(digest, kind).partition("-")[2]

    @contextlib.contextmanager
    def _locked(self, name: str, how: int, on_wait: Callable[[], None] | None = None) -> Iterator[int]:
        try:
            (self.root / "locks").mkdir(parents=True, exist_ok=True)
            fd = os.open(self.root / "locks" / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StoreInvalid(
                f"{self.root}: the store cannot be written to: {error.strerror}; name another folder with "
                "--store or the variable ENVHUB_STORE"
            ) from error
        try:
            if on_wait:
                try:
                    fcntl.flock(fd, how | fcntl.LOCK_NB)
                except BlockingIOError:
                    on_wait()
            fcntl.flock(fd, how)
            yield fd
        finally:
            os.close(fd)


@dataclass(frozen=True, slots=True)
class Work:
    """The right to build one environment.

    Attributes:
        prefix: Where it is to be.
        scratch: A folder for what is needed only while it is built.
        lock: The file descriptor that keeps others out; every process of the build inherits it.
    """

    prefix: Path
    scratch: Path
    lock: int

    def wipe(self) -> None:
        """Remove what an earlier build left that did not finish, and make the folders."""
        if _read_marker(self.prefix) is None:
            wipe(self.prefix)
        wipe(self.scratch)
        self.scratch.mkdir(parents=True)

    def complete(self, **facts: Any) -> Built:
        """Note every file of the environment, then write its marker: from here on it is there."""
        files, size = contents(self.prefix)
        manifest = json.dumps(files, sort_keys=True).encode()
        write_whole(self.prefix / MANIFEST, manifest)
        built = Built(prefix=self.prefix, size=size, files=hashlib.sha256(manifest).hexdigest(), **facts)
        write_whole(self.prefix / MARKER, json.dumps(asdict(built), default=str))
        return built


def contents(prefix: Path) -> tuple[dict[str, str], int]:
    """Return the SHA-256 (or a symlink's target) of every file below a folder, and their size in bytes."""
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
            with file.open("rb") as opened:
                found[path] = hashlib.file_digest(opened, "sha256").hexdigest()
                size += os.fstat(opened.fileno()).st_size
    return found, size


def write_whole(file: Path, content: str | bytes) -> None:
    """Write a file so that it is there with all of its content or not at all."""
    temporary = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    temporary.write_bytes(content.encode() if isinstance(content, str) else content)
    os.replace(temporary, file)


def wipe(folder: Path) -> None:
    """Remove a folder, its marker first."""
    (folder / MARKER).unlink(missing_ok=True)
    if folder.exists():
        shutil.rmtree(folder)


def size_of(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(
        os.lstat(os.path.join(parent, name)).st_size for parent, _, names in os.walk(folder) for name in names
    )


def _id(digest: str, kind: Kind) -> str:
    return f"{kind}-{digest.removeprefix('sha256:')[:32]}"


def _inside(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _read_marker(folder: Path) -> Built | None:
    """Read a folder's marker; None where there is none, one of another place, or no interpreter any more."""
    try:
        noted = json.loads((folder / MARKER).read_bytes())
        noted["archives"] = tuple(Archive(**one) for one in noted["archives"])
        noted["prefix"] = Path(noted["prefix"])
        built = Built(**noted)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return built if built.prefix == folder and built.python.exists() else None
