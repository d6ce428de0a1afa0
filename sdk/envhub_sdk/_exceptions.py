"""Everything that can go wrong, one class each.

    EnvHubError
     + TransportError               no answer came
     |  + ConnectFailed             the request never left
     |  + AnswerTimeout             the answer took too long
     |  + AnswerLost                the connection broke before the answer was whole
     + UnexpectedAnswer             an answer that is not API v1's (a proxy's page, another program)
     + HubClosed                    `close()` of the Hub was called before
     + BatchError                   some sub-environments of a vector step or reset failed
     + ApiError                     the hub said no; one class a code:
        + MalformedRequest              malformed_request
        + Unauthorized                  unauthorized
        + Forbidden                     forbidden
        + NotFound                      not_found
        + UnknownEnv                    unknown_env
        + UnknownTask                   unknown_task
        + UnknownSnapshot               unknown_snapshot
        + MethodNotAllowed              method_not_allowed
        + RequestTimeout                request_timeout
        + StepIndexConflict             step_index_conflict
        + NoEpisode                     no_episode
        + EpisodeOver                   episode_over
        + BodyTooLarge                  body_too_large
        + InvalidAction                 invalid_action
        + InvalidOptions                invalid_options
        + NotJson                       not_json
        + InternalError                 internal_error
        + CallNotImplemented            not_implemented
        + EpisodeLost               reset() starts a new episode
        |  + EnvironmentFailed          environment_error
        |  + EpisodeFailed              episode_failed
        |  + StepTimeout                step_timeout
        + SessionGone               reset() opens a new session
        |  + UnknownSession             unknown_session
        |  + SessionExpired             session_expired
        |  + SessionClosed              session_closed
        |  + SessionLost                session_lost
        |  + ReplayDiverged             replay_diverged
        + Busy                      the same request may succeed later
           + QueueFull                  queue_full
           + QuotaExceeded              quota_exceeded
           + NoFreeReplica              no_free_replica
           + NotReady                   not_ready

The codes and what they mean are in `envhub_sdk._wire.CODES`.
"""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import Iterator, Mapping
from typing import Any

import httpx
import msgspec

from envhub_sdk import _wire

__all__ = [
    "AnswerLost",
    "AnswerTimeout",
    "ApiError",
    "BatchError",
    "BodyTooLarge",
    "Busy",
    "CallNotImplemented",
    "ConnectFailed",
    "EnvHubError",
    "EnvironmentFailed",
    "EpisodeFailed",
    "EpisodeLost",
    "EpisodeOver",
    "Forbidden",
    "HubClosed",
    "InternalError",
    "InvalidAction",
    "InvalidOptions",
    "MalformedRequest",
    "MethodNotAllowed",
    "NoEpisode",
    "NoFreeReplica",
    "NotFound",
    "NotJson",
    "NotReady",
    "QueueFull",
    "QuotaExceeded",
    "ReplayDiverged",
    "RequestTimeout",
    "SessionClosed",
    "SessionExpired",
    "SessionGone",
    "SessionLost",
    "StepIndexConflict",
    "StepTimeout",
    "TransportError",
    "Unauthorized",
    "UnexpectedAnswer",
    "UnknownEnv",
    "UnknownSession",
    "UnknownSnapshot",
    "UnknownTask",
]


class EnvHubError(Exception):
    """Base of everything this SDK raises on behalf of a hub.

    Args:
        message: What happened, to whom, and what to do next.
        request: The HTTP request it happened to.
        session: Id of the session it happened to.
        details: Facts for programs, as the hub sent them.
        retry_after: Seconds the hub asks to wait before the same request is sent again.
    """

    code: str = "sdk_error"
    """Stable name of the error, as in the API and in `Trajectory.error`."""
    retryable: bool = False
    """Whether the same request may succeed later, unchanged."""

    def __init__(
        self,
        message: str = "",
        *,
        request: httpx.Request | None = None,
        session: str | None = None,
        details: Mapping[str, Any] | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.request = request
        self.session = session
        self.details: dict[str, Any] = dict(details or {})
        self.retry_after = retry_after


class TransportError(EnvHubError):
    """No answer came. A step that failed so may be asked for again: it is never executed twice."""

    code = "transport_error"
    retryable = True


class ConnectFailed(TransportError):
    """The hub could not be reached; nothing was sent."""

    code = "connect_failed"


class AnswerTimeout(TransportError):
    """The hub took longer than `timeout`; it may have done what was asked."""

    code = "answer_timeout"


class AnswerLost(TransportError):
    """The connection broke before the answer was whole; the hub may have done what was asked."""

    code = "answer_lost"


class UnexpectedAnswer(EnvHubError):
    """Something answered, but not with API v1: a proxy, another program, or a hub of another version."""

    code = "unexpected_answer"


class HubClosed(EnvHubError):
    """The `Hub` was closed, and with it the environments made by it: make another hub."""

    code = "hub_closed"


class ApiError(EnvHubError):
    """The hub refused or failed, and said why.

    Instances of this class itself carry a code this SDK does not know (a newer hub's).
    """

    code = "api_error"
    status: int = 0
    """HTTP status of the answer."""
    _advice: str = ""  # what the hub can't say, since it doesn't know who asks: the way out with this SDK


class MalformedRequest(ApiError):
    """The body is not the JSON that the call takes."""

    code = "malformed_request"


class Unauthorized(ApiError):
    """A token is needed, or the one sent is not known; pass `token=` or set ENVHUB_TOKEN."""

    code = "unauthorized"
    _advice = "with this SDK: Hub(url, token=…), or the environment variable ENVHUB_TOKEN"


class Forbidden(ApiError):
    """A web page of another origin asked, or the hub was called by a name that is not its own."""

    code = "forbidden"


class NotFound(ApiError):
    """The hub has no such route."""

    code = "not_found"


class UnknownEnv(ApiError):
    """The hub serves no environment of that name; `Hub.envs()` lists what it serves."""

    code = "unknown_env"


class UnknownTask(ApiError):
    """The environment has no such task or split."""

    code = "unknown_task"


class UnknownSnapshot(ApiError):
    """The hub keeps no such snapshot (any more), or it is one of another environment."""

    code = "unknown_snapshot"


class MethodNotAllowed(ApiError):
    """The route exists, with another method."""

    code = "method_not_allowed"


class RequestTimeout(ApiError):
    """The request took too long to arrive at the hub; nothing was done."""

    code = "request_timeout"


class StepIndexConflict(ApiError):
    """The step asked for is neither the next one nor the last one again.

    `details` holds `expected` and `received`. Two clients drive one session, or a step whose answer was
    lost was followed by another action.
    """

    code = "step_index_conflict"


class NoEpisode(ApiError):
    """The session has no episode yet: call `reset()` first."""

    code = "no_episode"


class EpisodeOver(ApiError):
    """The episode has ended: call `reset()` first."""

    code = "episode_over"


class BodyTooLarge(ApiError):
    """The request is over the hub's limit."""

    code = "body_too_large"


class InvalidAction(ApiError):
    """The action space or the environment refused the action; nothing changed."""

    code = "invalid_action"


class InvalidOptions(ApiError):
    """The environment refused the seed, the task or the options of a reset."""

    code = "invalid_options"


class NotJson(ApiError):
    """The environment cannot do this for want of a JSON or picture form."""

    code = "not_json"


class InternalError(ApiError):
    """A defect of the hub; its log has the request id."""

    code = "internal_error"


class CallNotImplemented(ApiError):
    """This hub does not offer the call yet."""

    code = "not_implemented"


class EpisodeLost(ApiError):
    """The episode cannot go on, the session can: `reset()` starts a new episode."""


class EnvironmentFailed(EpisodeLost):
    """The environment raised an exception; `details` has its type and traceback."""

    code = "environment_error"


class EpisodeFailed(EpisodeLost):
    """The environment had failed in this episode already."""

    code = "episode_failed"


class StepTimeout(EpisodeLost):
    """The environment took longer than its limit."""

    code = "step_timeout"


class SessionGone(ApiError):
    """The session is over: `reset()` opens a new one."""


class UnknownSession(SessionGone):
    """No session has this id; a restarted hub has forgotten its sessions. `reset()` opens another."""

    code = "unknown_session"
    _advice = "reset() opens another"


class SessionExpired(SessionGone):
    """The session was idle for longer than its `idle_timeout_s` and gave its replica back."""

    code = "session_expired"


class SessionClosed(SessionGone):
    """The session was closed."""

    code = "session_closed"


class SessionLost(SessionGone):
    """The worker that held the session died and the episode could not be continued elsewhere."""

    code = "session_lost"


class ReplayDiverged(SessionGone):
    """The episode was played again, for a dead worker or a snapshot, and went another way.

    `details` says where (`step_index`; -1 is the reset) and has what was `recorded` and what was `replayed`.
    """

    code = "replay_diverged"


class Busy(ApiError):
    """The hub cannot serve the request now; the same request may succeed later."""


class QueueFull(Busy):
    """Too many callers wait for a replica already."""

    code = "queue_full"


class QuotaExceeded(Busy):
    """The token has as many sessions, or as many requests a second, as it may; `details` says which."""

    code = "quota_exceeded"


class NoFreeReplica(Busy):
    """Every replica was taken for as long as `wait_s` allowed.

    `Hub.sessions()` lists the sessions that hold replicas; `close()` gives an environment's replica back.
    """

    code = "no_free_replica"
    _advice = "sessions() of the Hub lists what holds replicas: close() the environments that are done with"


class NotReady(Busy):
    """The hub is starting, stopping or short of workers."""

    code = "not_ready"


class BatchError(EnvHubError):
    """Some sub-environments of a vector environment failed; the results of the others are kept.

    Attributes:
        errors: What happened, by index of the sub-environment.
        partial: After a step, what `step()` would have returned: `(observations, rewards, terminations,
            truncations, infos)`, where a failed sub-environment has its last observation and reward NaN.
            None after a reset.
    """

    code = "batch_error"

    def __init__(
        self, message: str = "", *, errors: Mapping[int, EnvHubError] | None = None, partial: Any = None
    ) -> None:
        super().__init__(message)
        self.errors: dict[int, EnvHubError] = dict(errors or {})
        self.partial = partial
        self.retryable = bool(self.errors) and all(error.retryable for error in self.errors.values())


def _with_codes(base: type[ApiError]) -> Iterator[type[ApiError]]:
    for kind in base.__subclasses__():
        if kind.code in _wire.CODES:
            yield kind
        yield from _with_codes(kind)


NOT_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
"""What OpenSSL says, by version, when the answer to its greeting is not TLS."""

BY_CODE: dict[str, type[ApiError]] = {kind.code: kind for kind in _with_codes(ApiError)}
"""The class of each error code."""

for _code, _kind in BY_CODE.items():
    _kind.status, _kind.retryable = _wire.CODES[_code].status, _wire.CODES[_code].retryable


def from_body(
    body: _wire.ErrorBody,
    *,
    status: int = 0,
    request: httpx.Request | None = None,
    session: str | None = None,
    retry_after: float | None = None,
) -> ApiError:
    """Make the exception for an error the hub sent."""
    kind = BY_CODE.get(body.code, ApiError)
    message = f"{body.message} ({kind._advice})" if kind._advice else body.message
    error = kind(message, request=request, session=session, details=body.details, retry_after=retry_after)
    if kind is ApiError:
        error.code = body.code  # a newer hub's code, on this instance alone
        error.status = status
        error.retryable = status in (429, 503)
    return error


def from_response(response: httpx.Response, session: str | None) -> EnvHubError:
    """Make the exception for an answer that is not a success."""
    retry_after = _seconds(response.headers.get("retry-after"))
    try:
        body = msgspec.json.decode(response.content, type=_wire.ErrorReply).error
    except msgspec.MsgspecError:
        return unexpected(response, session, retry_after)
    return from_body(
        body, status=response.status_code, request=response.request, session=session, retry_after=retry_after
    )


def unexpected(
    response: httpx.Response, session: str | None, retry_after: float | None = None
) -> UnexpectedAnswer:
    """Make the exception for an answer that API v1 does not know."""
    error = UnexpectedAnswer(
        f"{response.request.method} {response.request.url} answered {response.status_code} with something "
        f"that is not EnvHub's API v1: {response.text[:200]!r}; check the URL and any proxy in between",
        request=response.request,
        session=session,
        details={"status": response.status_code},
        retry_after=retry_after,
    )
    error.retryable = response.status_code in (429, 502, 503, 504)
    return error


@contextlib.contextmanager
def transport_errors(request: httpx.Request, session: str | None) -> Iterator[None]:
    """Map every transport error of httpx to one of ours, here and nowhere else."""
    try:
        yield
    except httpx.TransportError as error:
        kind, what = _transport_kind(error)
        message = f"{request.method} {request.url}: {what} ({type(error).__name__}: {error})"
        mapped = kind(message, request=request, session=session)
        mapped.retryable = _tls_failure(error) is None  # nobody changes protocols or certificates meanwhile
        raise mapped from error


def _transport_kind(error: httpx.TransportError) -> tuple[type[TransportError], str]:
    tls = _tls_failure(error)
    if tls is not None:
        return ConnectFailed, tls
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.PoolTimeout):
        return ConnectFailed, "the hub could not be reached; is `envhub serve` running there?"
    if isinstance(error, httpx.TimeoutException):
        return AnswerTimeout, "the hub took longer than `timeout` to answer"
    if isinstance(error, httpx.UnsupportedProtocol | httpx.ProxyError):
        return ConnectFailed, "no connection can be made"
    return AnswerLost, "the connection broke before the answer came"


def _tls_failure(error: BaseException) -> str | None:
    """Why TLS cannot be had from what listens there, where that is the reason."""
    reason: BaseException | None = error
    while reason is not None and not isinstance(reason, ssl.SSLError):
        reason = reason.__cause__ or reason.__context__
    if isinstance(reason, ssl.SSLCertVerificationError):
        return "the certificate shown there is not trusted here"
    if reason is not None and reason.reason in NOT_TLS:
        return (
            "what listens there speaks plain HTTP, as `envhub serve` does: write http://, or put a proxy "
            "that speaks TLS before the hub"
        )
    return None


def _seconds(header: str | None) -> float | None:
    """Read Retry-After; its other form, a date, is not used by the hub and is left out."""
    try:
        return max(0.0, float(header)) if header else None
    except ValueError:
        return None
