"""A game in the published engine, with the native one following along."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from envhub_alfworld.game import Game
from envhub_alfworld.original import Original
from envhub_alfworld.state import State


class FollowedState(State):
    """A game that the published engine plays.

    Observations, admissible commands and whether it is won are what that engine says. What it doesn't tell,
    the goal's conditions and the expert's plan, is read off a native state that follows the same commands. A
    snapshot is the commands so far.

    Args:
        game: The game.
        file: The game's file, or the text of one.
        original: The published engine; this game is under way in it until it loads another.
    """

    __slots__ = ("_original", "_turn", "_typed")

    def __init__(self, game: Game, file: Path | str, original: Original) -> None:
        super().__init__(game)
        self._original = original
        self._turn = original.load(file)
        self._typed: list[str] = []

    @property
    def won(self) -> bool:
        """Whether the goal holds now."""
        return self._turn.won

    def introduction(self) -> str:
        """Return what the engine said first."""
        return self._turn.observation

    def commands(self) -> list[str]:
        """Return the admissible commands."""
        return self._turn.commands

    def do(self, command: str) -> str:
        """Follow a command and return what is seen.

        Raises:
            OriginalError: The engine failed.
        """
        self._turn = self._original.step(command)
        super().do(command)
        self._typed.append(command)
        return self._turn.observation

    def dump(self) -> dict[str, Any]:
        """Return the commands so far."""
        return {"typed": list(self._typed)}

    def follow(self, saved: Mapping[str, Any]) -> None:
        """Go to where `dump` was asked, from the beginning."""
        for command in saved["typed"]:
            self.do(command)
