"""What sessions did, counted for the metrics."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Counts:
    """What happened since the hub started, by environment."""

    steps: Counter[str] = field(default_factory=Counter)
    resets: Counter[str] = field(default_factory=Counter)
    opened: Counter[str] = field(default_factory=Counter)
    points: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By environment and what was done: snapshot, restore, fork (one a new session)."""
    ended: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By environment and reason: session_closed, session_expired, session_lost."""
