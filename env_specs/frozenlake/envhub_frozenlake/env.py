"""The FrozenLake environment: one player, one map, four moves, no slipping."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Any

from envhub_frozenlake.actions import ACTIONS, parse
from envhub_frozenlake.errors import InvalidAction, InvalidOptions, UnknownTask
from envhub_frozenlake.maps import Map, draw_map, generator
from envhub_frozenlake.observations import VIEWS
from envhub_frozenlake.tasks import Task, TaskList, Tasks

MAX_SIZE = 32  # rows and columns of a map that a task may ask for

_OPTIONS = ("task", "split")
_TASK_KEYS = ("seed", "size", "p", "desc")
_MOVES = {"left": (0, -1), "down": (1, 0), "right": (0, 1), "up": (-1, 0)}
_CELLS = "SFHG"
_ENDINGS = {"H": "hole", "G": "success"}


class FrozenLakeEnv:
    """Walks a player from S to G on ice; a hole ends the episode.

    The reward is 1.0 for the move onto the goal and 0.0 for any other. Walking into the edge, or an action
    that is no move, leaves everything as it is but is a step all the same. `info` has, after each step:
    `valid_action` (the text held a move), `action_is_effective` (the player moved), `terminate_reason`
    ("success", "hole" or None), `success`, and `available_actions`.

    Args:
        shared: What `load_shared` returned; drawn from the other settings where it is None.
        train_size: Tasks in the train split.
        test_size: Tasks in the test split.
        map_max_size: Maps drawn for tasks are smaller than this.
        env_max_steps: How deep the search may go that decides which drawn maps are used.
        observation: What is seen: "grid" or "coordinates", see `envhub_frozenlake.observations`.
    """

    def __init__(
        self,
        *,
        shared: Tasks | None = None,
        train_size: int = 10000,
        test_size: int = 100,
        map_max_size: int = 6,
        env_max_steps: int = 8,
        observation: str = "grid",
    ) -> None:
        if env_max_steps < 0:
            raise InvalidOptions(f"env_max_steps must not be negative, got {env_max_steps}")
        if observation not in VIEWS:
            raise InvalidOptions(f"observation must be one of {', '.join(VIEWS)}, got {observation!r}")
        self._view = VIEWS[observation]
        self._tasks = shared or Tasks(train_size, test_size, map_max_size)
        self._env_max_steps = env_max_steps
        self._map: Map = ()
        self._row = self._column = 0

    @classmethod
    def load_shared(cls, config: dict[str, Any]) -> Tasks:
        """Draw the tasks once for all replicas."""
        return Tasks(config["train_size"], config["test_size"], config["map_max_size"])

    def tasks(self, split: str) -> TaskList:
        """Return a split's tasks, each {"id", "split", "seed", "size", "p"}."""
        try:
            return self._tasks.split(split)
        except (KeyError, TypeError):  # TypeError: something that is no key at all
            raise UnknownTask(f"no split {split!r}: there are train and test") from None

    def data_info(self) -> dict[str, str]:
        """Return the name and digest of the tasks."""
        return {"name": self._tasks.name, "digest": self._tasks.digest()}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode.

        Args:
            seed: Draws a task of the split where `options` has none; not negative.
            options: "task": a listed task, or just its id as {"id": "test-7"}, or any map as
                {"seed", "size", "p"} or as {"desc": ["SF", "HG"]}. "split": where to draw from ("train").

        Raises:
            UnknownTask: no task has the id, or there is no such split.
            InvalidOptions: the seed or the task cannot be used, or there is no such option.
        """
        options = options or {}
        for option in options:
            if option not in _OPTIONS:
                raise InvalidOptions(_no_option(option))
        task = options.get("task")
        if task is None:
            task = self._draw_task(seed, options.get("split", "train"))
        elif not isinstance(task, dict):
            raise InvalidOptions(f'a task is an object such as {{"id": "test-7"}}, not {task!r}')
        elif task.get("is_slippery"):
            raise InvalidOptions("task: is_slippery must be false: moves are certain in this environment")
        elif not task.keys() & _TASK_KEYS:
            task = self._find_task(task.get("id"))
        self._map = self._make_map(task)
        self._row, self._column = _start(self._map)
        return self.render(), {"task": task, "available_actions": list(ACTIONS)}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Make the move that the text asks for, or none where it asks for none.

        Raises:
            InvalidAction: the action is no text, there is no episode yet, or it is over.
        """
        if not isinstance(action, str):
            raise InvalidAction(f"an action is text, not {type(action).__name__}: {action!r}")
        if not self._map:
            raise InvalidAction("there is no episode yet: reset first")
        if self._map[self._row][self._column] in _ENDINGS:
            raise InvalidAction("the episode is over: reset to start another one")
        move = parse(action)
        effective = move is not None and self._move(*_MOVES[move])
        cell = self._map[self._row][self._column]
        info = {
            "valid_action": move is not None,
            "action_is_effective": effective,
            "terminate_reason": _ENDINGS.get(cell),
            "success": cell == "G",
            "available_actions": list(ACTIONS),
        }
        return self.render(), float(cell == "G"), cell in _ENDINGS, False, info

    def render(self) -> str:
        """Return what is seen."""
        return self._view(self._map, self._row, self._column)

    def available_actions(self) -> list[str]:
        """Return the four moves; none is ever forbidden."""
        return list(ACTIONS)

    def close(self) -> None:
        """Nothing is held, so nothing is released."""

    def get_state(self) -> dict[str, Any]:
        """Return the map and where the player stands."""
        return {"desc": list(self._map), "row": self._row, "column": self._column}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from a state that `get_state` of any FrozenLake environment returned."""
        self._map = tuple(state["desc"])
        self._row, self._column = state["row"], state["column"]

    def _move(self, down: int, right: int) -> bool:
        row, column = self._row + down, self._column + right
        if not (0 <= row < len(self._map) and 0 <= column < len(self._map[0])):
            return False
        self._row, self._column = row, column
        return True

    def _draw_task(self, seed: int | None, split: str) -> Task:
        if seed is not None and seed < 0:
            raise InvalidOptions(f"the seed must not be negative, got {seed}")
        tasks = self.tasks(split)
        return tasks[int(generator(seed).integers(len(tasks)))]

    def _find_task(self, task_id: object) -> Task:
        try:
            return self._tasks.find(str(task_id))
        except KeyError:
            counts = ", ".join(f"{s}-0 to {s}-{len(self._tasks.split(s)) - 1}" for s in ("train", "test"))
            raise UnknownTask(f"no task {task_id!r}: there are {counts}") from None

    def _make_map(self, task: Task) -> Map:
        if "desc" in task:
            return _checked_desc(task["desc"])
        seed: Any = task.get("seed")
        size: Any = task.get("size")
        p: Any = task.get("p")
        if type(seed) is not int or seed < 0:
            raise InvalidOptions(f"task: seed must be an integer that is not negative, got {seed!r}")
        if type(size) is not int or not 2 <= size <= MAX_SIZE:
            raise InvalidOptions(f"task: size must be an integer from 2 to {MAX_SIZE}, got {size!r}")
        if type(p) not in (int, float) or not 0 <= p <= 1:
            raise InvalidOptions(f"task: p must be a number from 0 to 1, got {p!r}")
        return draw_map(size, p, seed, self._env_max_steps)


def _no_option(option: object) -> str:
    if option == "is_slippery":
        return "there is no reset option 'is_slippery': moves are certain in this environment"
    close = difflib.get_close_matches(str(option), (*_OPTIONS, *_TASK_KEYS), n=1)
    within = " inside task" if close and close[0] in _TASK_KEYS else ""
    hint = f" (did you mean {close[0]!r}{within}?)" if close else ""
    return f"there is no reset option {option!r}{hint}: there are task and split"


def _start(board: Map) -> tuple[int, int]:
    return next((row, line.index("S")) for row, line in enumerate(board) if "S" in line)


def _checked_desc(desc: Sequence[str]) -> Map:
    rows = tuple(desc) if isinstance(desc, (list, tuple)) else ()
    if not rows or any(not isinstance(row, str) or len(row) != len(rows[0]) for row in rows):
        raise InvalidOptions(f"task: desc must be a list of equally long rows, got {desc!r}")
    if len(rows) > MAX_SIZE or len(rows[0]) > MAX_SIZE:
        raise InvalidOptions(f"task: desc must have at most {MAX_SIZE} rows and columns")
    cells = "".join(rows)
    if set(cells) - set(_CELLS) or cells.count("S") != 1 or "G" not in cells:
        raise InvalidOptions("task: desc must be of S, F, H and G, with one S and a G")
    return rows
