"""The store: built environments by the digest of their locks, and the archives they were built from.

    .envhub-store     says that the folder is a store
    store/<id>/       conda prefixes        venvs/<id>/   plain virtual environments
    artifacts/<id>/content/                 what specs' own programs made
    archives/<sha256>/FILE                  roots/        which spec folder uses what
    locks/            one file a lock       work/<id>/    what a build needs while it runs

Invariants:
- An environment is complete if its marker is there, and the marker is written last. A folder without one is
  what a build left that did not live to finish; nobody uses it, and the next build of it begins by wiping it.
- One process at a time builds an environment. The lock is inherited by everything the build starts, so that
  it is free only when nobody is left who could still write.
- `gc` and builds exclude each other; it leaves alone what a hub holds.
- Nothing is removed from, and no lock is made in, a folder that is not marked as a store.
- An environment whose marker names another place was moved. It does not count, and what it was built from is
  kept.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shlex
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from envhub.build._built import Built, Moved, Stored, read_marker, read_moved
from envhub.build._disk import MANIFEST, MARKER, contents, difference, inside, size_of, wipe, write_whole
from envhub.build._errors import StoreInvalid
from envhub.build._holders import holders
from envhub.build._roots import Root, read_root

STORE_MARKER = ".envhub-store"
_OURS = ("store", "venvs", "artifacts", "archives", "work", "roots")
_FOLDERS: dict[Stored, str] = {"conda": "store", "venv": "venvs", "artifact": "artifacts"}


def default_root() -> Path:
    """Return where the store is unless somebody says otherwise: `$ENVHUB_STORE`, else `~/.cache/envhub`."""
    named = os.environ.get("ENVHUB_STORE")
    return Path(named) if named else Path.home() / ".cache" / "envhub"


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

    @property
    def made(self) -> bool:
        """Whether the folder is marked as a store."""
        return os.path.isfile(self.root / STORE_MARKER)

    def require(self) -> None:
        """Refuse a folder that is not marked as a store.

        Raises:
            StoreInvalid: It is not.
        """
        if not self.made:
            raise StoreInvalid(
                f"{self.root} is no store of EnvHub: it has no {STORE_MARKER}, which a build writes; name a "
                "store with --store or the variable ENVHUB_STORE"
            )

    def command(self, *words: object) -> str:
        """Return an `envhub` command on this store, as it is typed; the default one need not be named."""
        elsewhere = () if self.root == Store().root else ("--store", self.root)
        return shlex.join(["envhub", *map(str, (*words, *elsewhere))])

    # -- what is there --------------------------------------------------------------------------------

    def find(self, digest: str, kind: Stored = "conda") -> Built | None:
        """Return the complete environment of a digest, or None where there is none."""
        built = read_marker(self._folder(digest, kind))
        return built if built and (built.digest, built.kind) == (digest, kind) else None

    def prefix(self, digest: str, kind: Stored = "conda") -> Path | None:
        """Return the folder of a complete environment, or None where there is none."""
        built = self.find(digest, kind)
        return built.prefix if built else None

    def python(self, digest: str, kind: Stored = "conda") -> Path | None:
        """Return the interpreter of a complete environment, or None where there is none."""
        built = self.find(digest, kind)
        return built.python if built else None

    def all(self) -> list[Built]:
        """Return every complete environment, the newest first."""
        found = [built for folder in self._environments() if (built := read_marker(folder))]
        return sorted(found, key=lambda built: -built.created)

    def moved(self) -> list[Moved]:
        """Return the environments that were built in another place."""
        return [moved for folder in self._environments() if (moved := read_moved(folder))]

    def moved_from(self, digest: str, kind: Stored = "conda") -> Path | None:
        """Return where the environment of a digest was built, if that was in another place than it is now."""
        moved = read_moved(self._folder(digest, kind))
        return moved.origin if moved else None

    def leftovers(self) -> list[Path]:
        """Return the folders of builds that did not live to finish; `gc` and the next build remove them."""
        if not self.made:
            return []
        unfinished = [
            folder
            for kind, parent in _FOLDERS.items()
            for folder in inside(self.root / parent)
            if not (read_marker(folder) or read_moved(folder)) and self._free(f"{kind}-{folder.name}")
        ]
        return unfinished + [folder for folder in inside(self.root / "work") if self._free(folder.name)]

    def archive(self, sha256: str) -> Path | None:
        """Return the archive kept under a SHA-256; what it holds is for the caller to hash."""
        return next(iter(inside(self.root / "archives" / sha256)), None)

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
    def building(self, digest: str, kind: Stored, on_wait: Callable[[], None]) -> Iterator[Work]:
        """Take the right to build an environment, for as long as the context lasts.

        Args:
            digest: Which one.
            kind: Of which kind.
            on_wait: Called when another process builds the same one and this one has to wait for it.

        Raises:
            StoreInvalid: The store's folder cannot be made or written to.
        """
        self._make()
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
        self._make()
        with self._locked("store", fcntl.LOCK_SH), self._locked(name, fcntl.LOCK_EX):
            try:
                folder.mkdir(parents=True)
                yield folder
            finally:
                shutil.rmtree(folder, ignore_errors=True)
                (self.root / "locks" / name).unlink(missing_ok=True)

    @contextlib.contextmanager
    def hold(self, digest: str, kind: Stored = "conda") -> Iterator[None]:
        """Keep `gc` from removing an environment for as long as the context lasts.

        Raises:
            StoreInvalid: The store cannot be written to, so nobody here removes anything.
        """
        with self._locked(_id(digest, kind), fcntl.LOCK_SH):
            yield

    def held_by(self, built: Built) -> list[int]:
        """Return the processes that hold an environment, as far as the system tells."""
        return holders(self.root / "locks" / _id(built.digest, built.kind))

    def claim(self, folder: Path, digest: str, kind: Stored) -> Built | None:
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
        archives = tuple(archive.sha256 for archive in built.archives)
        Root(folder, built.kind, built.digest, archives, built.artifact).write(self.root / "roots")

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
            f"{built.prefix / path} {difference(noted[path], found[path])}"
            for path in found.keys() & noted.keys()
            if found[path] != noted[path]
        ]
        return sorted(complaints)

    def remove(self, built: Built) -> bool:
        """Remove an environment, unless a hub holds it or a build waits for it.

        Raises:
            StoreInvalid: The folder is no store.
        """
        with (
            contextlib.suppress(BlockingIOError),
            self._locked(_id(built.digest, built.kind), fcntl.LOCK_EX | fcntl.LOCK_NB),
        ):
            wipe(built.prefix)
            return True
        return False

    def gc(self, on_unreadable: Callable[[Path], None] = lambda file: None) -> list[Removed]:
        """Remove the environments that no spec's folder uses, and all archives that nothing needs.

        Needed is what an environment that stays, or one that a spec's folder uses, was built from. Moved
        environments stay. Where a note of who uses what cannot be read, every environment and archive does.

        Args:
            on_unreadable: Called with the file of each such note.

        Raises:
            StoreInvalid: A build is running, or the folder is no store.
        """
        if not self.root.exists():
            return []
        try:
            with self._locked("store", fcntl.LOCK_EX | fcntl.LOCK_NB):
                return self._collect(on_unreadable)
        except BlockingIOError:
            raise StoreInvalid(f"{self.root}: a build is running; run it again when that is done") from None

    def _collect(self, on_unreadable: Callable[[Path], None]) -> list[Removed]:
        roots = {file: read_root(file) for file in inside(self.root / "roots") if file.suffix == ".json"}
        unreadable = [file for file, root in roots.items() if root is None]
        for file in unreadable:
            on_unreadable(file)
        for file, root in roots.items():
            if root and not root.alive:
                file.unlink()
        alive = [root for root in roots.values() if root and root.alive]
        used = {(root.kind, root.digest) for root in alive}
        needed = {sha256 for root in alive for sha256 in root.archives}
        removed = []
        for folder in self._environments():
            built, moved, size = read_marker(folder), read_moved(folder), size_of(folder)
            if moved:
                needed.update(archive.sha256 for archive in moved.built.archives)
            elif built and (unreadable or (built.kind, built.digest) in used or not self.remove(built)):
                needed.update(archive.sha256 for archive in built.archives)
            else:
                wipe(folder)
                removed.append(Removed(folder, size))
        archives = [] if unreadable else inside(self.root / "archives")
        unneeded = [one for one in archives if one.name not in needed]
        for folder in [*unneeded, *inside(self.root / "work")]:
            removed.append(Removed(folder, size_of(folder)))
            wipe(folder)
        return removed

    def _make(self) -> None:
        """Mark the folder as a store, unless it is one; a folder of somebody else's is refused."""
        if self.made:
            return
        try:
            there = [name for name in _OURS if inside(self.root / name)]
            ours = any(read_marker(folder) or read_moved(folder) for folder in self._environments())
            if there and not ours and not self.made:  # not even by another process meanwhile
                raise StoreInvalid(
                    f"{self.root} is no store of EnvHub (it has no {STORE_MARKER}) and there is something in "
                    f"its folder {there[0]}; name another folder with --store or the variable ENVHUB_STORE"
                )
            self.root.mkdir(parents=True, exist_ok=True)
            (self.root / STORE_MARKER).touch()
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> StoreInvalid:
        return StoreInvalid(
            f"{self.root}: the store cannot be written to: {error.strerror}; name another folder with "
            "--store or the variable ENVHUB_STORE"
        )

    def _environments(self) -> list[Path]:
        return [folder for parent in _FOLDERS.values() for folder in inside(self.root / parent)]

    def _free(self, name: str) -> bool:
        """Whether nobody has a lock."""
        with contextlib.suppress(BlockingIOError), self._locked(name, fcntl.LOCK_EX | fcntl.LOCK_NB):
            return True
        return False

    def _folder(self, digest: str, kind: Stored) -> Path:
        return self.root / _FOLDERS[kind] / _id(digest, kind).partition("-")[2]

    @contextlib.contextmanager
    def _locked(self, name: str, how: int, on_wait: Callable[[], None] | None = None) -> Iterator[int]:
        self.require()
        try:
            (self.root / "locks").mkdir(exist_ok=True)
            fd = os.open(self.root / "locks" / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise self._unwritable(error) from error
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
        if read_marker(self.prefix) is None:
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


def _id(digest: str, kind: Stored) -> str:
    return f"{kind}-{digest.removeprefix('sha256:')[:32]}"
