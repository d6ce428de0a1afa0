"""The games there are: those of a folder in the official layout, or the embedded set."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Union

from envhub_alfworld import folder, generate
from envhub_alfworld.errors import DataError, UnknownTask
from envhub_alfworld.folder import SPLITS
from envhub_alfworld.game import Game
from envhub_alfworld.household import TASKS, Household

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
        left_out: How many games of the folder the original doesn't play, and why; empty for none.
        entries: Split to its games, ordered by the name of their trial: embedded and generated ones as they
            were made, the task types in turns.
    """

    def __init__(self, name: str, digest: str, entries: Iterable[Entry], left_out: str = "") -> None:
        self.name = name
        self.digest = digest
        self.left_out = left_out
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
        return json.dumps(generate.game(source)) if isinstance(source, Household) else source / folder.GAME

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
    return _of_folder(Path(data_dir).expanduser(), kept) if data_dir else _embedded(kept)


def _of_folder(place: Path, task_types: Sequence[str]) -> Library:
    contents = folder.read(place)
    digest = hashlib.sha256()
    entries = []
    for game in contents.games:
        if game.task_type in task_types:
            digest.update(f"{game.id}\n".encode() + game.digest)
            entries.append(Entry(game.id, game.split, game.task_type, game.folder))
    left_out = contents.summary()
    if folder.MISSING in contents.left_out:
        _log.warning("%s: left out, as published: %s", place, left_out)
    if not entries:
        kinds = "" if set(task_types) == set(TASKS) else f" of {', '.join(task_types)}"
        why = f"; left out, as published: {left_out}" if left_out else ""
        raise DataError(f"{place}: there are no games{kinds}{why}. {folder.NEXT}")
    return Library(str(place), f"sha256:{digest.hexdigest()}", entries, left_out)


def _embedded(task_types: Sequence[str]) -> Library:
    digest = hashlib.sha256()
    entries = []
    for split, household in generate.households(0, generate.SIZES):
        entry = Entry(f"{split}/{household.folder}", split, household.task.type, household)
        digest.update(f"{entry.id}\n{household.task.sentence}\n{generate.problem(household)}".encode())
        if entry.task_type in task_types:
            entries.append(entry)
    return Library("embedded", f"sha256:{digest.hexdigest()}", entries)


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
    root = out / folder.ROOT
    if any(root.glob("*/*/*")):
        raise DataError(f"{root}: there are games already. Name another folder, or remove them")
    for done, (split, household) in enumerate(generate.households(seed, sizes), 1):
        generate.write_game(root / split / household.folder, household)
        progress(done)
