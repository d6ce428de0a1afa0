"""uvicorn's HTTP protocol with what it lacks: bounds on a request's head and time, one shape of errors."""

from __future__ import annotations

import asyncio
import http
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from envhub.session import HubError

MAX_HEAD_BYTES = 64 * 1024
"""Request line and headers together; the parser itself would gather them without end."""
MAX_PIPELINED = 128
"""Requests that may wait on one connection for the answers before theirs. Each holds some 10 KB, and one read
brings thousands."""
REQUEST_TIMEOUT_S = 60.0
"""How long a request may take to arrive, head and body."""


def http_protocol(request_timeout_s: float) -> type[HttpProtocol]:
    """The protocol with another limit on the time that a request takes to arrive."""
    return type("HttpProtocol", (HttpProtocol,), {"request_timeout_s": request_timeout_s})


class HttpProtocol(HttpToolsProtocol):
    """One connection; pass the class to uvicorn as `http`.

    A request that is not whole in time is answered 408 and its connection closed; a connection that brings
    none is closed. Time in which the hub itself does not read, or owes earlier answers, does not count.
    """

    request_timeout_s = REQUEST_TIMEOUT_S

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_head = True
        self._head_bytes = 0
        self._messages = 0
        self._arriving = False
        self._deadline: asyncio.TimerHandle | None = None
        self._answered: Any = None  # the request that is being answered; `cycle` is the one that came last

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client came; its first request is awaited."""
        super().connection_made(transport)  # type: ignore[arg-type]
        self._start_clock()

    def connection_lost(self, exc: Exception | None) -> None:
        """The client is gone."""
        self._stop_clock()
        self._give_up()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parses bytes, and ends a connection whose request has too large a head."""
        messages = self._messages
        super().data_received(data)
        if self._deadline is None and (self._arriving or not self._answering()):
            self._start_clock()
        if not self._in_head or messages != self._messages:
            self._head_bytes = 0
            return
        self._head_bytes += len(data)
        if self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response(f"the head of the request is over {MAX_HEAD_BYTES} bytes")

    def handle_websocket_upgrade(self) -> None:
        """Hands the connection to the stream's protocol."""
        self._stop_clock()
        super().handle_websocket_upgrade()

    # -- what the parser finds ------------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """A request begins."""
        self._arriving = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is over, the body begins."""
        self._in_head = False
        if len(self.pipeline) >= MAX_PIPELINED:
            self._give_up()
            self.transport.abort()  # whoever asks on without reading would not read an error either
            raise ConnectionAbortedError(f"over {MAX_PIPELINED} requests wait on one connection")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is over; what comes is the head of the next one."""
        self._in_head, self._arriving = True, False
        self._messages += 1
        if self._deadline is not None:
            self._stop_clock()
        super().on_message_complete()

    def _start_asgi_task(self, cycle: Any, app: Any) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    def _give_up(self) -> None:
        """Tells whoever answers a request here that its client is gone: nothing more may be written."""
        for cycle in (self._answered, self.cycle):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()

    # -- time -----------------------------------------------------------------------------------------

    def _answering(self) -> bool:
        """Whether a request is being answered, or uvicorn itself waits for the next one."""
        return self.timeout_keep_alive_task is not None or not (
            self.cycle is None or self.cycle.response_complete
        )

    def _start_clock(self) -> None:
        if self.transport.get_protocol() is self:  # else it is a stream now
            self._deadline = self.loop.call_later(self.request_timeout_s, self._too_late)

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_late(self) -> None:
        """The request that is awaited was not there in time."""
        self._deadline = None
        cycle = self.cycle
        answering = cycle is not None and not cycle.response_complete
        if self.flow.read_paused or self.pipeline or (answering and self._in_head):
            self._start_clock()
        elif self.transport.is_closing():
            return
        elif not self._arriving or not (self._in_head or answering) or (answering and cycle.response_started):
            self._give_up()
            self.transport.close()
        else:
            limit = f"the request was not whole within {self.request_timeout_s:g} s"
            self._refuse(HubError("request_timeout", f"{limit}: send it faster, or less at once"))

    # -- refusals -------------------------------------------------------------------------------------

    def send_400_response(self, msg: str) -> None:
        """Refuses what is no HTTP."""
        self._refuse(HubError("malformed_request", msg))

    def _refuse(self, error: HubError) -> None:
        """Answers with an error and closes the connection."""
        self._give_up()
        status, body = http.HTTPStatus(error.status), error.encode()
        head = f"HTTP/1.1 {status} {status.phrase}\r\ncontent-type: application/json\r\nconnection: close\r\n"
        self.transport.write(b"%bcontent-length: %d\r\n\r\n%b" % (head.encode(), len(body), body))
        self.transport.close()
