"""What sessions did, counted for the metrics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Counts:
    """What happened since the hub started, by environment."""

    steps: Counter[str] = field(default_factory=Counter)
    resets: Counter[str] = field(default_factory=Counter)
    """Those that are asked for, and those that follow a last step by themselves."""
    opened: Counter[str] = field(default_factory=Counter)
    resumed: Counter[str] = field(default_factory=Counter)
    """Sessions of the hub before this one that go on."""
    episodes: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By environment and how they ended: terminated, truncated, failed, abandoned."""
    points: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By environment and what was done: snapshot, restore, fork (one a new session)."""
    ended: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By environment and reason: session_closed, session_expired, session_lost."""

    def episode_over(self, env: str, how: str) -> None:
        """Counts an episode that ended."""
        self.episodes[env, how] += 1
