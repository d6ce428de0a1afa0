"""Every call of the API as a value: what to send and how to read the answer. No I/O.

Both clients send these, so a request is built in one place only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import httpx
import msgspec

from envhub_sdk import _png, _wire

T = TypeVar("T")

BEAT_TIMEOUT_S = 10.0
"""Longest wait for the answer to a keepalive, or to a question after the hub's health."""
CLOSE_TIMEOUT_S = 5.0
"""Longest wait for the answer to a close; a hub that is late closes all the same."""
CLOSE_AWAY_S = 15.0
"""How long a hub may be away, to be told of a close when it is back; else its sessions expire there."""


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request.

    Attributes:
        read: Turns a successful answer into the result.
        session: The session it is about, for errors.
        grace_s: Seconds the hub may rightly take, on top of the client's `timeout`.
        patience_s: Seconds for which a busy hub is asked again; None: as often as other errors.
        once_s: Send it once only, and wait for the answer no longer than these seconds.
        away_s: Send it again all the same where the hub has been away for less than these seconds.
    """

    method: str
    path: str
    read: Callable[[httpx.Response], T]
    content: bytes | None = None
    params: Mapping[str, str | int] = field(default_factory=dict)
    session: str | None = None
    grace_s: float = 0.0
    patience_s: float | None = None
    once_s: float | None = None
    away_s: float = 0.0


def _reader(kind: type[T]) -> Callable[[httpx.Response], T]:
    decoder = msgspec.json.Decoder(kind)
    return lambda response: decoder.decode(response.content)


def _nothing(response: httpx.Response) -> None:
    return None


def _picture(response: httpx.Response) -> Any:
    if response.headers.get("content-type", "").startswith("image/png"):
        return _png.decode(response.content)
    return response.text


_read_envs = _reader(_wire.EnvList)
_read_env = _reader(_wire.EnvInfo)
_read_tasks = _reader(_wire.TaskList)
_read_sessions = _reader(_wire.SessionList)
_read_session = _reader(_wire.SessionState)
_read_opened = _reader(_wire.OpenedSessions)
_read_reset = _reader(_wire.ResetReply)
_read_step = _reader(_wire.StepReply)
_read_trajectory = _reader(_wire.Trajectory)
_read_results = _reader(_wire.BatchResults)
_read_snapshot = _reader(_wire.SnapshotReply)
_encode = msgspec.json.Encoder().encode


def _session(session: str, verb: str) -> str:
    return f"/v1/sessions/{quote(session, safe='')}/{verb}"


def health() -> Call[None]:
    return Call("GET", "/healthz", _nothing, once_s=BEAT_TIMEOUT_S)


def ready() -> Call[None]:
    return Call("GET", "/readyz", _nothing, once_s=BEAT_TIMEOUT_S)


def envs() -> Call[_wire.EnvList]:
    return Call("GET", "/v1/envs", _read_envs)


def env(name: str) -> Call[_wire.EnvInfo]:
    return Call("GET", f"/v1/envs/{quote(name, safe='')}", _read_env)


def tasks(name: str, split: str | None, offset: int, limit: int) -> Call[_wire.TaskList]:
    params: dict[str, str | int] = {"offset": offset, "limit": limit}
    if split is not None:
        params["split"] = split
    return Call("GET", f"/v1/envs/{quote(name, safe='')}/tasks", _read_tasks, params=params)


def sessions() -> Call[_wire.SessionList]:
    return Call("GET", "/v1/sessions", _read_sessions)


def session(session_id: str) -> Call[_wire.SessionState]:
    path = f"/v1/sessions/{quote(session_id, safe='')}"
    return Call("GET", path, _read_session, session=session_id)


def open_sessions(name: str, request: _wire.OpenRequest, grace_s: float) -> Call[_wire.OpenedSessions]:
    wait_s = request.wait_s or 0.0
    return Call(
        "POST",
        f"/v1/envs/{quote(name, safe='')}/sessions",
        _read_opened,
        _encode(request),
        grace_s=grace_s + wait_s,
        patience_s=wait_s,
    )


def reset(session: str, request: _wire.ResetRequest, grace_s: float) -> Call[_wire.ResetReply]:
    return Call(
        "POST", _session(session, "reset"), _read_reset, _encode(request), session=session, grace_s=grace_s
    )


def step(session: str, request: _wire.StepRequest, grace_s: float) -> Call[_wire.StepReply]:
    return Call(
        "POST", _session(session, "step"), _read_step, _encode(request), session=session, grace_s=grace_s
    )


def snapshot(session: str, grace_s: float) -> Call[_wire.SnapshotReply]:
    return Call("POST", _session(session, "snapshot"), _read_snapshot, session=session, grace_s=grace_s)


def restore(session: str, request: _wire.RestoreRequest, grace_s: float) -> Call[_wire.ResetReply]:
    body = _encode(request)
    return Call("POST", _session(session, "restore"), _read_reset, body, session=session, grace_s=grace_s)


def fork(session: str, request: _wire.ForkRequest, grace_s: float) -> Call[_wire.OpenedSessions]:
    wait_s = request.wait_s or 0.0
    return Call(
        "POST",
        _session(session, "fork"),
        _read_opened,
        _encode(request),
        session=session,
        grace_s=grace_s + wait_s,
        patience_s=wait_s,
    )


def keepalive(session: str) -> Call[None]:
    return Call("POST", _session(session, "keepalive"), _nothing, session=session, once_s=BEAT_TIMEOUT_S)


def trajectory(session: str) -> Call[_wire.Trajectory]:
    return Call("GET", _session(session, "trajectory"), _read_trajectory, session=session)


def render(session: str) -> Call[Any]:
    return Call("GET", _session(session, "render"), _picture, session=session)


def batch_step(steps: Sequence[_wire.StepItem], autoreset: bool, grace_s: float) -> Call[_wire.BatchResults]:
    body = _encode(_wire.BatchStep(list(steps), autoreset))
    return Call("POST", "/v1/step", _read_results, body, grace_s=grace_s)


def batch_reset(resets: Sequence[_wire.ResetItem], grace_s: float) -> Call[_wire.BatchResults]:
    return Call("POST", "/v1/reset", _read_results, _encode(_wire.BatchReset(list(resets))), grace_s=grace_s)


def close(session_ids: Sequence[str]) -> Call[None]:
    """Closes sessions; closed ones may be among them.

    A hub that is being started again with its state has them still, so it is waited for, but not for long:
    one that is gone for good needs no closing.
    """
    body = _encode(_wire.BatchClose(list(session_ids)))
    return Call("POST", "/v1/close", _nothing, body, once_s=CLOSE_TIMEOUT_S, away_s=CLOSE_AWAY_S)
