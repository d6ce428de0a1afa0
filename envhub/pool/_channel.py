"""The hub's end of a worker's socket: many requests in flight, one write an event-loop turn.

Requests are answered through a plain callback instead of a future: a batch of 64 steps then needs one
future, not 64. All requests made during one turn of the event loop leave in one frame.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from envhub.worker import frames

Sink = Callable[[int, bytes], None]
"""Takes the status (see `envhub.worker.frames`) and the payload of an answer."""

LOST = frames.ERROR_CODES["session_lost"]


class Channel(asyncio.Protocol):
    """One worker's socket.

    Args:
        on_lost: Called once when the worker is gone, after every waiting request was answered `LOST`.
    """

    def __init__(self, on_lost: Callable[[], None]) -> None:
        self._on_lost = on_lost
        self._loop = asyncio.get_running_loop()
        self._reader = frames.FrameReader()
        self._transport: asyncio.Transport | None = None
        self._next_id = 0
        self._out: list[frames.Message] = []
        self._waiting: dict[int, tuple[Sink, int, float]] = {}
        self._last_answer = self._loop.time()
        self.closed = False

    # -- requests -----------------------------------------------------------------------------------

    def send(self, operation: int, slot: int, payload: bytes, sink: Sink) -> None:
        """Asks the worker to do one operation on one slot."""
        if self.closed:
            self._loop.call_soon(sink, LOST, b'{"message":"the worker is gone"}')
            return
        number = self._next_id = (self._next_id + 1) & 0xFFFFFFFF
        self._waiting[number] = (sink, operation, self._loop.time())
        if not self._out:
            self._loop.call_soon(self._flush)
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
            return operation, self._loop.time() - max(asked, self._last_answer)
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
        waiting = self._waiting
        self._last_answer = self._loop.time()
        try:
            for number, code, _, payload in self._reader.feed(data):
                entry = waiting.pop(number, None)
                if entry is not None:
                    entry[0](code, payload)
        except frames.FrameError:
            self.abort()

    def connection_lost(self, error: Exception | None) -> None:
        """The worker is gone: everyone who waits is told."""
        if self.closed:
            return
        self.closed = True
        waiting, self._waiting, self._out = self._waiting, {}, []
        for sink, _, _ in waiting.values():
            sink(LOST, b'{"message":"the worker died"}')
        self._on_lost()

    def close(self) -> None:
        """Ends the conversation; an idle worker closes its environments and exits."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Cuts the conversation at once."""
        if self._transport is not None:
            self._transport.abort()
