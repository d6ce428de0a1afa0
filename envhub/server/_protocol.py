"""uvicorn's HTTP protocol with what it lacks: a bound on a request's head, and the one shape of errors."""

from __future__ import annotations

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from envhub.session import HubError

MAX_HEAD_BYTES = 64 * 1024
"""Request line and headers together; the parser itself would gather them without end."""
MAX_PIPELINED = 128
"""Requests that may wait on one connection for the answers before theirs. Each holds some 10 KB, and one read
brings thousands."""


class HttpProtocol(HttpToolsProtocol):
    """One connection; pass the class to uvicorn as `http`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._in_head = True
        self._head_bytes = 0
        self._messages = 0

    def data_received(self, data: bytes) -> None:
        """Parses bytes, and ends a connection whose request has too large a head."""
        messages = self._messages
        super().data_received(data)
        if not self._in_head or messages != self._messages:
            self._head_bytes = 0
            return
        self._head_bytes += len(data)
        if self._head_bytes > MAX_HEAD_BYTES and not self.transport.is_closing():
            self.send_400_response(f"the head of the request is over {MAX_HEAD_BYTES} bytes")

    def on_headers_complete(self) -> None:
        """The head is over, the body begins."""
        self._in_head = False
        if len(self.pipeline) >= MAX_PIPELINED:
            self.transport.abort()  # whoever asks on without reading would not read an error either
            raise ConnectionAbortedError(f"over {MAX_PIPELINED} requests wait on one connection")
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is over; what comes is the head of the next one."""
        self._in_head = True
        self._messages += 1
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuses what is no HTTP."""
        body = HubError("malformed_request", msg).encode()
        head = b"HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\nconnection: close\r\n"
        self.transport.write(b"%bcontent-length: %d\r\n\r\n%b" % (head, len(body), body))
        self.transport.close()
