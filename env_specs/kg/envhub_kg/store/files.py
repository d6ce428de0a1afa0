"""Graphs from files: RDF files are loaded into a folder once, and opened from there.

The folder is in the cache (`$XDG_CACHE_HOME/envhub/kg`, else `~/.cache/envhub/kg`), under the digest of the
files, so changed files are loaded anew and all hubs of a machine share one copy.
"""

from __future__ import annotations

import fcntl
import functools
import gzip
import hashlib
import io
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, BinaryIO, TextIO, cast

import pyoxigraph

from envhub_kg.errors import DataError

FORMATS = {
    ".nt": pyoxigraph.RdfFormat.N_TRIPLES,
    ".nq": pyoxigraph.RdfFormat.N_QUADS,
    ".ttl": pyoxigraph.RdfFormat.TURTLE,
    ".trig": pyoxigraph.RdfFormat.TRIG,
    ".rdf": pyoxigraph.RdfFormat.RDF_XML,
}
"""By the end of a file's name; `.gz` may follow."""

Progress = Callable[[str, int, int], None]
"""Told of a stage, how many bytes of it are done, and of how many."""

_LAYOUT = "1"
_CHUNK = 1 << 20


def folder_of(path: Path, progress: Progress = lambda stage, done, total: None) -> tuple[Path, str]:
    """Return the folder of the database for a path, and the digest of what is in it.

    Args:
        path: A folder of oxigraph's own, which is opened where it lies; an RDF file; or a folder with some.
        progress: Told how far loading is.

    Raises:
        DataError: There is no such thing there, or a file can't be read.
    """
    if (path / "CURRENT").is_file():
        return path, digest_of_database(path)
    files = _files(path)
    digest = _digest(files, progress)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "envhub" / "kg"
    folder = cache / digest[:32]
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with _alone(cache / f"{folder.name}.lock"):
            if not folder.is_dir():
                _load(files, folder, progress)
    except OSError as error:
        raise DataError(f"{path} can't be loaded into {cache}: {error}") from None
    return folder, f"sha256:{digest}"


def _files(path: Path) -> list[Path]:
    if not path.exists():
        raise DataError(f"the store {path} does not exist")
    found = [path] if path.is_file() else sorted(file for file in path.iterdir() if _format(file))
    known = ", ".join(FORMATS)
    if not found or not _format(found[0]):
        raise DataError(
            f"the store {path} is no folder of oxigraph's, and no RDF: files end in {known} (or .gz)"
        )
    return found


def _format(file: Path) -> pyoxigraph.RdfFormat | None:
    return FORMATS.get(Path(file.name[:-3] if file.name.endswith(".gz") else file.name).suffix)


def _digest(files: list[Path], progress: Progress) -> str:
    digest = hashlib.sha256(_LAYOUT.encode())
    total, done = sum(file.stat().st_size for file in files), 0
    for file in files:
        digest.update(f"\0{file.name}\0{file.stat().st_size}\0".encode())
        with _opened(file) as content:
            while part := content.read(_CHUNK):
                digest.update(part)
                done += len(part)
                progress("Reading", done, total)
    return digest.hexdigest()


def digest_of_database(folder: Path) -> str:
    """Return a digest of a database's files by name, size and time: they may be of hundreds of gigabytes."""
    facts = []
    for file in sorted(folder.iterdir()):
        if not file.name.startswith(("LOCK", "LOG")):
            found = file.stat()
            facts.append(f"{file.name} {found.st_size} {found.st_mtime_ns}")
    return f"sha256:{hashlib.sha256(chr(10).join(facts).encode()).hexdigest()}"


def _load(files: list[Path], folder: Path, progress: Progress) -> None:
    """Load files into a new folder, which is there whole or not at all."""
    unfinished = folder.with_name(f"{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    total, done = sum(file.stat().st_size for file in files), 0
    store = pyoxigraph.Store(str(unfinished))
    for file in files:
        with _opened(file) as content:
            counted = _Counted(content, functools.partial(_add, progress, done, total))
            plain = gzip.GzipFile(fileobj=counted, mode="rb") if file.name.endswith(".gz") else counted
            try:  # in one piece: of a part, blank nodes would be others than of the next
                store.bulk_load(cast("IO[bytes]", plain), _format(file))
            except (SyntaxError, ValueError, EOFError, MemoryError) as error:  # the last: 16 MB for a value
                raise DataError(f"{file} can't be loaded: {error}") from None
        done += file.stat().st_size
    progress("Sorting", 0, total)
    store.flush()
    store.optimize()
    del store
    os.rename(unfinished, folder)
    progress("Sorting", total, total)


@contextmanager
def _opened(file: Path) -> Iterator[BinaryIO]:
    try:
        content = file.open("rb")
    except OSError as error:
        raise DataError(f"{file} can't be read: {error}") from None
    with content:
        yield content


@contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Wait for others that load the same."""
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        yield


def _add(progress: Progress, before: int, total: int, read: int) -> None:
    progress("Loading", before + read, total)


class Bar:
    """Shows how far loading is: a bar on a terminal, else lines for a log. Short loads show nothing.

    Args:
        out: Where it goes.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._next = time.monotonic() + 2.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Tell that so much is done."""
        now = time.monotonic()
        if now < self._next:
            return
        terminal = self._out.isatty()
        self._next = now + (0.1 if terminal else 5.0)
        filled = 30 * done // max(total, 1)
        bar = "#" * filled + "." * (30 - filled)
        said = f"{stage} the graph [{bar}] {done >> 20:,} of {total >> 20:,} MB"
        print(said, end="\r" if terminal else "\n", file=self._out, flush=True)


class _Counted(io.RawIOBase):
    """A file that tells how much of it has been read."""

    def __init__(self, file: BinaryIO, read: Callable[[int], None]) -> None:
        self._file = file
        self._read = read
        self._done = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        read = cast(io.BufferedReader, self._file).readinto(buffer)
        self._done += read
        self._read(self._done)
        return read
