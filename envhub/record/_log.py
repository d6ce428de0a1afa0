"""An append-only log: lines in numbered files of a folder.

Invariants:
- A line is there with its line feed or it is torn; a torn last line is cut when the log is opened again.
- One process at a time writes to a folder; readers need no lock.
- What was written survives the death of the process. It is not forced to the disk: the last seconds may be
  lost when the machine itself goes down.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
from collections.abc import Iterable
from pathlib import Path

log = logging.getLogger("envhub.record")

SEGMENT_BYTES = 64 * 2**20
"""Size after which the next file is begun."""
MAX_UNWRITTEN = 64 * 2**20
"""Bytes kept while the disk takes nothing; beyond it they are dropped."""
_BLOCK = 64 * 2**10


class LogBusy(Exception):
    """Another process writes to the folder."""


class Log:
    """A log that is open for writing.

    Args:
        folder: Where; it is made if it is not there.
        segment_bytes: Size after which the next file is begun.

    Raises:
        LogBusy: Another process writes there.
        OSError: The folder can't be made or written to.
    """

    def __init__(self, folder: Path, segment_bytes: int = SEGMENT_BYTES) -> None:
        self.folder = folder
        self.dropped = 0
        """Bytes that were never written, because the disk took nothing for too long."""
        self._segment_bytes = segment_bytes
        self._unwritten = b""
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = _lock(folder)
        for leftover in folder.glob("*.tmp"):
            leftover.unlink()
        files = segments(folder)
        if files:
            _cut_torn_tail(files[-1])
        self._number = number_of(files[-1]) if files else 1
        self._open()

    def _open(self) -> None:
        file = self.folder / _name(self._number)
        self._file = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._file).st_size
        self.limit = max(self._segment_bytes, 1)
        """Bytes at which this file is full."""

    @property
    def full(self) -> bool:
        """Whether the file is as large as it should become."""
        return self._size >= self.limit

    def write(self, lines: bytes) -> None:
        """Appends whole lines with one system call; what a full disk refuses is tried again next time."""
        if self._unwritten:
            lines = self._unwritten + lines
            self._unwritten = b""
        try:
            written = os.write(self._file, lines)
            while written < len(lines):
                written += os.write(self._file, lines[written:])
        except OSError as error:
            os.ftruncate(self._file, self._size)
            if not self.dropped:
                log.error("%s: %s; what happens meanwhile is kept in memory", self.folder, error.strerror)
            self._unwritten = lines
            if len(lines) > MAX_UNWRITTEN:
                self._unwritten, self.dropped = b"", self.dropped + len(lines)
                log.error("%s: %d bytes of the record are lost", self.folder, self.dropped)
        else:
            self._size += written

    def rotate(self) -> None:
        """Begins the next file."""
        os.close(self._file)
        self._number += 1
        self._open()

    def replace(self, lines: Iterable[bytes]) -> None:
        """Begins a file with these lines and deletes all others: they are everything that still matters.

        Raises:
            OSError: The disk is full; the log is as it was.
        """
        number = self._number + 1
        temporary = self.folder / f"{_name(number)}.tmp"
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.writelines(lines)
        old = segments(self.folder)
        temporary.rename(self.folder / _name(number))
        for one in old:
            one.unlink()
        os.close(self._file)
        self._number = number
        self._open()
        self.limit = max(self._segment_bytes, 2 * self._size)

    def close(self) -> None:
        """Ends the writing; closing again does nothing."""
        if self._file >= 0:
            os.close(self._file)
            os.close(self._lock)
            self._file = -1


def segments(folder: Path) -> list[Path]:
    """The files of a log, in order."""
    return sorted(folder.glob("events-*.jsonl"), key=number_of)


def number_of(file: Path) -> int:
    """The number in a file's name; 0 where there is none."""
    digits = file.stem.rpartition("-")[2]
    return int(digits) if digits.isdigit() else 0


def _name(number: int) -> str:
    return f"events-{number:06d}.jsonl"


def _lock(folder: Path) -> int:
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        holder = os.read(lock, 20).decode(errors="replace").strip()
        os.close(lock)
        raise LogBusy(
            f"{folder} is written to by another hub (process {holder or 'unknown'}): stop that one, or give "
            "this one a folder of its own"
        ) from None
    with contextlib.suppress(OSError):  # the number is only for the message above
        os.ftruncate(lock, 0)
        os.pwrite(lock, b"%d\n" % os.getpid(), 0)
    return lock


def _cut_torn_tail(file: Path) -> None:
    """Cuts what follows the last line feed: a line that its writer did not live to finish."""
    with file.open("r+b") as opened:
        end = opened.seek(0, os.SEEK_END)
        position = end
        while position > 0:
            start = max(0, position - _BLOCK)
            opened.seek(start)
            found = opened.read(position - start).rfind(b"\n")
            if found >= 0:
                position = start + found + 1
                break
            position = start
        if position < end:
            log.warning("%s: cut a torn line of %d bytes", file, end - position)
            opened.truncate(position)
