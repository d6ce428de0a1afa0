"""Client connections that cost little, so that a load is limited by its server.

One class a protocol, the same for all contestants that speak it: HTTP/1.1 with keep-alive, and WebSocket.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, cast
from urllib.parse import urlsplit

from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.uri import parse_uri


class ServerError(RuntimeError):
    """The server refused, or broke the conversation off."""


class HttpConnection(asyncio.Protocol):
    """One keep-alive connection with one request under way at a time; answers must carry their length."""

    def __init__(self) -> None:
        self._buffer = b""
        self._answer: asyncio.Future[bytes] | None = None
        self._transport: asyncio.Transport

    @classmethod
    async def connect(cls, url: str) -> HttpConnection:
        """Connects to the host and port of a URL."""
        parts = urlsplit(url)
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(cls, parts.hostname, parts.port)
        return connection

    async def request(self, method: str, path: str, body: bytes = b"") -> bytes:
        """Sends a request and returns the answer's body.

        Raises:
            ServerError: The status is not a good one, or the connection was lost.
        """
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(
            b"%b %b HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
            % (method.encode(), path.encode(), len(body), body)
        )
        return await self._answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is up."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """A piece of an answer is here."""
        self._buffer += data
        head, end, rest = self._buffer.partition(b"\r\n\r\n")
        if not end:
            return
        lines = head.lower().split(b"\r\n")
        status = int(lines[0].split(None, 2)[1])
        length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), None)
        if length is None and status != 204:
            self._fail(f"an answer without content-length: {head!r}")
        elif len(rest) >= (length or 0):
            self._buffer = b""
            if status < 300:
                self._give(rest)
            else:
                self._fail(f"status {status}: {rest[:300]!r}")

    def connection_lost(self, error: Exception | None) -> None:
        """The server hung up."""
        self._fail(f"the server closed the connection: {error}")

    def close(self) -> None:
        """Hangs up."""
        self._answer = None
        self._transport.close()

    def _give(self, body: bytes) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(body)

    def _fail(self, reason: str) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ServerError(reason))


class WebSocketConnection(asyncio.Protocol):
    """One WebSocket of JSON messages; a reply belongs to the message with its `id` (without one, 0)."""

    def __init__(self, url: str) -> None:
        loop = asyncio.get_running_loop()
        self._protocol = ClientProtocol(parse_uri(url), max_size=None)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._open: asyncio.Future[None] = loop.create_future()
        self._transport: asyncio.Transport
        self._future = loop.create_future

    @classmethod
    async def connect(cls, url: str) -> WebSocketConnection:
        """Connects and shakes hands; `url` begins with http://."""
        parts = urlsplit(url)
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: cls(url.replace("http", "ws", 1)), parts.hostname, parts.port
        )
        await connection._open
        return connection

    async def ask(self, message: dict[str, Any], number: int = 0) -> dict[str, Any]:
        """Sends a message and returns the reply to it.

        Raises:
            ServerError: The connection was lost.
        """
        future = self._waiting[number] = self._future()
        self._protocol.send_text(json.dumps(message).encode())
        self._flush()
        return await future

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection is up: shake hands."""
        self._transport = cast(asyncio.Transport, transport)
        self._protocol.send_request(self._protocol.connect())
        self._flush()

    def data_received(self, data: bytes) -> None:
        """Bytes are here: the handshake's answer, or frames."""
        self._protocol.receive_data(data)
        self._flush()
        for event in self._protocol.events_received():
            if isinstance(event, Frame):
                if event.opcode in (Opcode.TEXT, Opcode.BINARY):
                    reply = json.loads(bytes(event.data))
                    self._waiting.pop(reply.get("id", 0)).set_result(reply)
            elif self._protocol.handshake_exc is None:
                self._open.set_result(None)
            else:
                self._open.set_exception(self._protocol.handshake_exc)

    def connection_lost(self, error: Exception | None) -> None:
        """The server hung up."""
        for future in [self._open, *self._waiting.values()]:
            if not future.done():
                future.set_exception(ServerError(f"the server closed the connection: {error}"))

    def close(self) -> None:
        """Hangs up."""
        self._waiting.clear()
        self._protocol.send_close()
        self._flush()
        self._transport.close()

    def _flush(self) -> None:
        for data in self._protocol.data_to_send():
            if data:
                self._transport.write(data)
