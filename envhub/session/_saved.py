"""Sessions in a log: what is found of those that were open when a hub died."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec

from envhub.pool import Pool
from envhub.record import (
    Checkpoint,
    Compacted,
    Ended,
    Event,
    Facts,
    Failed,
    Opened,
    Renewed,
    Snapshotted,
    Started,
    Stepped,
)
from envhub.session._episode import Episode
from envhub.session._starts import Numbered
from envhub.spec import runtime_words
from envhub.worker import frames


@dataclass(slots=True)
class SavedSession:
    """One session as its log tells it."""

    opened: Opened
    used_us: int
    """When it was last in use, in microseconds since the epoch; up to a quarter of its idle time late."""
    episodes: int = 0
    """How many it has begun."""
    episode: Episode | None = None
    before: Episode | None = None
    failure: tuple[str, str] | None = None
    """Code and message of what ended the current episode, or kept it from beginning."""
    last_start: tuple[Numbered, bytes] | None = None
    """The last start (reset or restore) that its client numbered, and the answer to it."""
    point_index: int = 0
    """Where its last numbered start left it, if that was a restore: the answer is known when it is there."""
    waiting: list[Callable[[], None]] = field(default_factory=list)
    """What was asked of it before it had a replica again."""
    damaged: bool = False
    """Whether steps are missing from the log, or can't be read."""

    @property
    def expired_by(self) -> int:
        """The time at which it has surely been idle for too long, in microseconds since the epoch."""
        return self.used_us + int(1.25e6 * self.opened.idle_timeout_s)


class _Ends(msgspec.Struct):
    step_index: int
    reward: float
    terminated: bool
    truncated: bool


_ends = msgspec.json.Decoder(_Ends)


def read_saved(events: Iterable[Event]) -> tuple[list[SavedSession], list[Snapshotted]]:
    """The sessions that no event ends, in the order in which they were opened, and the snapshots."""
    sessions: dict[str, SavedSession] = {}
    snapshots: dict[str, Snapshotted] = {}
    episodes: dict[str, SavedSession] = {}
    for event in events:
        match event:
            case Compacted():
                sessions.clear()
                episodes.clear()
                snapshots.clear()
            case Opened():
                sessions[event.session] = SavedSession(event, event.time_us, last_start=_last_start(event))
            case Started():
                saved = sessions.get(event.session)
                if saved is not None:
                    _start(saved, event)
                    episodes[event.episode] = saved
            case Stepped():
                saved = episodes.get(event.episode)
                if saved is not None:
                    saved.used_us = max(saved.used_us, event.time_us)
                    _step(saved, event)
            case Checkpoint():
                saved = episodes.get(event.episode)
                if saved is not None and saved.episode is not None and saved.episode.id == event.episode:
                    saved.episode.rebase(event.index, bytes(event.state))
            case Snapshotted():
                snapshots[event.snapshot] = event
            case Failed():
                if event.session in sessions:
                    sessions[event.session].failure = (event.code, event.message)
            case Renewed():
                if event.session in sessions:
                    saved = sessions[event.session]
                    saved.used_us = max(saved.used_us, event.time_us)
            case Ended():
                saved = sessions.pop(event.session, None)
                for episode in (saved.before, saved.episode) if saved else ():
                    if episode is not None:
                        episodes.pop(episode.id, None)
    return list(sessions.values()), list(snapshots.values())


def _last_start(event: Opened) -> tuple[Numbered, bytes] | None:
    last = event.last_start
    return None if last is None else (Numbered(last.number, last.asked), bytes(last.answer))


def _start(saved: SavedSession, event: Started) -> None:
    episode = Episode.from_event(event)
    if event.autoreset and saved.episode is not None and saved.episode.flags:
        saved.episode.amend(b'"reset":%b' % episode.reply())
    saved.before, saved.episode, saved.failure = saved.episode, episode, None
    saved.episodes = int(event.episode.rpartition(".")[2])
    saved.used_us = max(saved.used_us, event.time_us)
    saved.point_index = 0
    if event.start_index is not None and event.asked is not None:
        saved.last_start = Numbered(event.start_index, event.asked), episode.reply()
        saved.point_index = event.inherited


def _step(saved: SavedSession, event: Stepped) -> None:
    for episode in (saved.episode, saved.before):
        if episode is not None and episode.id == event.episode:
            try:
                ends = _ends.decode(event.answer)
            except (msgspec.MsgspecError, RecursionError):
                ends = None
            if ends is None or ends.step_index != episode.next_index:
                saved.damaged = True
                return
            flags = frames.TERMINATED * ends.terminated | frames.TRUNCATED * ends.truncated
            episode.keep(bytes(event.action), bytes(event.answer), flags)
            if episode.next_index == saved.point_index and saved.last_start is not None:
                saved.last_start = saved.last_start[0], episode.point()


def facts_of(pool: Pool, labels: dict[str, str], owner: str | None) -> Facts:
    """What a record says of a session's environment."""
    served, data = pool.served, pool.description.get("data") or {}
    return Facts(
        env=served.spec.name,
        env_version=served.spec.version,
        config=json.loads(json.dumps(dict(served.config), default=str)),
        limits={limit: getattr(served.limits, limit) for limit in served.limits.__slots__},
        isolation=served.runtime.isolation,
        conda_locked=served.runtime.conda_locked,
        lock_digest=served.runtime.lock_digest,
        data_digest=data.get("digest"),
        labels=labels,
        owner=owner,
    )


def changed(opened: Opened | Snapshotted, pool: Pool) -> str | None:
    """What of its environment is not as it was when a session was opened, or a snapshot taken."""
    now = facts_of(pool, opened.labels, opened.owner)
    if opened.lock_digest != now.lock_digest:
        before = runtime_words(opened.isolation, opened.lock_digest)
        return f"it ran in {before} and now runs in {pool.served.runtime}"
    for name in ("env_version", "data_digest", "config", "limits"):
        before, after = getattr(opened, name), getattr(now, name)
        if before != after:
            return f"its {name} was {before} and is {after}"
    return None
