"""The events of a record: one JSON line each. Times are microseconds, `time_us` since the epoch."""

from __future__ import annotations

from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

Isolation = Literal["conda", "venv", "host"]


class _Facts(Struct, kw_only=True):
    env: str
    env_version: str
    config: dict[str, Any]
    """Every setting of the environment."""
    limits: dict[str, int | float]
    lock_digest: str | None
    """Digest of the environment's locked dependencies; null where it runs on the hub's own."""
    data_digest: str | None
    labels: dict[str, str]
    isolation: Isolation = "host"
    """What it runs in."""
    conda_locked: bool = False
    """Whether all it runs on is locked, the interpreter too."""
    owner: str | None = None
    """Name of the token the session belongs to."""


class LastStart(Struct):
    """A start (reset or restore) that the client numbered, and what it was answered."""

    number: int
    asked: str
    """Digest of what was asked for."""
    answer: Raw


class Opened(_Facts, kw_only=True, tag_field="event", tag="opened"):
    """A session was opened."""

    session: str
    idle_timeout_s: float
    time_us: int
    last_start: LastStart | None = None
    """In a compacted log: the last one of the session."""


class Started(_Facts, kw_only=True, tag_field="event", tag="episode"):
    """An episode began: a reset, or a restore or fork, whose earlier steps then follow at once."""

    session: str
    episode: str
    seed: int
    task: Raw
    """The task that was asked for, or null."""
    options: Raw
    start: Raw
    """The environment's answer to the reset: observation and info."""
    time_us: int
    reset_us: int
    autoreset: bool = False
    """Whether it was begun by the last step of the session's episode before."""
    inherited: int = 0
    """How many of its steps were taken by the episode that it was forked or restored from."""
    next_index: int | None = None
    """With `total_reward` in a compacted log: where the episode stood when it was written down."""
    first_index: int = 0
    """Index of the first step that follows; above 0 where earlier ones are no longer kept."""
    total_reward: float = 0.0
    start_index: int | None = None
    """The client's number of the reset or restore."""
    asked: str | None = None
    """With it: digest of what was asked for."""


class Stepped(Struct, kw_only=True, tag_field="event", tag="step"):
    """A step was taken."""

    episode: str
    time_us: int
    step_us: int
    action: Raw
    answer: Raw
    """What the client was answered; `step_index` is in it."""


class Checkpoint(Struct, kw_only=True, tag_field="event", tag="checkpoint"):
    """A native snapshot was taken before step `index`."""

    episode: str
    index: int
    state: Raw


class SavedStep(Struct):
    """One step of a snapshot."""

    action: Raw
    answer: Raw


class Snapshotted(_Facts, kw_only=True, tag_field="event", tag="snapshot"):
    """A point of an episode was saved, in a state folder: the whole episode up to there."""

    snapshot: str
    episode: str
    seed: int
    task: Raw
    options: Raw
    start: Raw
    next_index: int
    total_reward: float
    steps: list[SavedStep]
    """The last ones up to there, as many as are kept."""
    base_index: int | None = None
    state: Raw = Raw(b"null")
    """A native snapshot, taken before step `base_index`."""
    time_us: int


class Failed(Struct, kw_only=True, tag_field="event", tag="failed"):
    """An episode failed: the environment raised an exception or took too long."""

    session: str
    episode: str | None
    """None: a reset failed, so there is no episode yet."""
    code: str
    message: str
    time_us: int


class Ended(Struct, kw_only=True, tag_field="event", tag="ended"):
    """A session ended."""

    session: str
    reason: str
    message: str
    time_us: int


class Renewed(Struct, kw_only=True, tag_field="event", tag="renewed"):
    """A session was kept alive without a step."""

    session: str
    time_us: int


class Compacted(Struct, kw_only=True, tag_field="event", tag="compacted"):
    """Whatever is before this line is said again after it, or no longer matters."""

    time_us: int


class Dropped(Struct, kw_only=True, tag_field="event", tag="dropped"):
    """Events are missing here: the disk took nothing for too long."""

    bytes: int
    time_us: int


Event = Opened | Started | Stepped | Checkpoint | Snapshotted | Failed | Ended | Renewed | Compacted | Dropped

decode = msgspec.json.Decoder(Event).decode
encode = msgspec.json.Encoder().encode
