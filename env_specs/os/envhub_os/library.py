"""All tasks of a data set, by split and by name."""

from __future__ import annotations

import difflib
import hashlib
import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from envhub_os.errors import InvalidOptions, UnknownTask
from envhub_os.task import Task

SPLITS = ("train", "validation", "test")


class Library:
    """The tasks that replicas share.

    Args:
        name: What the data set is called.
        tasks: Its tasks, in order.
    """

    def __init__(self, name: str, tasks: Iterable[Task]) -> None:
        self.name = name
        self._tasks = {task.id: task for task in tasks}
        self._splits: dict[str, list[Task]] = {split: [] for split in SPLITS}
        for task in self._tasks.values():
            self._splits[task.split].append(task)

    def __len__(self) -> int:
        return len(self._tasks)

    def digest(self) -> str:
        """Return the digest of all that the tasks are, answers included."""
        content = json.dumps([asdict(task) for task in self._tasks.values()], sort_keys=True)
        return f"sha256:{hashlib.sha256(content.encode('utf-8', 'surrogatepass')).hexdigest()}"

    def split(self, split: str) -> Sequence[Task]:
        """Return a split's tasks.

        Raises:
            UnknownTask: There is no such split.
        """
        if split not in self._splits:
            raise UnknownTask(f"there is no split {split!r}: there are {', '.join(SPLITS)}")
        return self._splits[split]

    def find(self, task: Any) -> Task:
        """Return the task that a reset asks for.

        Raises:
            InvalidOptions: That is no task.
            UnknownTask: No task has its id.
        """
        if not isinstance(task, dict) or not isinstance(task.get("id"), str):
            raise InvalidOptions(f'a task is an object with an id, such as {{"id": "…"}}, not {task!r:.80}')
        found = self._tasks.get(task["id"])
        if found is None:
            close = difflib.get_close_matches(task["id"], self._tasks, n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise UnknownTask(f"there is no task {task['id']!r}{hint}")
        return found

    def draw(self, split: str, seed: int | None) -> Task:
        """Draw a task of a split.

        Raises:
            UnknownTask: There is no such split.
            InvalidOptions: It has no task.
        """
        tasks = self.split(split)
        if not tasks:
            sizes = ", ".join(f"{name} ({len(found)})" for name, found in self._splits.items() if found)
            raise InvalidOptions(f"the split {split!r} has no task here; there are: {sizes or 'none at all'}")
        return tasks[random.Random(seed).randrange(len(tasks))]


class Listing(Sequence[Any]):
    """What is told of a split's tasks, made when it is asked for.

    Args:
        tasks: The tasks.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks

    def __len__(self) -> int:
        return len(self._tasks)

    def __getitem__(self, index: Any) -> Any:
        chosen = self._tasks[index]
        return chosen.listed() if isinstance(chosen, Task) else [task.listed() for task in chosen]
