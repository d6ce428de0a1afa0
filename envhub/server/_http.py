"""The few things plain ASGI code needs: reading a body, sending JSON, sending an error."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Send

from envhub.session import HubError

RETRY_AFTER_S = 1
"""What a client is told to wait before it asks again, where the error does not know better."""

Decoded = TypeVar("Decoded")


async def read_body(receive: Receive) -> bytes:
    """Reads a request's whole body; the gate has bounded it.

    Raises:
        ClientDisconnect: The client left before it had sent all of it.
    """
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


def decode(decoder: msgspec.json.Decoder[Decoded], body: bytes) -> Decoded:
    """Decodes a request's body.

    Raises:
        HubError: It is not the JSON that the call takes.
    """
    try:
        return decoder.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise HubError("malformed_request", f"the body is not what this call takes: {error}") from None


async def send_json(send: Send, body: bytes, status: int = 200, headers: Any = ()) -> None:
    """Sends a JSON answer."""
    start = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body)), *headers]
    await send({"type": "http.response.start", "status": status, "headers": start})
    await send({"type": "http.response.body", "body": body})


def error_headers(error: HubError) -> list[tuple[bytes, bytes]]:
    """The headers that go with an error."""
    if error.code in ("no_free_replica", "queue_full", "quota_exceeded", "not_ready"):
        seconds = math.ceil(error.details.get("retry_after_s", RETRY_AFTER_S))
        return [(b"retry-after", b"%d" % max(seconds, 1))]
    if error.code == "unauthorized":
        return [(b"www-authenticate", b"Bearer")]
    if error.code == "method_not_allowed":
        return [(b"allow", str(error.details["allowed"]).encode())]
    return []


async def send_error(send: Send, error: HubError) -> None:
    """Sends an error in the API's one shape."""
    await send_json(send, error.encode(), error.status, error_headers(error))
