"""The hub's end of a worker's socket: many requests in flight, one write an event-loop turn.

Requests are answered through a plain callback instead of a future: a batch of 64 steps then needs one
future, not 64. All requests made during one turn of the event loop leave in one frame.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import cast

from envhub.pool._answers import check_answer
from envhub.worker import frames
from envhub.worker.times import Times

_clock = time.monotonic  # the event loop's own clock may count whole milliseconds

Sink = Callable[[int, bytes], None]
"""Takes the status (see `envhub.worker.frames`) and the payload of an answer."""

LOST = frames.ERROR_CODES["session_lost"]
DIED = b'{"message":"the worker died"}'
FAILED = frames.ERROR_CODES["environment_error"]
TOO_DEEP = b'{"message":"it answered with JSON that is nested too deeply to be read","details":{}}'
HUNG = b'{"message":"the worker hung and was killed"}'


class Channel(asyncio.Protocol):
    """One worker's socket.

    Args:
        on_lost: Called once when the worker is gone, after every waiting request was answered `LOST`.
        times: Where to count how long steps took, from being sent to being answered.
    """

    def __init__(self, on_lost: Callable[[], None], times: Times) -> None:
        self._on_lost = on_lost
        self._times = times
        self._loop = asyncio.get_running_loop()
        self._reader = frames.FrameReader()
        self._transport: asyncio.Transport | None = None
        self._next_id = 0
        self._out: list[frames.Message] = []
        self._waiting: dict[int, tuple[Sink, int, float]] = {}
        self._turn = self._last_answer = _clock()
        self.closed = False
        self.malformed = False
        """Whether the worker sent what is no frame or no answer."""
        self.hung = False
        """Whether the worker is killed because it hangs; requests that are under way hear of it."""

    # -- requests -----------------------------------------------------------------------------------

    def send(self, operation: int, slot: int, payload: bytes, sink: Sink) -> None:
        """Asks the worker to do one operation on one slot."""
        if self.closed:
            self._loop.call_soon(sink, LOST, DIED)
            return
        number = self._next_id = (self._next_id + 1) & 0xFFFFFFFF
        if not self._out:
            self._turn = _clock()
            self._loop.call_soon(self._flush)
        self._waiting[number] = (sink, operation, self._turn)
        self._out.append((number, operation, slot, payload))

    def call(self, operation: int, slot: int, payload: bytes = b"") -> asyncio.Future[tuple[int, bytes]]:
        """The same with a future, for calls that are not on the hot path."""
        future: asyncio.Future[tuple[int, bytes]] = self._loop.create_future()

        def answer(code: int, body: bytes) -> None:
            if not future.done():
                future.set_result((code, body))

        self.send(operation, slot, payload, answer)
        return future

    def oldest(self) -> tuple[int, float] | None:
        """The operation the worker is busy with and the seconds it has been, or None when it is idle."""
        for _, operation, asked in self._waiting.values():
            return operation, _clock() - max(asked, self._last_answer)
        return None

    def _flush(self) -> None:
        messages, self._out = self._out, []
        if self._transport is not None and not self.closed:
            self._transport.write(frames.pack(messages))

    # -- the protocol's side ------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is ready."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Answers arrived."""
        waiting, step = self._waiting, frames.STEP
        steps, asked_then = 0, 0.0
        now = self._last_answer = _clock()
        try:
            for number, code, _, payload in self._reader.feed(data):
                entry = waiting.get(number)
                if entry is not None:
                    sink, operation, asked = entry
                    try:
                        check_answer(operation, code, payload)
                    except RecursionError:
                        code, payload = FAILED, TOO_DEEP
                    del waiting[number]
                    if operation == step:
                        if asked != asked_then:  # those that left in one frame are counted together
                            if steps:
                                self._times.add(now - asked_then, steps)
                            steps, asked_then = 0, asked
                        steps += 1
                    sink(code, payload)
        except frames.FrameError:
            self.malformed = True
            self.abort()
        if steps:
            self._times.add(now - asked_then, steps)

    def connection_lost(self, error: Exception | None) -> None:
        """The worker is gone: everyone who waits is told."""
        if self.closed:
            return
        self.closed = True
        waiting, self._waiting, self._out = self._waiting, {}, []
        for sink, _, _ in waiting.values():
            sink(LOST, HUNG if self.hung else DIED)
        self._on_lost()

    def leave(self) -> None:
        """Ends the conversation like `close`, and nobody wants to hear that the worker is gone."""
        self._on_lost = _nothing
        self.close() if self.oldest() is None else self.abort()

    def close(self) -> None:
        """Ends the conversation; an idle worker closes its environments and exits."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Cuts the conversation at once."""
        if self._transport is not None:
            self._transport.abort()


def _nothing() -> None:
    pass
