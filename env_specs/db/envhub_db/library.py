"""All tasks of a data set, by split and by name. A task is made when it is played."""

from __future__ import annotations

import difflib
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from envhub_db.errors import InvalidOptions, UnknownTask
from envhub_db.task import Task

SPLITS = ("train", "validation", "test")


@dataclass(frozen=True)
class Entry:
    """A task of a library.

    Attributes:
        id: Its name, the same in every version of the data.
        split: Where it belongs.
        type: See `Task`.
        level: 1 (one condition) to 3 (several steps); 0: not known.
        make: Makes it; the same one each time.
    """

    id: str
    split: str
    type: str
    level: int
    make: Callable[[], Task]

    def listed(self) -> dict[str, Any]:
        """Return what a list of tasks says of it: nothing of the answer."""
        listed: dict[str, Any] = {"id": self.id, "split": self.split, "type": self.type}
        return {**listed, "level": self.level} if self.level else listed


class Library:
    """The tasks that replicas share.

    Args:
        name: What the data set is called.
        digest: Of all that its tasks are, answers included.
        entries: Its tasks, in order.
        left_out: Tasks of the data that can't be played, with the reason.
    """

    def __init__(
        self, name: str, digest: str, entries: Iterable[Entry], left_out: Mapping[str, str] | None = None
    ) -> None:
        self.name = name
        self.digest = digest
        self.left_out = dict(left_out or {})
        self._entries = {entry.id: entry for entry in entries}
        self._splits: dict[str, list[Entry]] = {split: [] for split in SPLITS}
        for entry in self._entries.values():
            self._splits[entry.split].append(entry)

    def __len__(self) -> int:
        return len(self._entries)

    def split(self, split: str) -> Sequence[Entry]:
        """Return a split's tasks.

        Raises:
            UnknownTask: There is no such split.
        """
        if split not in self._splits:
            raise UnknownTask(f"there is no split {split!r}: there are {', '.join(SPLITS)}")
        return self._splits[split]

    def find(self, task: Any) -> Entry:
        """Return the task that a reset asks for.

        Raises:
            InvalidOptions: That is no task.
            UnknownTask: No task has its id, or it can't be played.
        """
        if not isinstance(task, dict) or not isinstance(task.get("id"), str):
            raise InvalidOptions(f'a task is an object with an id, such as {{"id": "…"}}, not {task!r:.80}')
        name = task["id"]
        if name in self.left_out:
            raise UnknownTask(f"the task {name!r} can't be played: {self.left_out[name]}")
        found = self._entries.get(name)
        if found is None:
            close = difflib.get_close_matches(name, self._entries, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise UnknownTask(f"there is no task {name!r}{hint}")
        return found

    def draw(self, split: str, seed: int | None) -> Entry:
        """Draw a task of a split.

        Raises:
            UnknownTask: There is no such split.
            InvalidOptions: It has no task.
        """
        entries = self.split(split)
        if not entries:
            sizes = ", ".join(f"{name} ({len(found)})" for name, found in self._splits.items() if found)
            raise InvalidOptions(f"the split {split!r} has no task here; there are: {sizes or 'none at all'}")
        return entries[random.Random(seed).randrange(len(entries))]


class Listing(Sequence[Any]):
    """What is told of a split's tasks, made when it is asked for.

    Args:
        entries: The tasks.
    """

    def __init__(self, entries: Sequence[Entry]) -> None:
        self._entries = entries

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, index: Any) -> Any:
        chosen = self._entries[index]
        return chosen.listed() if isinstance(chosen, Entry) else [entry.listed() for entry in chosen]
