"""What both clients share: where the hub is, how it is asked, how answers become results or errors."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit

import httpx
import msgspec

from envhub_sdk import _exceptions
from envhub_sdk._calls import Call
from envhub_sdk._exceptions import EnvHubError
from envhub_sdk._retry import Patience

T = TypeVar("T")
_log = logging.getLogger("envhub_sdk")

DEFAULT_URL = "http://127.0.0.1:8000"
CONNECT_TIMEOUT_S = 5.0
IDLE_CONNECTION_S = 4.0
"""How long an unused connection is kept: less than servers keep it (uvicorn: 5 s), lest both act at once."""
READY_PAUSE_S = 0.1
TASK_PAGE = 1000

_CLIENT_HEADERS = {"accept": "application/json, text/plain, image/png", "user-agent": "envhub-sdk"}


class BaseHub:
    """Builds requests and reads answers; the subclasses do the I/O."""

    def __init__(
        self, url: str | None, token: str | None, timeout: float, retries: int, patience_s: float
    ) -> None:
        self.url = (url or os.environ.get("ENVHUB_URL") or DEFAULT_URL).rstrip("/").removesuffix("/v1")
        """Where the hub is, without the `/v1` of its API."""
        self._token = (token or os.environ.get("ENVHUB_TOKEN") or "").strip()
        self._timeout = timeout
        self._retries = retries
        self._patience = Patience(patience_s)
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{self.url!r} is no URL of a hub: write it like {DEFAULT_URL}")
        if not (self._token.isascii() and self._token.isprintable()):
            raise ValueError(
                "the token (token= or ENVHUB_TOKEN) has characters that a request can't carry: a token is "
                "printable ASCII, check what was copied"
            )
        self._loopback = parts.hostname in ("localhost", "127.0.0.1", "::1")

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def _client_options(self) -> dict[str, Any]:
        headers = dict(_CLIENT_HEADERS)
        if self._token:
            headers["authorization"] = f"Bearer {self._token}"
        return {
            "headers": headers,
            "limits": httpx.Limits(
                max_connections=None, max_keepalive_connections=256, keepalive_expiry=IDLE_CONNECTION_S
            ),
            "trust_env": not self._loopback,  # a proxy from the environment can't reach this machine
        }

    def _request(self, client: httpx.Client | httpx.AsyncClient, call: Call[T]) -> httpx.Request:
        if client.is_closed:
            raise _exceptions.HubClosed(
                f"{self} is closed, and with it the environments made by it: make another hub",
                session=call.session,
            )
        seconds = self._timeout + call.grace_s
        if call.once_s is not None:
            seconds = min(seconds, call.once_s)
        headers = {"content-type": "application/json"} if call.content is not None else None
        return client.build_request(
            call.method,
            self.url + call.path,
            content=call.content,
            params=dict(call.params) or None,
            headers=headers,
            timeout=httpx.Timeout(seconds, connect=min(seconds, CONNECT_TIMEOUT_S), pool=None),
        )

    def _not_closed(self, sessions: Sequence[str], idle_s: float | None, error: EnvHubError) -> None:
        """Logs that the hub could not be told to close sessions, and when it ends them by itself."""
        when = "when they have been idle for their timeout"
        if idle_s is not None:
            latest = time.strftime("%H:%M:%S", time.localtime(time.time() + idle_s))
            when = f"after {idle_s:g} s without use, by {latest}"
        _log.warning(
            "%s could not be told that %s closed (%s); if it has them still, they expire there %s",
            self.url,
            f"{sessions[0]} is" if len(sessions) == 1 else f"{', '.join(sessions)} are",
            error,
            when,
        )

    def _result(self, call: Call[T], response: httpx.Response) -> T:
        if not response.is_success:
            failure = _exceptions.from_response(response, call.session)
            self._patience.reached |= isinstance(failure, _exceptions.ApiError)
            raise failure
        try:
            result = call.read(response)
        except (msgspec.MsgspecError, ValueError) as error:
            raise _exceptions.unexpected(response, call.session) from error
        self._patience.met()
        return result
