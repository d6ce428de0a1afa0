"""The gate that every request passes: request id, origin, token, body limit, the one shape of errors."""

from __future__ import annotations

import asyncio
import hmac
import itertools
import logging
import re
import secrets

import msgspec
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from envhub.server._guard import Guard
from envhub.server._http import error_headers, send_error
from envhub.server._tokens import Tokens
from envhub.session import CALLER, HubError
from envhub_sdk._wire import ErrorReply

log = logging.getLogger("envhub.server")

OPEN_PATHS = frozenset({"/", "/healthz", "/readyz", "/docs", "/openapi.json"})
"""What needs no token: a load balancer's questions, and how to use the rest."""
DOCS_PREFIX = "/docs/"
"""Likewise: before the files that the page `/docs` is made of."""

_REQUEST_ID = re.compile(rb"[\x21-\x7e]{1,128}")


class _Answer:
    """A request's `send`, which adds the request id and knows whether an answer has begun.

    It logs answers of status 5xx, but not those to who asks whether the hub is ready.
    """

    __slots__ = ("_failed", "_path", "_request_id", "_send", "started")

    def __init__(self, send: Send, request_id: bytes, path: str) -> None:
        self._send = send
        self._request_id = request_id
        self._path = path
        self._failed = False
        self.started = False

    async def __call__(self, message: Message) -> None:
        """Sends one message of the answer."""
        if not self.started and message["type"].endswith("response.start"):
            self.started = True
            message["headers"] = [*message.get("headers", ()), (b"x-request-id", self._request_id)]
            self._failed = message["status"] >= 500 and self._path != "/readyz"
        elif self._failed:
            self._log(message.get("body", b""))
        await self._send(message)

    def _log(self, body: bytes) -> None:
        self._failed = False
        error = msgspec.json.decode(body, type=ErrorReply).error
        log_error(self._path, self._request_id.decode(), HubError(error.code, error.message, error.details))


def log_error(what: str, request_id: str, error: HubError) -> None:
    """Logs that a request was answered with an error that is not the client's."""
    about = {
        "request_id": request_id,
        "code": error.code,
        "session": error.details.get("session_id"),
        "env": error.details.get("env"),
    }
    log.warning("%s answered %d %s: %s", what, error.status, error.code, error.message, extra=about)


def _is_open(path: str) -> bool:
    return path in OPEN_PATHS or path.startswith(DOCS_PREFIX)


class Gate:
    """Wraps an application.

    Args:
        app: What is behind the gate.
        token: The bearer token callers must show; None lets everybody in, or with `tokens` only those.
        max_body_bytes: The largest body that gets through.
        tokens: Tokens with names; what passes is then done in their name (`CALLER`).
        host: A name or address the hub is called by, besides loopback ones.
    """

    def __init__(
        self,
        app: ASGIApp,
        token: str | None,
        max_body_bytes: int,
        tokens: Tokens | None = None,
        host: str | None = None,
    ) -> None:
        self._app = app
        self._expected = None if token is None else b"bearer " + token.encode()
        self._tokens = tokens
        self._guard = Guard(token is None and tokens is None, host)
        self._max_body_bytes = max_body_bytes
        self._prefix = secrets.token_hex(4)
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets a request through or answers it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        length, authorization, request_id, host, origin, content_type = None, b"", None, None, None, b""
        for name, value in scope["headers"]:
            if name == b"content-length":
                length = value
            elif name == b"authorization":
                authorization = value
            elif name == b"host":
                host = value
            elif name == b"content-type":
                content_type = value
            elif name == b"origin":
                origin = value
            elif name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
                request_id = value
        request_id = request_id or f"{self._prefix}-{next(self._numbers)}".encode()
        scope["request_id"] = request_id.decode()

        answer = _Answer(send, request_id, scope["path"])
        try:
            self._guard.check(host, origin, content_type)
            self._identify(scope["path"], authorization)
        except HubError as error:
            await self._refuse(scope, answer, error)
            return
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
        elif length is None:
            await self._guarded(scope, self._counted(receive), answer)
        elif len(length) < 20 and length.isdigit() and int(length) <= self._max_body_bytes:
            await self._guarded(scope, receive, answer)
        else:
            await send_error(answer, self._too_large())

    def _identify(self, path: str, authorization: bytes) -> None:
        """Finds out who asks.

        Raises:
            HubError: It is nobody known here, or somebody who asks too often.
        """
        caller = None if self._tokens is None else self._tokens.find(authorization)
        if caller is None and not self._knows(authorization) and not _is_open(path):
            said = "the token sent is not this hub's" if authorization else "this hub needs a token"
            raise HubError("unauthorized", f"{said}: send the header 'Authorization: Bearer TOKEN'")
        if self._tokens is not None:
            CALLER.set(caller)
        if caller is not None and not _is_open(path):
            caller.spend()

    def _knows(self, authorization: bytes) -> bool:
        if self._expected is None:
            return self._tokens is None
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

    def _too_large(self) -> HubError:
        return HubError(
            "body_too_large",
            f"the body is over {self._max_body_bytes} bytes; send less, or serve with --max-body-bytes",
            {"limit": self._max_body_bytes},
        )

    def _counted(self, receive: Receive) -> Receive:
        """Bounds a body that does not say how long it is."""
        received = 0

        async def counted() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._max_body_bytes:
                raise self._too_large()
            return message

        return counted

    async def _guarded(self, scope: Scope, receive: Receive, answer: _Answer) -> None:
        """Turns whatever the application raises into the one shape of errors."""
        try:
            await self._app(scope, receive, answer)
        except HubError as error:
            await send_error(answer, error)
        except ClientDisconnect:
            pass  # nobody is there to be told
        except asyncio.CancelledError:  # the server stops and waits for this request no longer
            if answer.started:
                raise
            await send_error(answer, HubError("not_ready", "the hub is stopping"))
        except Exception:
            if answer.started:
                raise
            log.exception("request %s: a defect of the hub", scope["request_id"])
            await send_error(
                answer, HubError("internal_error", "the hub has a defect; its log has the details")
            )
