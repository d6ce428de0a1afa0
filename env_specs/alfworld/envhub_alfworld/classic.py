"""The published environment's own interface: a batch of games at a time, as `AlfredTWEnv.init_env` gives."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from envhub_alfworld.game import Game
from envhub_alfworld.state import State

Infos = dict[str, list[Any]]


class ClassicEnv:
    """Plays a batch of games, for programs that were written for the published environment.

    Every reset goes on to the next games. A game ends when it is won or after so many commands, of whatever
    kind; what is then asked of it is not done, and its last result is given again. In two things it differs:
    games come in the order given, where the published environment shuffles them, and no game has a planner.
    """

    def __init__(
        self, folders: Sequence[Path | str], batch_size: int = 1, max_nb_steps_per_episode: int = 50
    ) -> None:
        """Take the games of some folders.

        Args:
            folders: The games' folders; after the last one the first comes again.
            batch_size: How many games are played at a time.
            max_nb_steps_per_episode: The commands after which a game ends.
        """
        self._folders = itertools.cycle(folders)
        self._size = batch_size
        self._limit = max_nb_steps_per_episode
        self._states: list[State] = []
        self._observations: list[str] = []
        self._steps = 0

    def reset(self) -> tuple[tuple[str, ...], Infos]:
        """Begin the next games.

        Returns:
            The observations, and infos with ``won``, ``admissible_commands`` and ``extra.gamefile``.

        Raises:
            DataError: One of them can't be played.
        """
        self._states = [State(Game.load(folder)) for folder in itertools.islice(self._folders, self._size)]
        self._observations = [state.introduction() for state in self._states]
        self._steps = 0
        return tuple(self._observations), self._infos()

    def step(
        self, commands: Sequence[str]
    ) -> tuple[tuple[str, ...], tuple[int, ...], tuple[bool, ...], Infos]:
        """Follow a command in each game.

        Returns:
            The observations, scores (1: won), whether each game has ended, and infos as at a reset.
        """
        for at, (state, command) in enumerate(zip(self._states, commands)):
            if self._steps < self._limit and not state.won:
                self._observations[at] = state.do(command)
        self._steps += 1
        won = [state.won for state in self._states]
        dones = tuple(one or self._steps >= self._limit for one in won)
        return tuple(self._observations), tuple(map(int, won)), dones, self._infos()

    def _infos(self) -> Infos:
        return {
            "won": [state.won for state in self._states],
            "admissible_commands": [state.commands() for state in self._states],
            "extra.gamefile": [str(state.game.folder / "game.tw-pddl") for state in self._states],
        }
