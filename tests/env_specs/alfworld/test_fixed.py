"""What the fixed mode does otherwise than the published environment."""

import pytest
from envhub_alfworld.game import Game
from envhub_alfworld.state import NOTHING, State


@pytest.fixture(scope="session")
def kitchen(golden_games: list[Game]) -> Game:
    """A kitchen where the potato is to be heated."""
    (game,) = [game for game in golden_games if "heat_then_place_in_recep-Potato" in str(game.folder)]
    return game


@pytest.fixture(scope="session")
def bedroom(golden_games: list[Game]) -> Game:
    """A game in which desk 1 and desk 2 are at one location."""
    (game,) = [game for game in golden_games if "Pencil-None-DeskLamp-314" in str(game.folder)]
    return game


def at(game: Game, *commands: str, fixed: bool) -> State:
    state = State(game, fixed=fixed)
    for command in commands:
        assert state.do(command) != NOTHING
    return state


def test_what_is_in_sight_can_be_examined(bedroom: Game) -> None:
    examine = "examine laptop 1"
    published, fixed = (at(bedroom, "go to desk 2", fixed=mode) for mode in (False, True))
    assert examine not in published.commands()
    assert published.do(examine) == NOTHING
    assert examine in fixed.commands()
    assert fixed.do(examine) == "There's nothing special about laptop 1."


def test_what_is_behind_a_closed_door_can_not_be_examined(golden_games: list[Game]) -> None:
    looked_into = 0
    for game in golden_games:
        for receptacle in game.receptacles:
            state = State(game, fixed=True)
            if receptacle not in game.able("openable") or not state.inside[receptacle]:
                continue
            state.do(game.verbs["gotolocation"].format(r=receptacle))
            hidden = {f"examine {thing}" for thing in state.inside[receptacle]}
            assert not hidden & set(state.commands())
            state.do(f"open {receptacle}")
            assert hidden <= set(state.commands())
            looked_into += 1
    assert looked_into > 10


@pytest.mark.parametrize("written", ["GO TO  desk 2", "\tgo   to Desk 2 ", "Go to desk 2"])
def test_capitals_and_blanks_do_not_count(bedroom: Game, written: str) -> None:
    assert State(bedroom).do(written) == NOTHING
    fixed = State(bedroom, fixed=True)
    assert fixed.do(written) == State(bedroom).do("go to desk 2")
    assert fixed.at == bedroom.place["desk 2"]


def test_going_where_one_stands_says_so(bedroom: Game) -> None:
    published, fixed = (at(bedroom, "go to desk 2", fixed=mode) for mode in (False, True))
    for desk in ("desk 1", "desk 2"):
        assert published.do(f"go to {desk}") == NOTHING
        assert f"go to {desk}" not in fixed.commands()
        assert fixed.do(f"Go to {desk}") == f"You are already at {desk}. {fixed.do(f'examine {desk}')}"
    assert fixed.do("go to drawer 1") != NOTHING
    assert fixed.do("go to nowhere 1") == NOTHING


def test_what_moved_between_neighbours_does_not_lie_beside_them(bedroom: Game) -> None:
    moved = ("go to desk 1", "take laptop 1 from desk 2", "move laptop 1 to desk 1")
    facing = "You are facing the desk 2, and desk 1. Next to it, you see"
    assert at(bedroom, *moved, fixed=False).do("look") == f"{facing} a laptop 1."
    assert at(bedroom, *moved, fixed=True).do("look") == f"{facing} nothing."


def test_everything_else_is_the_same(golden_games: list[Game]) -> None:
    """A walkthrough gives the same observations; the commands are the same but for more to examine."""
    for game in golden_games:
        published, fixed = State(game), State(game, fixed=True)
        assert fixed.introduction() == published.introduction()
        for command in game.walkthrough:
            assert fixed.do(command) == published.do(command)
            more = set(fixed.commands()) - set(published.commands())
            assert all(one.startswith("examine ") for one in more)
            assert set(published.commands()) <= set(fixed.commands())
        assert fixed.won
