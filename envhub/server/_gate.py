"""The gate that every request passes: request id, token, body limit, and the one shape of errors."""

from __future__ import annotations

import asyncio
import hmac
import itertools
import logging
import re
import secrets

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from envhub.server._http import error_headers, send_error
from envhub.session import HubError

log = logging.getLogger("envhub.server")

OPEN_PATHS = frozenset({"/healthz", "/readyz"})
"""What a load balancer asks without a token."""

_REQUEST_ID = re.compile(rb"[\x21-\x7e]{1,128}")


class Gate:
    """Wraps an application.

    Args:
        app: What is behind the gate.
        token: The bearer token callers must show; None lets everybody in.
        max_body_bytes: The largest body that gets through.
    """

    def __init__(self, app: ASGIApp, token: str | None, max_body_bytes: int) -> None:
        self._app = app
        self._expected = None if token is None else b"bearer " + token.encode()
        self._max_body_bytes = max_body_bytes
        self._prefix = secrets.token_hex(4)
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a request through or answers it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        length, authorization, request_id = None, b"", None
        for name, value in scope["headers"]:
            if name == b"content-length":
                length = value
            elif name == b"authorization":
                authorization = value
            elif name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
                request_id = value
        request_id = request_id or f"{self._prefix}-{next(self._numbers)}".encode()
        scope["request_id"] = request_id.decode()

        async def send_with_id(message: Message) -> None:
            if message["type"] in ("http.response.start", "websocket.http.response.start"):
                message["headers"] = [*message.get("headers", ()), (b"x-request-id", request_id)]
            await send(message)

        if not self._knows(authorization) and scope["path"] not in OPEN_PATHS:
            await self._refuse(scope, send_with_id, _unauthorized(authorization))
        elif scope["type"] == "websocket":
            await self._app(scope, receive, send)
        else:
            await self._http(scope, receive, send_with_id, length)

    def _knows(self, authorization: bytes) -> bool:
        if self._expected is None:
            return True
        shown = authorization[:7].lower() + authorization[7:]
        return hmac.compare_digest(shown, self._expected)

    async def _refuse(self, scope: Scope, send: Send, error: HubError) -> None:
        if scope["type"] == "http":
            await send_error(send, error)
        elif "websocket.http.response" in scope.get("extensions", {}):
            headers = [(b"content-type", b"application/json"), *error_headers(error)]
            await send({"type": "websocket.http.response.start", "status": error.status, "headers": headers})
            await send({"type": "websocket.http.response.body", "body": error.encode()})
        else:
            await send({"type": "websocket.close", "code": 1008, "reason": error.code})

    async def _http(self, scope: Scope, receive: Receive, send: Send, length: bytes | None) -> None:
        too_large = HubError(
            "body_too_large",
            f"the body is over {self._max_body_bytes} bytes; send less, or serve with --max-body-bytes",
            {"limit": self._max_body_bytes},
        )
        if length is not None:
            if not length.isdigit() or int(length) > self._max_body_bytes:
                await send_error(send, too_large)
                return
            await self._guarded(scope, receive, send)
            return
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._max_body_bytes:
                raise too_large
            return message

        await self._guarded(scope, counted, send)

    async def _guarded(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Turns whatever the application raises into the one shape of errors."""
        started = False

        async def noting(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            await self._app(scope, receive, noting)
        except HubError as error:
            await send_error(send, error)
        except ClientDisconnect:
            pass  # nobody is there to be told
        except asyncio.CancelledError:  # the server stops and waits for this request no longer
            if started:
                raise
            await send_error(send, HubError("not_ready", "the hub is stopping"))
        except Exception:
            if started:
                raise
            log.exception("request %s: a defect of the hub", scope["request_id"])
            await send_error(
                send, HubError("internal_error", "the hub has a defect; its log has the details")
            )


def _unauthorized(authorization: bytes) -> HubError:
    said = "the token sent is not this hub's" if authorization else "this hub needs a token"
    return HubError("unauthorized", f"{said}: send the header 'Authorization: Bearer TOKEN'")
