"""Maps: how one is drawn from a seed, and which drawn ones are used.

A map is a tuple of rows; "S" is the start, "F" ice, "H" a hole, "G" the goal. The draws and the search
follow the generator that AgentScope-Tuner, Trinity-RFT and rLLM share, so that a (size, p, seed) gives the
same map here as there.
"""

from __future__ import annotations

import numpy as np

Map = tuple[str, ...]

_NEIGHBOURS = ((1, 0), (0, 1), (-1, 0), (0, -1))  # down, right, up, left, in the order they are pushed


def generator(seed: int | None) -> np.random.Generator:
    """Return the random generator that Gymnasium makes from this seed: PCG64 over a SeedSequence."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed)))


def draw_map(size: int, p: float, seed: int, max_steps: int) -> Map:
    """Draw boards until one can be crossed, and return it.

    Args:
        size: Rows and columns, at least 2.
        p: The chance of ice in each cell, 0 to 1.
        seed: Not negative; the same seed gives the same map.
        max_steps: The depth of the search that decides whether a board is used.
    """
    rng = generator(seed)
    while True:
        board = _draw_board(rng, size, p)
        if is_reachable(board, max_steps):
            return tuple("".join(row) for row in board)


def _draw_board(rng: np.random.Generator, size: int, p: float) -> list[list[str]]:
    board: list[list[str]] = rng.choice(["F", "H"], (size, size), p=[p, 1 - p]).tolist()
    start = goal = (0, 0)
    while start == goal:
        start = int(rng.integers(0, size)), int(rng.integers(0, size))
        goal = int(rng.integers(0, size)), int(rng.integers(0, size))
    board[start[0]][start[1]] = "S"
    board[goal[0]][goal[1]] = "G"
    return board


def is_reachable(board: list[list[str]], max_steps: int) -> bool:
    """Tell whether the original's search finds the goal from the start.

    It is a depth-first search that marks a cell when it is taken from the stack and gives up on cells more
    than `max_steps` deep. So it takes some boards whose shortest way is `max_steps + 1` and leaves out some
    with a short way that it reached by a detour first; both are part of which maps there are.
    """
    size = len(board)
    start = next((row, line.index("S")) for row, line in enumerate(board) if "S" in line)
    stack = [(start, 0)]
    visited = set()
    while stack:
        cell, steps = stack.pop()
        if steps > max_steps or cell in visited:
            continue
        visited.add(cell)
        for down, right in _NEIGHBOURS:
            row, column = cell[0] + down, cell[1] + right
            if not (0 <= row < size and 0 <= column < size):
                continue
            if board[row][column] == "G":
                return True
            if board[row][column] != "H":
                stack.append(((row, column), steps + 1))
    return False
