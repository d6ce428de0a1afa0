"""The wire of HTTP API v1: every message and every error code, written once.

The client encodes and decodes with these structs; the hub decodes requests with them and derives its
OpenAPI schema from them. Nothing here does I/O, and nothing here imports the rest of the SDK.

`Raw` fields hold JSON that only the environment understands (actions, observations, infos): they pass
through the hub as bytes, unparsed.
"""

from typing import Annotated, Any, Literal, NamedTuple

from msgspec import UNSET, Meta, Raw, Struct, UnsetType, field

__all__ = [
    "CODES",
    "About",
    "BatchClose",
    "BatchReset",
    "BatchResults",
    "BatchStep",
    "Closed",
    "Code",
    "EnvInfo",
    "EnvList",
    "ErrorBody",
    "ErrorReply",
    "ForkRequest",
    "Keepalive",
    "OpenRequest",
    "OpenedSession",
    "OpenedSessions",
    "ResetItem",
    "ResetReply",
    "ResetRequest",
    "RestoreRequest",
    "SessionList",
    "SessionState",
    "SnapshotReply",
    "SpaceJson",
    "Status",
    "StepItem",
    "StepReply",
    "StepRequest",
    "StreamClose",
    "StreamFork",
    "StreamKeepalive",
    "StreamMessage",
    "StreamOpen",
    "StreamReset",
    "StreamRestore",
    "StreamSnapshot",
    "StreamState",
    "StreamStep",
    "StreamTrajectory",
    "TaskList",
    "Trajectory",
    "TrajectoryStep",
]

SpaceJson = dict[str, Any]
"""A Gymnasium space as JSON: `{"type": "Text", "min_length", "max_length", "charset"}` (charset null:
any Unicode), `Discrete {n, start}`, `Box {low, high, shape, dtype}` (infinities as "inf" and "-inf"),
`MultiDiscrete {nvec, dtype}`, `MultiBinary {n}`, `Dict {spaces}`, `Tuple {spaces}`."""

Seed = Annotated[int, Meta(ge=0, le=2**63 - 1)]
Index = Annotated[int, Meta(ge=0)]
RequestId = Annotated[str, Meta(min_length=16, max_length=64)]
Seconds = Annotated[float, Meta(ge=0, le=86_400)]
Task = dict[str, Any]
"""What an episode is about: `{"id": …, …}`, as listed by `GET /v1/envs/{env}/tasks`."""


class Code(NamedTuple):
    """What an error code means."""

    status: int
    """HTTP status the code travels with."""
    retryable: bool
    """Whether the same request may succeed later, unchanged."""
    meaning: str


CODES: dict[str, Code] = {
    "malformed_request": Code(400, False, "The body is not JSON, or not the JSON this call takes."),
    "unauthorized": Code(401, False, "A bearer token is needed, or the one sent is not known here."),
    "forbidden": Code(403, False, "A web page of another origin asks, or by a name that is not this hub's."),
    "not_found": Code(404, False, "No such route."),
    "unknown_env": Code(404, False, "This hub serves no environment of that name."),
    "unknown_session": Code(404, False, "No session has this id."),
    "unknown_snapshot": Code(404, False, "No snapshot has this id, or it is one of another environment."),
    "unknown_task": Code(404, False, "The environment has no such task or split."),
    "method_not_allowed": Code(405, False, "The route exists, with another method."),
    "request_timeout": Code(408, True, "The request took too long to arrive."),
    "step_index_conflict": Code(
        409, False, "The step asked for is neither the next one nor the last one again."
    ),
    "episode_over": Code(409, False, "The episode has ended: reset first."),
    "episode_failed": Code(409, False, "The environment failed in this episode: reset first."),
    "no_episode": Code(409, False, "The session has not been reset yet."),
    "session_expired": Code(410, False, "The session was idle for too long and gave its replica back."),
    "session_closed": Code(410, False, "The session was closed."),
    "body_too_large": Code(413, False, "The body is over the hub's limit."),
    "invalid_action": Code(
        422, False, "The action space or the environment refused the action; nothing changed."
    ),
    "invalid_options": Code(422, False, "The environment refused the seed, the task or the options."),
    "not_json": Code(422, False, "The environment cannot do this for want of a JSON or picture form."),
    "queue_full": Code(429, True, "Too many callers wait for a replica already."),
    "quota_exceeded": Code(
        429, True, "The token has as many sessions, or as many requests a second, as it may."
    ),
    "internal_error": Code(500, False, "A defect of the hub."),
    "not_implemented": Code(501, False, "This hub does not offer the call yet."),
    "environment_error": Code(502, False, "The environment raised an exception; its episode is lost."),
    "session_lost": Code(502, False, "The worker that held the session died; the session is over."),
    "replay_diverged": Code(
        502, False, "The worker died and a replay of the episode differed; the session is over."
    ),
    "no_free_replica": Code(503, True, "Every replica was taken for as long as the caller would wait."),
    "not_ready": Code(503, True, "The hub is starting, stopping or short of workers."),
    "step_timeout": Code(504, False, "The environment took longer than its limit; its episode is lost."),
}
"""Every error code of the API. The SDK has one exception class for each."""


class ErrorBody(Struct, omit_defaults=True):
    """What went wrong: a stable code, a sentence for people, and facts for programs."""

    code: str
    message: str
    details: dict[str, Any] = {}


class ErrorReply(Struct):
    """The one shape of every error."""

    error: ErrorBody


# -- sessions ---------------------------------------------------------------------------------------


class OpenRequest(Struct, forbid_unknown_fields=True):
    """Opens `count` sessions and resets them, all or none."""

    count: Annotated[int, Meta(ge=1, le=65_536)] = 1
    tasks: list[Task | str] | None = None
    """One task (or task id) a session; fewer than `count` is an error."""
    seeds: list[Seed] | None = None
    options: dict[str, Any] = {}
    reset: bool = True
    idle_timeout_s: Annotated[float, Meta(gt=0, le=86_400)] | None = None
    wait_s: Seconds | None = None
    """How long to wait for free replicas before `no_free_replica`."""
    labels: dict[str, str] = {}
    request_id: RequestId | None = None
    """The client's random name of this request: sent again, it gets the sessions that it has opened."""


class OpenedSession(Struct, omit_defaults=True):
    """One opened session; without `reset` it has no observation yet."""

    id: str
    env: str
    step_index: int
    expires_at: float
    """Unix time at which the session expires unless it is used."""
    idle_timeout_s: float
    episode_id: str | UnsetType = UNSET
    seed: int | UnsetType = UNSET
    observation: Raw | UnsetType = UNSET
    info: Raw | UnsetType = UNSET


class OpenedSessions(Struct):
    """The sessions, in the order of their tasks and seeds."""

    sessions: list[OpenedSession]


class SessionState(Struct):
    """Where a session stands."""

    id: str
    env: str
    status: Literal["new", "running", "over", "failed"]
    task: Any
    seed: int | None
    episode_id: str | None
    step_index: int
    """Index of the next step."""
    episode_return: float = field(name="return")
    """Sum of the rewards of this episode so far; `return` on the wire."""
    terminated: bool
    truncated: bool
    worker_generation: int
    """How many times the worker that holds this session had been started."""
    created_at: float
    expires_at: float
    labels: dict[str, str]
    owner: str | None = None
    """Name of the token that opened it; null where the hub has no tokens file."""
    isolation: str = "host"
    """What its environment runs in, as `EnvInfo` has it."""
    lock_digest: str | None = None
    """Digest of the lock that was built from; null on the host."""


class SessionList(Struct):
    """Open sessions, oldest first."""

    sessions: list[SessionState]


class ResetRequest(Struct, forbid_unknown_fields=True):
    """Starts an episode. Without a seed the hub draws one and says which."""

    seed: Seed | None = None
    task: Task | str | None = None
    options: dict[str, Any] = {}
    start_index: Index | None = None
    """The client's number of this start, growing within the session: then it is executed once."""


class ResetReply(Struct):
    """The first observation of an episode."""

    observation: Raw
    info: Raw
    step_index: int
    episode_id: str
    seed: int


class StepRequest(Struct, forbid_unknown_fields=True):
    """One step. With `step_index` it is executed exactly once, however often it is sent."""

    action: Raw
    step_index: Index | None = None
    episode_id: str | None = None
    """Which episode the index belongs to; matters where the hub resets by itself (`autoreset`)."""


class StepReply(Struct, omit_defaults=True):
    """One transition. `step_index` is the index of the step that was executed."""

    observation: Raw
    reward: float
    terminated: bool
    truncated: bool
    info: Raw
    step_index: int
    reset: ResetReply | UnsetType = UNSET
    """With `autoreset`, after the last step of an episode: the start of the next one."""


class About(Struct):
    """What answers at the hub's address."""

    name: str
    version: str
    envs: list[str]
    docs: str
    """Path of the API's documentation."""


class Status(Struct):
    """`alive` of the process, `ready` of the pools."""

    status: str


class Keepalive(Struct):
    """The session's new time of expiry."""

    expires_at: float


class TrajectoryStep(Struct):
    """One recorded transition: the action as it was sent, the answer as it was given."""

    step_index: int
    action: Raw
    observation: Raw
    reward: float
    terminated: bool
    truncated: bool
    info: Raw


class Trajectory(Struct):
    """The current episode of a session, whole."""

    session_id: str
    env: str
    env_version: str
    data: dict[str, Any] | None
    """Name and digest of the data the environment runs on."""
    episode_id: str | None
    task: Any
    seed: int | None
    observation: Raw
    """The first observation."""
    info: Raw
    steps: list[TrajectoryStep]
    isolation: str = "host"
    lock_digest: str | None = None
    """Digest of the lock that its environment runs on; null on the host."""


class SnapshotReply(Struct):
    """A saved point of an episode."""

    snapshot_id: str
    step_index: int
    """Index of the step that would come next."""
    kind: Literal["native", "replay"]
    """Whether the environment's own state was saved, or the record that leads there."""


class RestoreRequest(Struct, forbid_unknown_fields=True):
    """Takes the session to a saved point; its answer is like a reset's, with the observation there."""

    snapshot_id: str
    start_index: Index | None = None
    """The client's number of this start, growing within the session: then it is executed once."""


class ForkRequest(Struct, forbid_unknown_fields=True):
    """Opens `count` sessions that go on from where this one stands, or from a snapshot; all or none."""

    count: Annotated[int, Meta(ge=1, le=65_536)] = 1
    snapshot_id: str | None = None
    wait_s: Seconds | None = None
    request_id: RequestId | None = None
    """The client's random name of this request: sent again, it gets the sessions that it has opened."""


# -- batches ----------------------------------------------------------------------------------------


class StepItem(Struct, forbid_unknown_fields=True):
    """One step of a batch."""

    session_id: str
    action: Raw
    step_index: Index | None = None
    episode_id: str | None = None


class BatchStep(Struct, forbid_unknown_fields=True):
    """Steps of many sessions in one request."""

    steps: Annotated[list[StepItem], Meta(max_length=65_536)]
    autoreset: bool = False
    """Reset a session whose episode this step ends; its answer then holds both (`reset`). The seed of the
    next episode follows from the last one's; the options are the same, the task is drawn anew."""


class ResetItem(Struct, forbid_unknown_fields=True):
    """One reset of a batch."""

    session_id: str
    seed: Seed | None = None
    task: Task | str | None = None
    options: dict[str, Any] = {}
    start_index: Index | None = None
    """The client's number of this start, growing within the session: then it is executed once."""


class BatchReset(Struct, forbid_unknown_fields=True):
    """Resets of many sessions in one request."""

    resets: Annotated[list[ResetItem], Meta(max_length=65_536)]


class BatchClose(Struct, forbid_unknown_fields=True):
    """Sessions to close."""

    session_ids: Annotated[list[str], Meta(max_length=65_536)]


class Closed(Struct):
    """A session that is closed, now or already."""

    session_id: str
    closed: bool = True


class BatchResults(Struct):
    """One result an item, in the order of the request: the item's answer, or `{"error": …}`."""

    results: list[Raw]


# -- environments -----------------------------------------------------------------------------------


class EnvInfo(Struct):
    """One served environment."""

    name: str
    version: str
    summary: str
    action: dict[str, Any]
    """`{"description", "space"}`."""
    observation: dict[str, Any]
    splits: dict[str, dict[str, Any]]
    """Name to `{"description", "tasks"}`; `tasks` is a count, null where the environment lists none."""
    limits: dict[str, float]
    config: dict[str, Any]
    data: dict[str, Any] | None
    """`{"name", "digest", …}` of the data the environment runs on."""
    replicas: dict[str, int]
    """`{"total", "free", "queued"}`: queued counts callers that wait."""
    workers: int
    isolation: str
    """`conda`: a prefix built from the spec's locks; `venv`: its locked PyPI packages in a plain virtual
    environment; `host`: the hub's own interpreter."""
    lock_digest: str | None
    """Digest of the lock that was built from; null on the host."""
    native_snapshot: bool
    render: bool
    conda_locked: bool = False
    """Whether every package is the locked one, interpreter and native packages too; of `conda` only."""


class EnvList(Struct):
    """Every served environment."""

    envs: list[EnvInfo]


class TaskList(Struct):
    """A page of tasks, never their answers."""

    split: str
    total: int
    offset: int
    tasks: list[Raw]


# -- stream -----------------------------------------------------------------------------------------


class StreamStep(StepItem, tag_field="op", tag="step", kw_only=True):
    """Takes one step."""

    id: int


class StreamOpen(OpenRequest, tag_field="op", tag="open", kw_only=True):
    """Opens sessions."""

    id: int
    env: str


class StreamReset(ResetItem, tag_field="op", tag="reset", kw_only=True):
    """Starts an episode."""

    id: int


class _OfSession(Struct, forbid_unknown_fields=True):
    id: int
    session_id: str


class StreamClose(_OfSession, tag_field="op", tag="close"):
    """Closes a session."""


class StreamKeepalive(_OfSession, tag_field="op", tag="keepalive"):
    """Renews a session."""


class StreamState(_OfSession, tag_field="op", tag="state"):
    """Asks where a session stands."""


class StreamTrajectory(_OfSession, tag_field="op", tag="trajectory"):
    """Asks for the current episode so far."""


class StreamSnapshot(_OfSession, tag_field="op", tag="snapshot"):
    """Saves where a session's episode stands."""


class StreamRestore(RestoreRequest, tag_field="op", tag="restore", kw_only=True):
    """Takes a session to a saved point."""

    id: int
    session_id: str


class StreamFork(ForkRequest, tag_field="op", tag="fork", kw_only=True):
    """Opens sessions that go on from where a session stands."""

    id: int
    session_id: str


StreamMessage = (
    StreamStep
    | StreamOpen
    | StreamReset
    | StreamClose
    | StreamKeepalive
    | StreamState
    | StreamTrajectory
    | StreamSnapshot
    | StreamRestore
    | StreamFork
)
"""Any message of the stream: an `id`, the `op`, and the fields of the operation's HTTP call."""
