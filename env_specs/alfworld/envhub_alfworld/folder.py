"""Finds the games of a folder in the official layout: the same ones that the original plays."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from envhub_alfworld.errors import DataError
from envhub_alfworld.game import parse
from envhub_alfworld.household import TASKS

SPLITS = ("train", "valid_seen", "valid_unseen")
"""The splits of the official data."""
ROOT = "json_2.1.1"
"""The folder below ``$ALFWORLD_DATA`` that has the splits."""
GAME = "game.tw-pddl"
"""The file of a game that holds all that is needed to play it."""

MISSING = f"without {GAME}"
"""Why a folder is left out that should have been a game."""

_TRAJECTORY = "traj_data.json"
_SHOWN = 3
"""How many files a message names."""
_MEND = "Fetch or generate the games again, or remove the folder of a game that you don't want"


class Found(NamedTuple):
    """A game of a folder.

    Attributes:
        id: The split and the game's folder.
        split: Its split.
        task_type: One of the six task types.
        folder: Where its files are.
        digest: The SHA-256 of its ``game.tw-pddl``.
    """

    id: str
    split: str
    task_type: str
    folder: Path
    digest: bytes


class Contents(NamedTuple):
    """What is in a folder.

    Attributes:
        games: The games, by the name of their trial, then by id: the order in which generated ones were made.
        left_out: Why the original doesn't play the other ones, to their folders below the one that was read.
    """

    games: list[Found]
    left_out: dict[str, list[str]]

    def summary(self) -> str:
        """Return how many folders are left out and why, naming some that have no game; empty for none."""
        parts = []
        for reason, folders in self.left_out.items():
            names = f" ({listed(folders)})" if reason == MISSING else ""
            parts.append(f"{len(folders)} {reason}{names}")
        return ", ".join(parts)


def read(folder: Path) -> Contents:
    """Find the games of a folder.

    Args:
        folder: ``$ALFWORLD_DATA``, or its ``json_2.1.1``, or a split's folder in it, or any folder with games
            below it, which count as ``train`` where no split is named.

    Raises:
        DataError: There is no such folder, or the files of a game are damaged.
    """
    root = folder / ROOT if (folder / ROOT).is_dir() else folder
    if not root.is_dir():
        raise DataError(f"data_dir: there is no folder {folder}. {NEXT}")
    split = any((root / name).is_dir() for name in SPLITS)
    itself = Path(os.path.abspath(root)).name
    whole = itself if itself in SPLITS else "train"
    games: list[Found] = []
    left_out: dict[str, list[str]] = {}
    problems = []
    for place in _places(root):
        named = place.parts[0] if split else whole
        try:
            game = _game(root / place, str(place) if split else f"{whole}/{place}", named)
        except DataError as reason:
            problems.append(str(reason))
            continue
        if isinstance(game, str):
            left_out.setdefault(game, []).append(str(place))
        else:
            games.append(game)
    if problems:
        many = f"{len(problems)} games are damaged: " if len(problems) > 1 else ""
        raise DataError(f"{many}{listed(problems)}. {_MEND}")
    games.sort(key=lambda game: (game.folder.name, game.id))
    return Contents(games, dict(sorted(left_out.items(), key=lambda item: item[0] != MISSING)))


def listed(things: Sequence[str]) -> str:
    """Return some of many things in a line, and how many more there are."""
    more = f"; and {len(things) - _SHOWN} more" if len(things) > _SHOWN else ""
    return "; ".join(things[:_SHOWN]) + more


def _places(root: Path) -> list[Path]:
    """Return the folders below a folder that have a file of a game."""
    found = (Path(folder) for folder, _, files in os.walk(root) if not {GAME, _TRAJECTORY}.isdisjoint(files))
    return sorted(folder.relative_to(root) for folder in found)


def _game(folder: Path, task_id: str, split: str) -> Found | str:
    """Return the game of a folder, or why the original doesn't play it.

    Raises:
        DataError: Its file, or the one beside it, is missing or damaged; says which and how.
    """
    if split not in SPLITS:
        return "in none of the splits"
    if re.search("movable|Sliced", task_id):
        return "with movable receptacles or slices"
    if not (folder / GAME).exists():
        return MISSING
    content = _content(folder / GAME)
    game = parse(folder / GAME, content)
    if not game.get("solvable"):
        return "not marked as solvable"
    for part in ("pddl_domain", "pddl_problem", "grammar"):
        if not isinstance(game.get(part), str):
            raise DataError(f"{folder / GAME}: has no text {part!r}")
    kind = parse(folder / _TRAJECTORY, _content(folder / _TRAJECTORY)).get("task_type")
    if not isinstance(kind, str) or kind not in TASKS:
        return "of none of the six task types"
    return Found(task_id, split, kind, folder, hashlib.sha256(content).digest())


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: can't be read: {error.strerror}") from error


NEXT = (
    f"A game is a folder with {_TRAJECTORY} and {GAME}, below the splits {', '.join(SPLITS)}. Get the"
    " official ones with `envhub data fetch alfworld`, or leave data_dir empty for the embedded set"
)
"""What to do about a folder that has no games."""
