"""The games there are: those of a folder in the official layout, or the embedded set."""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Union

from envhub_alfworld import generate
from envhub_alfworld.errors import DataError, UnknownTask
from envhub_alfworld.game import Game, parse
from envhub_alfworld.household import TASKS, Household

SPLITS = ("train", "valid_seen", "valid_unseen")
"""The splits of the official data."""

_FOLDER = "json_2.1.1"
_GAME = "game.tw-pddl"
_TRAJECTORY = "traj_data.json"
_TOLD = 3
"""How many files a message names."""
_log = logging.getLogger(__name__)
_Source = Union[Path, Household]


class Entry(NamedTuple):
    """A game of a library.

    Attributes:
        id: The task's id: the split and the game's folder, such as
            ``train/pick_and_place_simple-Mug-None-Desk-308/trial_T20190908_093141_909791``.
        split: Its split.
        task_type: One of the six task types.
        source: Its folder, or the household it is made of.
    """

    id: str
    split: str
    task_type: str
    source: _Source


class Library:
    """Games by split, in a fixed order.

    Attributes:
        name: ``embedded`` or the folder.
        digest: ``sha256:`` and the digest over the ids and contents of all games.
        entries: Split to its games, ordered by id in a folder, by number in the embedded set.
    """

    def __init__(self, name: str, digest: str, entries: Iterable[Entry]) -> None:
        self.name = name
        self.digest = digest
        self.entries: dict[str, list[Entry]] = {split: [] for split in SPLITS}
        for entry in entries:
            self.entries[entry.split].append(entry)
        self._ids = {entry.id: entry for split in self.entries.values() for entry in split}
        self._tasks = {split: [_task(entry) for entry in entries] for split, entries in self.entries.items()}

    @property
    def usual_split(self) -> str:
        """The first split that has games: what is drawn from where no split is asked for."""
        return next(split for split, entries in self.entries.items() if entries)

    def tasks(self, split: str) -> Sequence[dict[str, Any]]:
        """Return the tasks of a split: id, split and task type.

        Raises:
            UnknownTask: There is no such split.
        """
        if not isinstance(split, str) or split not in self.entries:
            raise UnknownTask(f"there is no split {split!r}. The splits are {', '.join(SPLITS)}")
        return self._tasks[split]

    def task(self, task_id: Any) -> dict[str, Any]:
        """Return the task of an id.

        Raises:
            UnknownTask: There is no such task.
        """
        return _task(self._entry(task_id))

    def game(self, task_id: str) -> Game:
        """Return a game; one that was played lately is not read, or made, again.

        Raises:
            UnknownTask: There is no such task.
            DataError: Its file can't be played.
        """
        source = self._entry(task_id).source
        return _made(source) if isinstance(source, Household) else Game.load(source)

    def file(self, task_id: str) -> Path | str:
        """Return the file of a game, or the text of one that is in no file.

        Raises:
            UnknownTask: There is no such task.
        """
        source = self._entry(task_id).source
        return json.dumps(generate.game(source)) if isinstance(source, Household) else source / _GAME

    def _entry(self, task_id: Any) -> Entry:
        entry = self._ids.get(task_id) if isinstance(task_id, str) else None
        if entry is None:
            raise UnknownTask(f"{self.name}: there is no task {task_id!r}. tasks(split) lists them")
        return entry

    def counts(self) -> dict[str, dict[str, int]]:
        """Return the number of games by split and task type."""
        return {
            split: {kind: sum(entry.task_type == kind for entry in entries) for kind in TASKS}
            for split, entries in self.entries.items()
        }


def _task(entry: Entry) -> dict[str, Any]:
    return {"id": entry.id, "split": entry.split, "task_type": entry.task_type}


@lru_cache(maxsize=1024)
def _made(household: Household) -> Game:
    return Game(Path(household.folder), generate.game(household))


def open_library(data_dir: str = "", task_types: Sequence[str] = ()) -> Library:
    """Return the games of a folder, or the embedded ones.

    Args:
        data_dir: ``$ALFWORLD_DATA``, or its ``json_2.1.1``, or a split's folder in it, or any folder with
            games below it, which count as ``train`` where no split is named; empty for the embedded set.
        task_types: The task types to keep; none of them for all.

    Raises:
        DataError: A task type is unknown, there are no games, or a game's file is missing or damaged.
    """
    unknown = sorted(set(task_types) - set(TASKS))
    if unknown:
        raise DataError(f"task_types: there is no {unknown[0]!r}. The task types are {', '.join(TASKS)}")
    kept = tuple(task_types) or tuple(TASKS)
    return _read(Path(data_dir).expanduser(), kept) if data_dir else _embedded(kept)


def _embedded(task_types: Sequence[str]) -> Library:
    digest = hashlib.sha256()
    entries = []
    for split, household in generate.households(0, generate.SIZES):
        entry = Entry(f"{split}/{household.folder}", split, household.task.type, household)
        digest.update(f"{entry.id}\n{household.task.sentence}\n{generate.problem(household)}".encode())
        if entry.task_type in task_types:
            entries.append(entry)
    return Library("embedded", f"sha256:{digest.hexdigest()}", entries)


def _read(folder: Path, task_types: Sequence[str]) -> Library:
    """Find the games of a folder: the same ones that the original plays."""
    root = folder / _FOLDER if (folder / _FOLDER).is_dir() else folder
    if not root.is_dir():
        raise DataError(f"data_dir: there is no folder {folder}. {_NEXT}")
    split = any((root / name).is_dir() for name in SPLITS)
    itself = Path(os.path.abspath(root)).name
    whole = itself if itself in SPLITS else "train"
    digest = hashlib.sha256()
    entries, without, problems = [], [], []
    for place in _places(root):
        named = place.parts[0] if split else whole
        kind = place.parent.name.partition("-")[0]
        if named not in SPLITS or kind not in task_types or re.search("movable|Sliced", str(place)):
            continue
        if not (root / place / _GAME).exists():
            without.append(str(root / place))
            continue
        try:
            content = _solvable(root / place)
        except DataError as reason:
            problems.append(str(reason))
            continue
        if content is not None:
            task_id = str(place) if split else f"{whole}/{place}"
            digest.update(f"{task_id}\n".encode() + content)
            entries.append(Entry(task_id, named, kind, root / place))
    if problems:
        raise DataError(f"{_listed(problems, 'games are damaged')}. {_MEND}")
    if without:
        _log.warning("%s", _listed([f"{one}: there is no {_GAME}" for one in without], "games are left out"))
    if not entries:
        raise DataError(f"{folder}: there are no games of {', '.join(task_types)}. {_NEXT}")
    return Library(str(folder), f"sha256:{digest.hexdigest()}", entries)


def _places(root: Path) -> list[Path]:
    """Return the folders below a folder that have a file of a game, in order."""
    found = (Path(folder) for folder, _, files in os.walk(root) if not {_GAME, _TRAJECTORY}.isdisjoint(files))
    return sorted(folder.relative_to(root) for folder in found)


def _solvable(folder: Path) -> bytes | None:
    """Return the content of a game's file, None of a game that is not marked as solvable.

    Raises:
        DataError: It, or the file beside it, is missing or damaged; says which and how.
    """
    content = _content(folder / _GAME)
    game = parse(folder / _GAME, content)
    if not game.get("solvable"):
        return None
    for part in ("pddl_domain", "pddl_problem", "grammar"):
        if not isinstance(game.get(part), str):
            raise DataError(f"{folder / _GAME}: has no text {part!r}")
    parse(folder / _TRAJECTORY, _content(folder / _TRAJECTORY))
    return content


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: can't be read: {error.strerror}") from error


def _listed(problems: Sequence[str], many: str) -> str:
    if len(problems) == 1:
        return problems[0]
    more = f"; and {len(problems) - _TOLD} more" if len(problems) > _TOLD else ""
    return f"{len(problems)} {many}: {'; '.join(problems[:_TOLD])}{more}"


_MEND = "Fetch or generate the games again, or remove the folder of a game that you don't want"
_NEXT = (
    f"A game is a folder with traj_data.json and {_GAME}, below the splits {', '.join(SPLITS)}. Get the"
    " official ones with `envhub data fetch alfworld`, or leave data_dir empty for the embedded set"
)


def write(
    out: Path, seed: int, sizes: dict[str, int], progress: Callable[[int], None] = lambda done: None
) -> None:
    """Write generated games in the official layout.

    Args:
        out: The folder; the games go to ``json_2.1.1`` in it.
        seed: The seed. With seed 0 and the usual sizes these are the games of the embedded set.
        sizes: Split to the number of its games.
        progress: Is told how many are written.

    Raises:
        DataError: The folder has games already.
    """
    root = out / _FOLDER
    if any(root.glob("*/*/*")):
        raise DataError(f"{root}: there are games already. Name another folder, or remove them")
    for done, (split, household) in enumerate(generate.households(seed, sizes), 1):
        generate.write_game(root / split / household.folder, household)
        progress(done)
