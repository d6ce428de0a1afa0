"""FrozenLake as agents play it: text grids, moves in backticks, maps drawn from a published recipe."""

from envhub_frozenlake.env import FrozenLakeEnv
from envhub_frozenlake.tasks import Tasks

__all__ = ["FrozenLakeEnv", "Tasks"]
