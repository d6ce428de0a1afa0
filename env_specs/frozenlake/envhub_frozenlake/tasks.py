"""Tasks: the published recipe for train and test maps, and the lists a hub pages through."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np

from envhub_frozenlake.errors import InvalidOptions

Task = dict[str, Any]

_SEED = 42
_SPLITS = ("train", "test")


class Tasks:
    """All tasks of both splits, drawn at once from NumPy's legacy generator with seed 42.

    The order of the draws decides the values: train seeds, test seeds, train sizes, test sizes, train
    chances, test chances. So the test split depends on how many train tasks there are.

    Args:
        train: Tasks in the train split.
        test: Tasks in the test split.
        map_max_size: Sizes are drawn from 2 up to, but not including, this.
    """

    def __init__(self, train: int = 10000, test: int = 100, map_max_size: int = 6) -> None:
        if train < 1 or test < 1:
            raise InvalidOptions(
                f"each split needs a task at least, got train_size {train} and test_size {test}"
            )
        if map_max_size < 3:
            raise InvalidOptions(f"map_max_size must be 3 or more (sizes are below it), got {map_max_size}")
        rng = np.random.RandomState(_SEED)
        seeds = rng.randint(0, 100000, train), rng.randint(0, 100000, test)
        sizes = rng.randint(2, map_max_size, train), rng.randint(2, map_max_size, test)
        chances = rng.uniform(0.6, 0.85, train), rng.uniform(0.6, 0.85, test)
        self.name = f"frozenlake-{train}-{test}-{map_max_size}"
        self._splits = {
            split: TaskList(split, seeds[index], sizes[index], chances[index])
            for index, split in enumerate(_SPLITS)
        }

    def split(self, name: str) -> TaskList:
        """Return a split's tasks.

        Raises:
            KeyError: there is no such split.
        """
        return self._splits[name]

    def find(self, task_id: str) -> Task:
        """Return the task that has this id, e.g. "test-7".

        Raises:
            KeyError: there is no such task.
        """
        split, _, index = task_id.partition("-")
        tasks = self._splits[split]
        if not index.isdecimal() or str(int(index)) != index or int(index) >= len(tasks):
            raise KeyError(task_id)
        return tasks[int(index)]

    def digest(self) -> str:
        """Return the SHA-256 over the ids and uids of all tasks in order, as "sha256:…"."""
        lines = "\n".join(f"{task['id']} {uid(task)}" for split in _SPLITS for task in self._splits[split])
        return "sha256:" + hashlib.sha256(lines.encode()).hexdigest()


class TaskList(Sequence[Task]):
    """One split: a sequence of tasks, each made when it is asked for."""

    def __init__(self, split: str, seeds: np.ndarray, sizes: np.ndarray, chances: np.ndarray) -> None:
        self._split = split
        self._seeds = seeds
        self._sizes = sizes
        self._chances = chances

    def __len__(self) -> int:
        return len(self._seeds)

    @overload
    def __getitem__(self, index: int) -> Task: ...
    @overload
    def __getitem__(self, index: slice) -> list[Task]: ...
    def __getitem__(self, index: int | slice) -> Task | list[Task]:
        if isinstance(index, slice):
            return [self._task(position) for position in range(*index.indices(len(self)))]
        position = index + len(self) if index < 0 else index
        if not 0 <= position < len(self):
            raise IndexError(f"no task {index}: the {self._split} split has {len(self)}")
        return self._task(position)

    def __iter__(self) -> Iterator[Task]:
        return map(self._task, range(len(self)))

    def _task(self, index: int) -> Task:
        return {
            "id": f"{self._split}-{index}",
            "split": self._split,
            "seed": int(self._seeds[index]),
            "size": int(self._sizes[index]),
            "p": float(self._chances[index]),
        }


def uid(task: Task) -> str:
    """Return the name a task has in the published files: "seed_size_p"."""
    return f"{task['seed']}_{task['size']}_{task['p']}"


def rows(tasks: TaskList) -> dict[str, tuple[Any, ...]]:
    """Return the columns of the published parquet file: seed, size, p, index, uid."""
    return {
        "seed": tuple(task["seed"] for task in tasks),
        "size": tuple(task["size"] for task in tasks),
        "p": tuple(task["p"] for task in tasks),
        "index": tuple(range(len(tasks))),
        "uid": tuple(uid(task) for task in tasks),
    }
