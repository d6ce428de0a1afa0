"""An append-only log: lines in numbered files of a folder.

Invariants:
- A line is there with its line feed or it is torn; a torn last line is cut when the log is opened again.
- One process at a time writes to a folder; readers need no lock.
- What was written survives the death of the process. It is not forced to the disk: the last seconds may be
  lost when the machine itself goes down.
- A file that is to replace all others counts only when it is whole; until then the others go on.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import time
from pathlib import Path

from envhub.record._backlog import MAX_UNWRITTEN, Backlog

log = logging.getLogger("envhub.record")

COMPACT_AGAIN_S = 60.0
"""How long a log of which events are missing is left alone where it could not be replaced."""
SEGMENT_BYTES = 64 * 2**20
"""Size after which the next file is begun."""
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
        self.lossy = False
        """Whether some were since the log was replaced last."""
        self._backlog: Backlog | None = None
        """What waits since the disk began to refuse."""
        self._compact_at = 0.0
        self._next = -1
        """The file that is to replace all others, while it is written."""
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
        """Appends whole lines with one system call; what a full disk refuses is tried again in a while."""
        if self._next >= 0:
            self.write_next(lines)
        if self._backlog is not None:
            self._backlog.add(lines)
            self.retry()
        else:
            try:
                self._append(lines)
                return
            except OSError as error:
                reason = error.strerror
            log.error("%s: %s; what happens meanwhile is kept in memory", self.folder, reason)
            self._backlog = Backlog()
            self._backlog.add(lines)
            self._backlog.wait()
        self._drop_too_much()

    def _append(self, lines: bytes) -> None:
        try:
            written = os.write(self._file, lines)
            while written < len(lines):
                written += os.write(self._file, lines[written:])
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, self._size)
            raise
        self._size += written

    def retry(self, now: bool = False) -> None:
        """Writes what waits, if it is time for that or must be done now."""
        backlog = self._backlog
        if backlog is None or not (now or backlog.due):
            return
        try:
            while backlog.parts:
                self._append(bytes(backlog.parts[0]))
                backlog.written()
        except OSError:
            backlog.wait()
        else:
            self._end_backlog()

    def _drop_too_much(self) -> None:
        backlog = self._backlog
        if backlog is None or backlog.size <= MAX_UNWRITTEN:
            return
        if not backlog.dropped:
            log.error("%s: the disk takes nothing for too long; events are lost", self.folder)
        self.dropped += backlog.drop()
        self.lossy = True

    def _end_backlog(self) -> None:
        if self._backlog is not None:
            dropped, self._backlog = self._backlog.dropped, None
            log.warning("%s: can be written to again; bytes lost: %d", self.folder, dropped)

    @property
    def waiting(self) -> int:
        """Bytes that wait in memory for the disk to take them."""
        return 0 if self._backlog is None else self._backlog.size

    def rotate(self) -> None:
        """Begins the next file."""
        os.close(self._file)
        self._number += 1
        self._open()

    @property
    def to_replace(self) -> bool:
        """Whether it is time to replace it: it is full, or misses events and the disk takes them again."""
        if self.lossy and self._backlog is None:
            return time.monotonic() >= self._compact_at
        return self.full

    @property
    def replacing(self) -> bool:
        """Whether a file is being written that is to replace all others."""
        return self._next >= 0

    def begin_next(self) -> None:
        """Begins a file that is to replace all others. What is written to the log goes to it, too.

        If the disk fills up, `replacing` ends, and the log is as it was.
        """
        mode = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            self._next = os.open(self._temporary, mode, 0o600)
        except OSError as error:
            self._give_up_next(error)

    def write_next(self, lines: bytes) -> None:
        """Appends whole lines to that file only."""
        try:
            written = 0
            while written < len(lines):
                written += os.write(self._next, lines[written:])
        except OSError as error:
            self._give_up_next(error)

    def end_next(self) -> None:
        """Has that file replace all others: it holds everything that still matters."""
        if self._next < 0:
            return
        old = segments(self.folder)
        try:
            self._temporary.rename(self.folder / _name(self._number + 1))
        except OSError as error:
            self._give_up_next(error)
            return
        for one in old:
            one.unlink()
        os.close(self._file)
        self._file, self._next = self._next, -1
        self._number += 1
        self.lossy = False
        self._end_backlog()  # that is in it as well
        self._size = os.fstat(self._file).st_size
        self.limit = max(self._segment_bytes, 2 * self._size)

    def drop_next(self) -> None:
        """Gives that file up."""
        if self._next >= 0:
            os.close(self._next)
            self._next = -1
        with contextlib.suppress(OSError):
            self._temporary.unlink(missing_ok=True)

    def _give_up_next(self, error: OSError) -> None:
        log.warning("%s: can't be compacted (%s); it goes on growing", self.folder, error.strerror)
        self.drop_next()
        self._compact_at = time.monotonic() + COMPACT_AGAIN_S
        if self.full:
            self.limit *= 2

    @property
    def _temporary(self) -> Path:
        return self.folder / f"{_name(self._number + 1)}.tmp"

    def close(self) -> None:
        """Ends the writing; closing again does nothing."""
        self.drop_next()
        if self._file >= 0:
            self.retry(now=True)
            if self._backlog is not None:
                self.dropped += self.waiting
                log.error("%s: the disk takes nothing still; bytes lost: %d", self.folder, self.dropped)
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
