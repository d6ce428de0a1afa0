"""Helpers: fresh processes beside the shell, each of which works on one order and ends."""

from __future__ import annotations

import contextlib
import io
import os
import select
import time
from collections.abc import Sequence
from typing import Any

from .control import ANSWER_S, Control, Ended
from .settings import SandboxError


class Flow:
    """What a helper writes and is fed, by pipes that never block.

    Args:
        sources: Where it writes.
        sink: Where it reads, closed when it has all; None where it reads nothing.
        data: What it is fed.
        limit_bytes: So much is kept of each source.
    """

    def __init__(
        self, sources: Sequence[io.FileIO], sink: io.FileIO | None, data: bytes, limit_bytes: int
    ) -> None:
        self.texts = [bytearray() for _ in sources]
        self._open = {source.fileno(): text for source, text in zip(sources, self.texts)}
        self._sink, self._rest, self._limit = sink, memoryview(data), limit_bytes
        for file in (*sources, *([sink] if sink else [])):
            os.set_blocking(file.fileno(), False)
        self._feed()

    def register(self, poll: select.poll) -> None:
        """Has a poll look at what is left to be read and written."""
        for source in self._open:
            poll.register(source, select.POLLIN)
        if self._sink and self._rest:
            poll.register(self._sink, select.POLLOUT)

    def move(self, file: int) -> None:
        """Reads from a file, or writes to it, of which a poll has said that it is ready."""
        if file not in self._open:
            self._feed()
        elif not self._gather(file):
            del self._open[file]

    def drain(self) -> None:
        """Reads what is there by now."""
        for source in self._open:
            while self._gather(source):
                pass

    def _feed(self) -> None:
        if self._sink is None:
            return
        try:
            self._rest = self._rest[self._sink.write(self._rest) or 0 :] if self._rest else self._rest
        except OSError:  # nobody reads it
            self._rest = self._rest[:0]
        if not self._rest:
            self._sink.close()

    def _gather(self, source: int) -> bool:
        """Reads what is there; False when nothing is, or at the end."""
        try:
            chunk = os.read(source, 1 << 16)
        except BlockingIOError:
            return False
        text = self._open[source]
        text += chunk[: max(self._limit - len(text), 0)]
        return bool(chunk)


class Helpers:
    """Has a first process start helpers, and follows each until it ends."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._made = 0

    def run(
        self, order: dict[str, Any], stdin: bytes, timeout_s: float, limit_bytes: int
    ) -> tuple[Ended, bytes, bytes]:
        """Has a helper with stdin, stdout and stderr; how it ended, and what it wrote.

        It has no exit code when its time was up.

        Raises:
            SandboxError: The sandbox is gone.
        """
        with contextlib.ExitStack() as ours:
            with contextlib.ExitStack() as theirs:
                source, sink = _pipe(theirs, ours)
                out, out_end = _pipe(ours, theirs)
                err, err_end = _pipe(ours, theirs)
                files = [file.fileno() for file in (source, out_end, err_end, out, err)]
                number = self._begin(order, files)
            flow = Flow([out, err], sink, stdin, limit_bytes)
            ended = self._follow(number, flow, timeout_s)
            if not ended.errno:
                self._control.send({"do": "release", "id": number})
            return ended, bytes(flow.texts[0]), bytes(flow.texts[1])

    def fetch(self, order: dict[str, Any], what: str, limit_bytes: int) -> bytes:
        """What a helper writes into a pipe, up to a limit that it is told; `what` is named in errors.

        Raises:
            OSError: It ended with this error.
            SandboxError: The sandbox is gone.
        """
        with contextlib.ExitStack() as ours:
            with contextlib.ExitStack() as theirs:
                source, sink = _pipe(ours, theirs)
                number = self._begin({**order, "limit": limit_bytes}, [sink.fileno()])
            flow = Flow([source], None, b"", limit_bytes)
            self._finish(number, flow, what)
            return bytes(flow.texts[0])

    def feed(self, order: dict[str, Any], what: str, data: bytes) -> None:
        """Has a helper read all of some data; errors are those of `fetch`."""
        with contextlib.ExitStack() as ours:
            with contextlib.ExitStack() as theirs:
                source, sink = _pipe(theirs, ours)
                number = self._begin(order, [source.fileno()])
            self._finish(number, Flow([], sink, data, 0), what)

    def do(self, order: dict[str, Any], what: str) -> None:
        """Has a helper do something without an input or an output; errors are those of `fetch`."""
        self._finish(self._begin(order, []), Flow([], None, b"", 0), what)

    def _begin(self, order: dict[str, Any], files: Sequence[int]) -> int:
        self._made += 1
        self._control.send({**order, "id": self._made}, files)
        return self._made

    def _finish(self, number: int, flow: Flow, what: str) -> None:
        code, errno = self._follow(number, flow, ANSWER_S)
        error = errno or code
        if error is None or error < 0:
            raise SandboxError(f"{what}: what copies it was killed, or its time was up")
        if error:
            raise OSError(error, os.strerror(error), what)

    def _follow(self, number: int, flow: Flow, timeout_s: float) -> Ended:
        """Moves what a helper writes and is fed until it ends; at the end of its time it is killed."""
        deadline, killed = time.monotonic() + timeout_s, False
        control = self._control
        while number not in control.ended:
            left = deadline - time.monotonic()
            if left <= 0 and killed:
                raise SandboxError("a process in the sandbox can't be killed")
            if left <= 0:
                killed, deadline = True, time.monotonic() + ANSWER_S
                control.send({"do": "kill", "id": number})
            poll = select.poll()
            poll.register(control.socket, select.POLLIN)
            flow.register(poll)
            for file, _ in poll.poll(max(left, 0) * 1000):
                if file == control.socket.fileno():
                    control.hear()
                else:
                    flow.move(file)
        flow.drain()
        ended = control.ended.pop(number)
        return Ended(None) if killed else ended


def _pipe(readers: contextlib.ExitStack, writers: contextlib.ExitStack) -> tuple[io.FileIO, io.FileIO]:
    """A pipe; each end is closed with its stack at the latest."""
    source, sink = os.pipe()
    return readers.enter_context(io.FileIO(source, "r")), writers.enter_context(io.FileIO(sink, "w"))
