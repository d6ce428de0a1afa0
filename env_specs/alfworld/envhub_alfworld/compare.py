"""Both engines side by side: the same commands, and the first difference between what they say."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from envhub_alfworld.data import Entry
from envhub_alfworld.errors import DataError
from envhub_alfworld.game import Game
from envhub_alfworld.original import Original, OriginalError, Turn
from envhub_alfworld.state import State

COMMANDS = 30
"""Random commands a game, after those of its walkthrough and again from the beginning."""
LIMIT_S = 300.0
"""How long the published engine may take for an answer, in seconds."""


class Difference(NamedTuple):
    """What the engines don't agree on.

    Attributes:
        commands: What had been typed since the reset.
        what: ``observation``, ``admissible_commands``, ``won`` or ``error``.
        native: What the native engine says; of commands those that the other has not.
        textworld: What the published engine says; of commands those that the other has not.
    """

    commands: list[str]
    what: str
    native: Any
    textworld: Any


class Comparison(NamedTuple):
    """How a game went.

    Attributes:
        game: The task's id.
        turns: How many observations were compared.
        difference: The first one, or None.
    """

    game: str
    turns: int
    difference: Difference | None


def compare(entries: list[Entry], python: str = "") -> Iterator[Comparison]:
    """Play games in both engines, native in the mode `faithful`, and yield how each went.

    Each game is played twice: its walkthrough to the win and on from there, and from the beginning again.
    Commands after the walkthrough are drawn from the admissible ones, with odd ones (other case, more blanks,
    names that don't exist) among them; the draw depends on the task's id alone.

    Args:
        entries: The games; from a folder.
        python: The interpreter that has the published packages; empty for the one that runs this.

    Raises:
        OriginalError: The published engine can't be started.
    """
    original = Original(python, LIMIT_S)
    original.start()
    try:
        for entry in entries:
            yield _compare_game(entry, original)
    finally:
        original.close()


def _compare_game(entry: Entry, original: Original) -> Comparison:
    assert isinstance(entry.source, Path), "embedded games are in no folder: write them out first"
    turns = 0
    try:
        game = Game.load(entry.source)
    except DataError as reason:
        return Comparison(entry.id, 0, Difference([], "error", str(reason), None))
    for walkthrough in (game.walkthrough, ()):
        typed: list[str] = []
        state = State(game)
        draw = random.Random(f"{entry.id} {len(walkthrough)}")
        try:
            difference = _differ(
                typed, state, state.introduction(), original.load(entry.source / "game.tw-pddl")
            )
            while difference is None and len(typed) < len(walkthrough) + COMMANDS:
                turns += 1
                done = len(typed)
                command = walkthrough[done] if done < len(walkthrough) else _draw(state, draw)
                typed.append(command)
                difference = _differ(typed, state, state.do(command), original.step(command))
        except OriginalError as reason:
            difference = Difference(typed, "error", None, str(reason))
        turns += 1
        if difference is not None:
            return Comparison(entry.id, turns, difference)
    return Comparison(entry.id, turns, None)


def _draw(state: State, draw: random.Random) -> str:
    command = draw.choice(state.commands())
    if draw.random() < 0.85:
        return command
    odd = (
        f" {command}  ",
        command.upper(),
        command.replace(" ", "  "),
        f"{command} 99",
        "go to nowhere 1",
        "",
    )
    return draw.choice(odd)


def _differ(typed: list[str], state: State, observation: str, turn: Turn) -> Difference | None:
    if observation != turn.observation:
        return Difference(typed, "observation", observation, turn.observation)
    ours, theirs = state.commands(), turn.commands
    if ours != theirs:
        only = [sorted(set(one) - set(other)) or one for one, other in ((ours, theirs), (theirs, ours))]
        return Difference(typed, "admissible_commands", *only)
    if state.won != turn.won:
        return Difference(typed, "won", state.won, turn.won)
    return None
