"""A chat model behind an OpenAI-compatible endpoint: `POST {url}/chat/completions`.

Whatever may pass is asked again: no answer, a broken one, 408, 409, 425, 429 and 5xx, after as long as
Retry-After says, else after growing, jittered pauses. What will not pass is `EndpointRefused` at once.
"""

from __future__ import annotations

import email.utils
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import httpx

RETRIED = frozenset({408, 409, 425, 429})
LONGEST_RETRY_AFTER_S = 600.0
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
NEVER_ANSWERED = 0
_NO_MONEY = "insufficient_quota"  # a 429 that does not pass

_log = logging.getLogger("envhub_trainers")


class EndpointFailed(Exception):
    """The endpoint gave no usable answer, however often it was asked: says nothing of the model."""


class EndpointRefused(Exception):
    """The endpoint will not answer this request.

    Attributes:
        status: HTTP status of the refusal; `NEVER_ANSWERED` of an endpoint that was never heard of.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class _Unanswered(Exception):
    """One try failed; another may not."""

    def __init__(self, message: str, retry_after_s: float | None = None) -> None:
        super().__init__(message)
        self.retry_after_s = retry_after_s


@dataclass(frozen=True, slots=True)
class Answer:
    """What the model said."""

    text: str
    cut: bool = False
    """Whether it was cut at the limit of tokens."""


class ChatEndpoint:
    """Asks a chat model.

    Args:
        url: The endpoint, up to and with `/v1`.
        model: The model's name there.
        key: Sent as the bearer token.
        sampling: Further fields of each request: `temperature`, `max_tokens`, …
        timeout_s: How long one answer may take.
        tries: How often a request is sent at most.

    Raises:
        ValueError: `url` is no http or https URL.
        ModuleNotFoundError: tenacity is not installed.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        key: str | None = None,
        sampling: Mapping[str, Any] | None = None,
        timeout_s: float = 300.0,
        tries: int = 8,
    ) -> None:
        from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt

        self.url = url.rstrip("/")
        self.model = model
        self.sampling = dict(sampling or {})
        self._tries = tries
        self._reached = False
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is no URL of an endpoint: write it like http://127.0.0.1:8001/v1")
        self._retrying = AsyncRetrying(
            stop=stop_after_attempt(tries),
            wait=_pause,
            retry=retry_if_exception_type(_Unanswered),
            before_sleep=lambda state: _log.info(
                "%s; asking again", state.outcome and state.outcome.exception()
            ),
        )
        self._client = httpx.AsyncClient(
            headers={"authorization": f"Bearer {key}"} if key else {},
            timeout=httpx.Timeout(timeout_s, connect=min(timeout_s, 10.0), pool=None),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=256),
            trust_env=parts.hostname
            not in ("localhost", "127.0.0.1", "::1"),  # no proxy reaches this machine
        )

    async def ask(self, messages: Sequence[Mapping[str, str]]) -> Answer:
        """Return the model's answer to a conversation.

        Raises:
            EndpointFailed: No usable answer came.
            EndpointRefused: The request, the key or the model is refused; or there never was an answer, to
                this request or any other.
        """
        from tenacity import RetryError

        body = {"model": self.model, "messages": list(messages), **self.sampling}
        try:
            return await self._retrying.copy()(self._ask_once, body)  # a copy, since many ask at once
        except RetryError as last:
            reason = last.last_attempt.exception()
            message = f"{reason} (asked {self._tries} times)"
            if self._reached:
                raise EndpointFailed(message) from reason
            raise EndpointRefused(f"{message}: is there an endpoint?", NEVER_ANSWERED) from reason

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _ask_once(self, body: Mapping[str, Any]) -> Answer:
        try:
            response = await self._client.post(f"{self.url}/chat/completions", json=body)
        except httpx.TransportError as error:
            raise _Unanswered(f"no answer from {self.url}: {error!r}") from error
        self._reached = True
        if not response.is_success:
            raise _failure(response, self.url)
        try:
            choice = response.json()["choices"][0]
            return Answer(str(choice["message"]["content"] or ""), choice.get("finish_reason") == "length")
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            said = response.text[:200]
            raise _Unanswered(f"{self.url} answered {said!r}, which is no chat completion") from error


def _failure(response: httpx.Response, url: str) -> Exception:
    said = f"{url} answered {response.status_code}: {response.text[:300]}"
    passes = response.status_code in RETRIED or response.status_code >= 500
    if not passes or (response.status_code == 429 and _NO_MONEY in response.text):
        return EndpointRefused(said, response.status_code)
    after = retry_after_s(response.headers.get("retry-after"))
    if after is not None and after > LONGEST_RETRY_AFTER_S:
        return EndpointRefused(f"{said} (to be asked again in {after:.0f} s)", response.status_code)
    return _Unanswered(said, after)


def retry_after_s(header: str | None) -> float | None:
    """The seconds that a Retry-After asks to wait, given as seconds or as a date (RFC 9110, 10.2.3)."""
    if header is None:
        return None
    try:
        return max(0.0, float(header))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except ValueError:
        return None


def _pause(state: Any) -> float:
    from tenacity import wait_random_exponential

    drawn = float(wait_random_exponential(FIRST_PAUSE_S, LONGEST_PAUSE_S)(state))
    error = state.outcome.exception()
    return max(drawn, error.retry_after_s) if error.retry_after_s is not None else drawn
