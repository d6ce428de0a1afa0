"""What an agent sees of a map: the grid, or the same in coordinates."""

from __future__ import annotations

from collections.abc import Callable

from envhub_frozenlake.maps import Map

View = Callable[[Map, int, int], str]
"""Writes an observation from a map and the player's row and column."""

_SYMBOLS = {"S": "_", "F": "_", "H": "O", "G": "G"}
_PLAYER = {"S": "P", "F": "P", "H": "X", "G": "√"}


def grid(board: Map, row: int, column: int) -> str:
    """Write a line a row, each cell a space, its symbol, a space and a tab, as the original does."""
    return "\n".join(
        "".join(
            f" {(_PLAYER if (at, place) == (row, column) else _SYMBOLS)[cell]} \t"
            for place, cell in enumerate(line)
        )
        for at, line in enumerate(board)
    )


def coordinates(board: Map, row: int, column: int) -> str:
    """Write `size 3x3 you 0,1 goal 2,2 holes 1,1 2,0`: rows and columns, from 0, row first.

    Holes come in reading order, "none" where there are none. A player in a hole or on the goal has its
    coordinates.
    """
    cells = [(cell, f"{at},{place}") for at, line in enumerate(board) for place, cell in enumerate(line)]
    goals = " ".join(where for cell, where in cells if cell == "G")
    holes = " ".join(where for cell, where in cells if cell == "H") or "none"
    return f"size {len(board)}x{len(board[0])} you {row},{column} goal {goals} holes {holes}"


VIEWS: dict[str, View] = {"grid": grid, "coordinates": coordinates}
"""By the value of the setting `observation`."""
