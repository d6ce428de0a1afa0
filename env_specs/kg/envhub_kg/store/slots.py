"""A number of things that may go on at one time, over all processes of a hub."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator


class Slots:
    """So many places, for the processes that are forked after this was made.

    Each place is a byte of a file without a name, held by a lock of the kernel's, which takes it back from a
    process that dies. A process holds one place at a time: its threads do not count.

    Args:
        count: How many.
    """

    def __init__(self, count: int) -> None:
        self._count = count
        self._file = os.memfd_create("envhub-kg-slots")

    def __del__(self) -> None:
        """Close the file; in other processes it stays open."""
        os.close(self._file)

    @contextlib.contextmanager
    def one(self) -> Iterator[None]:
        """Hold a place; waits until there is one."""
        place = self._take()
        try:
            yield
        finally:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place)

    def _take(self) -> int:
        first = os.getpid() % self._count
        for step in range(self._count):
            place = (first + step) % self._count
            with contextlib.suppress(BlockingIOError, PermissionError):  # taken
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
                return place
        fcntl.lockf(self._file, fcntl.LOCK_EX, 1, first)
        return first
