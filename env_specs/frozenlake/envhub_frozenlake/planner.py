"""A planner: the shortest way over the ice, read off what an agent sees.

It needs the standard library only.
"""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

MOVES = {"left": (0, -1), "down": (1, 0), "right": (0, 1), "up": (-1, 0)}

_Cell = tuple[int, int]


class Planner:
    """Goes a shortest way to the goal, planned anew at each step.

    Call it with an observation and the info that came with it; it returns the next move. It reads the
    observation and nothing else.

    Attributes:
        thought: Why it made its last move, in words; empty for a random one.

    Args:
        random_moves: The share of moves that it draws, evenly from all four, from 0 to 1.
        seed: Seed of the draws.

    Raises:
        ValueError: The share is not from 0 to 1.
    """

    def __init__(self, random_moves: float = 0.0, seed: int = 0) -> None:
        if not 0 <= random_moves <= 1:
            raise ValueError(f"random_moves is a share from 0 to 1, got {random_moves}")
        self._share = random_moves
        self._random = random.Random(seed)
        self.thought = ""

    def __call__(self, observation: str, info: Mapping[str, Any]) -> str:
        """Return the next move.

        Raises:
            ValueError: No player is to be found in the observation, or no way leads to the goal.
        """
        if self._random.random() < self._share:
            self.thought = ""
            return self._random.choice(list(MOVES))
        grid = read_grid(observation)
        way = shortest_way(grid)
        self.thought = _explain(grid, way)
        return way[0]


def read_grid(observation: str) -> list[list[str]]:
    """Return the rows of symbols that an observation shows, be it a grid or coordinates."""
    if not observation.startswith("size "):
        return [line.split() for line in observation.splitlines()]
    before, _, holes = observation.partition(" holes ")
    before, _, goals = before.partition(" goal ")
    size, _, player = before.removeprefix("size ").partition(" you ")
    rows, columns = (int(number) for number in size.split("x"))
    grid = [["_"] * columns for _ in range(rows)]
    for symbol, cells in (("O", holes.replace("none", "")), ("G", goals), ("P", player)):
        for cell in cells.split():
            row, column = cell.split(",")
            grid[int(row)][int(column)] = symbol
    return grid


def shortest_way(grid: Sequence[Sequence[str]]) -> list[str]:
    """Return the moves of a shortest way from the player to a goal, around holes.

    Of equally short ways it takes the first in the order of `MOVES`.

    Args:
        grid: Rows of symbols: "P" the player, "_" ice, "O" a hole, "G" the goal.

    Raises:
        ValueError: There is no player on the ice, or no way.
    """
    start = _find(grid, "P")
    came: dict[_Cell, tuple[_Cell, str]] = {}
    line = deque([start])
    while line:
        cell = line.popleft()
        if grid[cell[0]][cell[1]] == "G":
            return _back(cell, start, came)
        for move, (down, right) in MOVES.items():
            row, column = following = cell[0] + down, cell[1] + right
            inside = 0 <= row < len(grid) and 0 <= column < len(grid[row])
            if inside and grid[row][column] != "O" and following != start and following not in came:
                came[following] = cell, move
                line.append(following)
    raise ValueError("no way leads from the player to the goal: give the task another map")


def _back(cell: _Cell, start: _Cell, came: Mapping[_Cell, tuple[_Cell, str]]) -> list[str]:
    way = []
    while cell != start:
        cell, move = came[cell]
        way.append(move)
    return way[::-1]


def _find(grid: Sequence[Sequence[str]], symbol: str) -> _Cell:
    for row, line in enumerate(grid):
        if symbol in line:
            return row, list(line).index(symbol)
    raise ValueError(f"there is no {symbol!r} in the observation: this is not the grid of a running episode")


def _explain(grid: Sequence[Sequence[str]], way: Sequence[str]) -> str:
    (row, column), (goal_row, goal_column) = _find(grid, "P"), _find(grid, "G")
    parts = [
        f"{abs(distance)} {name}"
        for distance, name in (
            (goal_row - row, "down" if goal_row > row else "up"),
            (goal_column - column, "right" if goal_column > column else "left"),
        )
        if distance
    ]
    count = "1 move" if len(way) == 1 else f"{len(way)} moves"
    return f"The goal is {' and '.join(parts)}. A shortest way around the holes is {', '.join(way)}: {count}."
