"""All tasks of a data set, by split and by name."""

from __future__ import annotations

import difflib
import hashlib
import json
import random
from collections.abc import Iterable, Sequence
from typing import Any

from envhub_kg.errors import DataError, InvalidOptions, UnknownTask
from envhub_kg.task import Task

SPLITS = ("train", "validation", "test")


class Library:
    """The tasks that replicas share.

    Args:
        tasks: Its tasks, in order.

    Raises:
        DataError: Two tasks have the same id.
    """

    def __init__(self, tasks: Iterable[Task]) -> None:
        self._tasks: dict[str, Task] = {}
        self._splits: dict[str, list[Task]] = {split: [] for split in SPLITS}
        digest = hashlib.sha256()
        for task in tasks:
            if task.id in self._tasks:
                raise DataError(f"two tasks have the id {task.id!r}")
            self._tasks[task.id] = task
            self._splits[task.split].append(task)
            told = (task.id, task.split, task.question, list(task.entities.items()), sorted(task.answers))
            digest.update(json.dumps(told).encode())
        self._digest = digest.hexdigest()

    def __len__(self) -> int:
        return len(self._tasks)

    def with_graph(self, graph: str) -> str:
        """Return a digest of the tasks, answers included, and of the graph whose digest this is."""
        return f"sha256:{hashlib.sha256(f'{self._digest} {graph}'.encode()).hexdigest()}"

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
