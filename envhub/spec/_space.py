"""The spaces a spec may declare, in the form they have on the wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from envhub.spec._errors import listed, nearest

# type -> (required keys, optional keys)
SPACES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "Text": (("max_length",), ("min_length", "charset")),
    "Discrete": (("n",), ("start",)),
    "Box": (("low", "high", "shape", "dtype"), ()),
    "MultiDiscrete": (("nvec",), ("dtype",)),
    "MultiBinary": (("n",), ()),
    "Dict": (("spaces",), ()),
    "Tuple": (("spaces",), ()),
}


def complaint_about(space: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a declared space, or None when it is one.

    The type and the names of the keys are checked here, for nested spaces too; their values are checked
    where a space object is made of them.
    """
    kind = space.get("type")
    if kind not in SPACES:
        return f"unknown space type {kind!r}{nearest(str(kind), SPACES)}; allowed: {listed(SPACES)}"
    required, optional = SPACES[kind]
    for key in required:
        if key not in space:
            return f"a {kind} space needs {key!r}"
    for key in space:
        if key not in ("type", *required, *optional):
            allowed = (*required, *optional)
            return f"a {kind} space has no {key!r}{nearest(key, allowed)}; allowed: {listed(allowed)}"
    if kind in ("Dict", "Tuple"):
        return _complaint_about_parts(kind, space["spaces"])
    return None


def _complaint_about_parts(kind: str, spaces: object) -> str | None:
    expected = dict if kind == "Dict" else list
    if not isinstance(spaces, expected):
        return f"the spaces of a {kind} space must be {'a table' if kind == 'Dict' else 'an array'}"
    parts = spaces.values() if isinstance(spaces, dict) else spaces
    for part in parts:
        complaint = complaint_about(part) if isinstance(part, dict) else f"{part!r} is not a space"
        if complaint:
            return complaint
    return None
