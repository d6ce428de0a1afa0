"""The expert wins from wherever a game stands, by the shortest way."""

import itertools
import random
import re
from pathlib import Path

import pytest
from envhub_alfworld import generate
from envhub_alfworld.data import Library
from envhub_alfworld.game import Game
from envhub_alfworld.household import arrange
from envhub_alfworld.planner import plan
from envhub_alfworld.state import State


def wander(state: State, steps: int, draw: random.Random) -> None:
    """Do things at random; rather anything than going about."""
    for _ in range(steps):
        commands = state.commands()
        deeds = [command for command in commands if not command.startswith(("go ", "look", "help", "inv"))]
        state.do(draw.choice(deeds if deeds and draw.random() < 0.6 else commands))


def win(state: State) -> int:
    """Let the expert play to the end; each plan has to be one command shorter than the one before."""
    expected = None
    for steps in itertools.count():
        commands = plan(state)
        assert commands is not None
        assert expected is None or len(commands) == expected
        if not commands:
            assert state.won
            return steps
        assert commands[0] in state.commands()
        state.do(commands[0])
        expected = len(commands) - 1
    raise AssertionError


@pytest.mark.parametrize("split", ["train", "valid_seen", "valid_unseen"])
def test_it_wins_every_game_of_the_shipped_set_from_random_states(library: Library, split: str) -> None:
    for entry in library.entries[split]:
        for steps in (0, 20, 60):
            state = State(library.game(entry.id))
            wander(state, steps, random.Random(f"{entry.id} {steps}"))
            win(state)


def test_it_wins_golden_games_from_random_states(golden_games: list[Game]) -> None:
    for game in golden_games:
        for steps in (0, 20, 60):
            state = State(game)
            wander(state, steps, random.Random(f"{game.folder.name} {steps}"))
            win(state)


def test_no_command_brings_the_win_nearer_than_the_plan_says(library: Library) -> None:
    """Where this holds in every state, no way is shorter than the plan; here in random ones."""
    for entry in list(itertools.chain(*library.entries.values()))[::3]:
        state = State(library.game(entry.id))
        wander(state, 30, random.Random(entry.id))
        commands = plan(state)
        assert commands is not None
        for command in state.commands():
            after = state.copy()
            after.do(command)
            following = plan(after)
            assert following is not None
            assert len(following) >= len(commands) - 1, (entry.id, command)


def test_without_a_way_there_is_no_plan() -> None:
    content = generate.game(arrange(0, "train", 0, "pick_and_place_simple"))
    problem = re.sub(r"\(canContain \w+ HandTowelType\)\n", "", content["pddl_problem"])
    assert problem != content["pddl_problem"]
    assert plan(State(Game(Path("x"), {**content, "pddl_problem": problem}))) is None
