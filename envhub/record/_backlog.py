"""What waits while the disk takes nothing."""

from __future__ import annotations

import time
from collections import deque

from envhub.record._events import Dropped, encode

MAX_UNWRITTEN = 64 * 2**20
"""Bytes kept while the disk takes nothing; beyond it they are dropped."""
RETRY_S = 1.0
"""How long a disk that took nothing is left alone."""
_PART_BYTES = 2**20


class Backlog:
    """Whole lines that wait, in parts of a size that is written at once."""

    def __init__(self) -> None:
        self.parts: deque[bytearray] = deque()
        self.size = 0
        """Bytes that wait."""
        self.dropped = 0
        """Bytes that were given up."""
        self._mark = 0
        """How many bytes of those that wait only say that others were given up."""
        self._due = 0.0

    def add(self, lines: bytes) -> None:
        """Takes more in."""
        if not lines:
            return
        if self.parts and len(self.parts[-1]) < _PART_BYTES:
            self.parts[-1] += lines
        else:
            self.parts.append(bytearray(lines))
        self.size += len(lines)

    def written(self) -> None:
        """The first part is written."""
        self.size -= len(self.parts.popleft())
        self._mark = 0

    def drop(self) -> int:
        """Gives all of it up, and says so in its place; returns how many bytes."""
        given_up = self.size - self._mark
        self.dropped += given_up
        self.parts.clear()
        self.size = 0
        self.add(encode(Dropped(bytes=self.dropped, time_us=time.time_ns() // 1000)) + b"\n")
        self._mark = self.size
        return given_up

    @property
    def due(self) -> bool:
        """Whether it is time to try again."""
        return time.monotonic() >= self._due

    def wait(self) -> None:
        """The disk took nothing now."""
        self._due = time.monotonic() + RETRY_S
