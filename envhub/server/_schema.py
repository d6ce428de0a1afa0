"""The OpenAPI schema, from one table: every call, what it takes, what it answers, how it fails.

The structs of the wire are the only source of the shapes, so the schema can't drift from the code; a
test asks every call of this table and checks every answer against it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import msgspec

from envhub.server._gate import OPEN_PATHS
from envhub_sdk import _wire as wire


@dataclass(frozen=True)
class Call:
    """One call of the API."""

    method: str
    path: str
    summary: str
    takes: type | None = None
    answers: type | None = None
    errors: tuple[str, ...] = ()
    query: tuple[tuple[str, dict[str, Any]], ...] = ()
    status: int = 200
    media_type: str = "application/json"
    body_required: bool = True


_SESSION = ("unknown_session", "session_expired", "session_closed", "session_lost", "replay_diverged")
_STEP = (
    *_SESSION,
    "step_index_conflict",
    "episode_over",
    "episode_failed",
    "no_episode",
    "invalid_action",
    "environment_error",
    "step_timeout",
    "not_ready",
)
_RESET = (*_SESSION, "unknown_task", "invalid_options", "environment_error", "step_timeout", "not_ready")
_OPEN = ("unknown_env", "not_ready", "queue_full", "no_free_replica", *_RESET)
_TASK_QUERY = (
    ("split", {"type": "string"}),
    ("offset", {"type": "integer", "minimum": 0, "maximum": 2**53, "default": 0}),
    ("limit", {"type": "integer", "minimum": 0, "maximum": 1000, "default": 100}),
)
_POINT = (
    *_SESSION,
    "no_episode",
    "episode_failed",
    "not_implemented",
    "environment_error",
    "step_timeout",
)

CALLS: tuple[Call, ...] = (
    Call("get", "/", "What this is, and where its parts are.", answers=wire.About),
    Call("get", "/healthz", "The process is alive.", answers=wire.Status),
    Call("get", "/readyz", "Every pool has its replicas.", answers=wire.Status, errors=("not_ready",)),
    Call("get", "/metrics", "Prometheus metrics.", media_type="text/plain"),
    Call("get", "/v1/envs", "The served environments.", answers=wire.EnvList, errors=("not_ready",)),
    Call("get", "/v1/envs/{env}", "One of them.", answers=wire.EnvInfo, errors=("unknown_env", "not_ready")),
    Call(
        "get",
        "/v1/envs/{env}/tasks",
        "A page of its tasks, never their answers; without a split, of the first one.",
        answers=wire.TaskList,
        errors=("unknown_env", "unknown_task", "not_ready", "environment_error", "step_timeout"),
        query=_TASK_QUERY,
    ),
    Call(
        "post",
        "/v1/envs/{env}/sessions",
        "Opens sessions and resets them, all or none.",
        wire.OpenRequest,
        wire.OpenedSessions,
        _OPEN,
        body_required=False,
    ),
    Call("get", "/v1/sessions", "Open sessions.", answers=wire.SessionList),
    Call("get", "/v1/sessions/{session_id}", "Where one stands.", answers=wire.SessionState, errors=_SESSION),
    Call("delete", "/v1/sessions/{session_id}", "Closes it; fine if it is gone already.", status=204),
    Call(
        "post",
        "/v1/sessions/{session_id}/reset",
        "Starts an episode.",
        wire.ResetRequest,
        wire.ResetReply,
        _RESET,
        body_required=False,
    ),
    Call(
        "post",
        "/v1/sessions/{session_id}/step",
        "Takes one step; with step_index, exactly once.",
        wire.StepRequest,
        wire.StepReply,
        _STEP,
    ),
    Call(
        "post",
        "/v1/sessions/{session_id}/keepalive",
        "Renews it.",
        answers=wire.Keepalive,
        errors=_SESSION,
    ),
    Call(
        "get",
        "/v1/sessions/{session_id}/trajectory",
        "The current episode so far.",
        answers=wire.Trajectory,
        errors=(*_SESSION, "no_episode"),
    ),
    Call(
        "get",
        "/v1/sessions/{session_id}/render",
        "The environment, drawn: text, or image/png where it draws pictures.",
        media_type="text/plain",
        errors=(*_SESSION, "no_episode", "episode_failed", "not_json", "environment_error", "step_timeout"),
    ),
    Call(
        "post",
        "/v1/sessions/{session_id}/snapshot",
        "Saves where the episode stands.",
        answers=wire.SnapshotReply,
        errors=_POINT,
    ),
    Call(
        "post",
        "/v1/sessions/{session_id}/restore",
        "Takes the session to a saved point.",
        wire.RestoreRequest,
        wire.ResetReply,
        (*_POINT, "unknown_snapshot", "not_ready"),
    ),
    Call(
        "post",
        "/v1/sessions/{session_id}/fork",
        "Opens sessions that go on from here, or from a snapshot; all or none.",
        wire.ForkRequest,
        wire.OpenedSessions,
        (*_POINT, "unknown_snapshot", "invalid_options", "queue_full", "no_free_replica", "not_ready"),
        body_required=False,
    ),
    Call(
        "post",
        "/v1/step",
        "Takes one step of each of many sessions; each item has its own answer or error.",
        wire.BatchStep,
        wire.BatchResults,
    ),
    Call("post", "/v1/reset", "Resets many sessions.", wire.BatchReset, wire.BatchResults),
    Call("post", "/v1/close", "Closes many sessions.", wire.BatchClose, wire.BatchResults),
)


def build_schema(title: str, version: str) -> dict[str, Any]:
    """The OpenAPI document."""
    structs = {call.takes for call in CALLS} | {call.answers for call in CALLS} | {wire.ErrorReply}
    _, components = msgspec.json.schema_components(
        [struct for struct in structs if struct is not None],
        ref_template="#/components/schemas/{name}",
    )
    paths: dict[str, Any] = {}
    for call in CALLS:
        paths.setdefault(call.path, {})[call.method] = _operation(call)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version, "description": _ABOUT},
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


_ABOUT = (
    "Environments for language agents. Every error has one shape (ErrorReply) and a stable code. "
    "The WebSocket at /v1/stream takes the same operations: {id, op, …fields of the call}."
)


def _operation(call: Call) -> dict[str, Any]:
    names = [part[1:-1] for part in call.path.split("/") if part.startswith("{")]
    parameters = [_parameter(name, "path", {"type": "string"}) for name in names]
    parameters += [_parameter(name, "query", schema) for name, schema in call.query]
    operation: dict[str, Any] = {
        "summary": call.summary,
        "operationId": _operation_id(call),
        "responses": _responses(call),
    }
    if parameters:
        operation["parameters"] = parameters
    if call.takes is not None:
        operation["requestBody"] = {
            "required": call.body_required,
            "content": {"application/json": {"schema": _reference(call.takes)}},
        }
    return operation


def _operation_id(call: Call) -> str:
    words = [part.strip("{}") for part in call.path.split("/") if part not in ("", "v1")]
    return "_".join([call.method, *words])


def _parameter(name: str, place: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "in": place, "required": place == "path", "schema": schema}


def _reference(struct: type) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{struct.__name__}"}


def _responses(call: Call) -> dict[str, Any]:
    responses: dict[str, Any] = {}
    responses[str(call.status)] = _good(call)
    errors = [*call.errors, "forbidden"]
    if call.path not in OPEN_PATHS:
        errors += ["unauthorized", "quota_exceeded"]
    if call.takes is not None or call.query:
        errors += ["malformed_request"]
    if call.takes is not None:
        errors += ["body_too_large", "request_timeout"]
    for code in errors:
        status, _, meaning = wire.CODES[code]
        entry = responses.setdefault(
            str(status),
            {"description": "", "content": {"application/json": {"schema": _reference(wire.ErrorReply)}}},
        )
        entry["description"] = f"{entry['description']} `{code}`: {meaning}".strip()
    return dict(sorted(responses.items()))


def _good(call: Call) -> dict[str, Any]:
    if call.status == 204:
        return {"description": "Done."}
    schema = {"type": "string"} if call.answers is None else _reference(call.answers)
    content = {call.media_type: {"schema": schema}}
    if call.path.endswith("/render"):
        content["image/png"] = {"schema": {"type": "string", "contentMediaType": "image/png"}}
    return {"description": call.summary, "content": content}
