"""Measures one engine on one game, in a fresh process: started by `alfworld.py`, in either interpreter.

    python -I alfworld_engine.py native|original GAME_FOLDER < COMMANDS

COMMANDS is a JSON list. Prints JSON: CPU seconds of the load, of each reset and each step (with admissible
commands), bytes of the first replica and of a further one, and what was answered.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ANSWER = tuple[str, list[str], bool]
"""Observation, admissible commands, and whether the game is won."""


def rss() -> int:
    """The bytes of this process that are in memory."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.process_time()
    result = call()
    return time.process_time() - begin, result


class Native:
    """Rules of our own."""

    replicas = 1000
    resets = 50

    def __init__(self, folder: str) -> None:
        sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "env_specs" / "alfworld"))
        from envhub_alfworld.game import Game
        from envhub_alfworld.state import State

        self._load, self._state, self._folder = Game.load, State, folder

    def load(self) -> Any:
        """Read the game."""
        return self._load(self._folder)

    def reset(self, game: Any) -> tuple[Any, ANSWER]:
        """Begin it; returns what `step` takes, and the first answer."""
        state = self._state(game)
        return state, (state.introduction(), state.commands(), state.won)

    def step(self, state: Any, command: str) -> ANSWER:
        """Follow a command."""
        observation = state.do(command)
        return observation, state.commands(), state.won

    def points(self, state: Any) -> dict[str, list[float]]:
        """CPU seconds of forks, snapshots and restores, each the mean of 1,000."""
        saved = state.dump()
        calls: dict[str, Callable[[], Any]] = {
            "fork": state.copy,
            "snapshot": lambda: json.dumps(state.dump()),
            "restore": lambda: self._state.restore(state.game, saved),
        }
        return {
            name: [timed(lambda call=call: [call() for _ in range(1000)])[0] / 1000 for _ in range(5)]
            for name, call in calls.items()
        }


class Original:
    """The published packages, as `AlfredTWEnv` wraps them, without its step limit."""

    replicas = 3
    resets = 1

    def __init__(self, folder: str) -> None:
        import textworld
        from alfworld.agents.environment.alfred_tw_env import AlfredDemangler

        infos = textworld.EnvInfos(won=True, admissible_commands=True)
        game = str(Path(folder) / "game.tw-pddl")
        self._start = lambda: textworld.start(game, infos, wrappers=[AlfredDemangler()])

    def load(self) -> Any:
        """Read the game."""
        return self._start()

    def reset(self, game: Any) -> tuple[Any, ANSWER]:
        """Begin it; returns what `step` takes, and the first answer."""
        return game, self._answer(game.reset())

    def step(self, game: Any, command: str) -> ANSWER:
        """Follow a command."""
        return self._answer(game.step(command)[0])

    def points(self, game: Any) -> dict[str, list[float]]:
        """Return nothing: there are no snapshots."""
        return {}

    @staticmethod
    def _answer(state: Any) -> ANSWER:
        return state.feedback, state["admissible_commands"], bool(state["won"])


def main() -> None:
    name, folder = sys.argv[1:]
    commands: list[str] = json.load(sys.stdin)
    said = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # the planner prints
    engine: Native | Original = Native(folder) if name == "native" else Original(folder)
    before = rss()
    load, game = timed(engine.load)
    resets = [timed(lambda: engine.reset(game)) for _ in range(engine.resets)]
    state, answer = resets[-1][1]
    answers, steps = [answer], []
    for command in commands:
        spent, answer = timed(lambda command=command: engine.step(state, command))
        steps.append(spent)
        answers.append(answer)
    first = rss() - before
    points = engine.points(state)
    before = rss()
    others = []
    for _ in range(engine.replicas):
        other, _ = engine.reset(game if name == "native" else engine.load())
        for command in commands[:3]:
            engine.step(other, command)
        others.append(other)
    further = (rss() - before) / engine.replicas
    measured = {
        "load": [load],
        "reset": [spent for spent, _ in resets],
        "step": steps,
        **points,
        "first": [first],
        "further": [further],
    }
    json.dump({"measured": measured, "answers": answers}, said)


if __name__ == "__main__":
    main()
