"""Saved points of episodes, kept for restores and forks."""

from __future__ import annotations

import secrets
from collections import OrderedDict
from dataclasses import dataclass

from envhub.session._caller import may_use
from envhub.session._episode import Episode
from envhub.session._errors import HubError

MAX_SNAPSHOTS = 10_000
"""Snapshots kept by a hub; beyond it the oldest is forgotten."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One saved point: an episode up to a step, which nobody continues."""

    id: str
    env: str
    episode: Episode
    owner: str | None


class Snapshots:
    """The snapshots of a hub."""

    def __init__(self) -> None:
        self._snapshots: OrderedDict[str, Snapshot] = OrderedDict()

    def __len__(self) -> int:
        return len(self._snapshots)

    def add(self, env: str, episode: Episode, owner: str | None) -> Snapshot:
        """Keeps a point, for the one to whom the session belongs."""
        snapshot = Snapshot(f"p-{secrets.token_hex(12)}", env, episode, owner)
        self._snapshots[snapshot.id] = snapshot
        if len(self._snapshots) > MAX_SNAPSHOTS:
            self._snapshots.popitem(last=False)
        return snapshot

    def find(self, snapshot_id: str, env: str) -> Snapshot:
        """The snapshot of that id.

        Raises:
            HubError: There is none, or it is one of another environment.
        """
        found = self._snapshots.get(snapshot_id)
        if found is None or not may_use(found.owner):
            raise HubError(
                "unknown_snapshot",
                f"no snapshot {snapshot_id!r}: the hub was started again since (they live in its "
                f"memory), {MAX_SNAPSHOTS} newer ones were taken, or it never was; take another one",
            )
        if found.env != env:
            raise HubError("unknown_snapshot", f"snapshot {snapshot_id!r} is of {found.env}, not of {env}")
        return found
