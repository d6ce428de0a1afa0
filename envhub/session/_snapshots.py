"""Saved points of episodes, kept for restores and forks."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from envhub.record import Facts, Snapshotted, fields_of, now_us
from envhub.session._caller import may_use
from envhub.session._episode import Episode
from envhub.session._errors import HubError

MAX_SNAPSHOTS = 10_000
"""Snapshots kept by a hub; beyond it the oldest is forgotten."""
MAX_STATE_BYTES = 2**30
"""What the native states of the snapshots may take up together; beyond it the oldest are forgotten."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One saved point: an episode up to a step, which nobody continues."""

    id: str
    env: str
    episode: Episode
    owner: str | None
    taken_us: int
    """When, in microseconds since the epoch."""

    @property
    def size(self) -> int:
        """Bytes of its native state."""
        base = self.episode.base
        return 0 if base is None else len(base[1])

    def line(self, facts: Facts) -> bytes:
        """The event of a state's log from which it is built again."""
        return b'{"event":"snapshot","snapshot":"%b",%b,%b,"time_us":%d}\n' % (
            self.id.encode(),
            fields_of(facts),
            self.episode.fields(),
            self.taken_us,
        )


class Snapshots:
    """The snapshots of a hub, and those of the hub before it."""

    def __init__(self) -> None:
        self._snapshots: OrderedDict[str, Snapshot] = OrderedDict()
        self._bytes = 0
        self.awaited: dict[str, Snapshotted] = {}
        """Of the hub before this one; their environments are not loaded yet."""
        self._lost: dict[str, tuple[str | None, str]] = {}
        """Whose it was and why it can't be gone to any more."""

    def __len__(self) -> int:
        return len(self._snapshots)

    def add(self, env: str, episode: Episode, owner: str | None) -> Snapshot:
        """Keeps a point, for the one to whom the session belongs."""
        return self._keep(Snapshot(f"p-{secrets.token_hex(12)}", env, episode, owner, now_us()))

    def _keep(self, snapshot: Snapshot) -> Snapshot:
        self._snapshots[snapshot.id] = snapshot
        self._bytes += snapshot.size
        while len(self._snapshots) > MAX_SNAPSHOTS or self._bytes > MAX_STATE_BYTES:
            self._bytes -= self._snapshots.popitem(last=False)[1].size
        return snapshot

    def adopt(self, event: Snapshotted, episode: Episode) -> None:
        """Keeps a point that was saved in the hub before this one."""
        del self.awaited[event.snapshot]
        self._keep(Snapshot(event.snapshot, event.env, episode, event.owner, event.time_us))

    def give_up(self, event: Snapshotted, reason: str) -> None:
        """Notes why nobody can go to a point any more."""
        del self.awaited[event.snapshot]
        self._lost[event.snapshot] = event.owner, reason

    def newest_first(self) -> Iterator[Snapshot]:
        """Every snapshot."""
        return iter(list(reversed(self._snapshots.values())))

    def find(self, snapshot_id: str, env: str) -> Snapshot:
        """The snapshot of that id.

        Raises:
            HubError: There is none, or it is one of another environment.
        """
        found = self._snapshots.get(snapshot_id)
        if found is None or not may_use(found.owner):
            raise self._missing(snapshot_id)
        if found.env != env:
            raise HubError("unknown_snapshot", f"snapshot {snapshot_id!r} is of {found.env}, not of {env}")
        return found

    def _missing(self, snapshot_id: str) -> HubError:
        awaited = self.awaited.get(snapshot_id)
        if awaited is not None and may_use(awaited.owner):
            return HubError("not_ready", f"snapshot {snapshot_id} is there when {awaited.env} is loaded")
        whose, reason = self._lost.get(snapshot_id, (None, ""))
        if reason and may_use(whose):
            return HubError(
                "unknown_snapshot",
                f"snapshot {snapshot_id} is of no use any more: the hub was started again and {reason}; take "
                "another one",
            )
        return HubError(
            "unknown_snapshot",
            f"no snapshot {snapshot_id!r}: it never was, newer ones took its place, or the hub "
            "was started again since, without a --state-dir or with more in it than is kept; take another",
        )
