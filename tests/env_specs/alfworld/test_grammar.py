"""Reading game files: PDDL, names and the grammar."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from envhub_alfworld.errors import DataError
from envhub_alfworld.game import Game
from envhub_alfworld.grammar import parse_text, read_grammar
from envhub_alfworld.names import names
from envhub_alfworld.pddl import Fact, read_problem
from envhub_alfworld.planner import plan
from envhub_alfworld.state import NOTHING, State

Data = dict[str, Any]


class Facts:
    """A world of given facts."""

    rank: Mapping[str, int] = {name: at for at, name in enumerate(["box 2", "box 1", "cat 1"])}

    def __init__(self, **facts: list[Fact]) -> None:
        self._facts = facts

    def facts(self, predicate: str, known: Sequence[str | None]) -> Iterable[Fact]:
        return self._facts.get(predicate, ())


LISTS = """
grammar :: \"\"\"
    {
        "task": [{"rhs": "do it"}],
        "list_empty": [{"rhs": "nothing"}],
        "list_separator": [{"rhs": ", "}],
        "list_last_separator": [{"rhs": ", and "}]
    }
\"\"\";
"""


def say(text: str, bound: Mapping[str, str] | None = None, **facts: list[Fact]) -> str:
    grammar, _ = read_grammar(LISTS)
    return grammar.say(parse_text(text), bound or {}, Facts(**facts))


@pytest.mark.parametrize(
    ("boxes", "words"),
    [
        ([], "nothing"),
        ([("box 1",)], "a box 1"),
        ([("box 1",), ("box 2",)], "a box 2, and a box 1"),
        ([("cat 1",), ("box 1",), ("box 2",)], "a box 2, a box 1, and a cat 1"),
    ],
)
def test_lists_are_in_order_and_in_words(boxes: list[Fact], words: str) -> None:
    assert say("I see [{o.indefinite + ' ' + o.name | seen(o:object)}].", seen=boxes) == f"I see {words}."


def test_a_query_joins_its_parts_and_binds_different_things() -> None:
    near: list[Fact] = [("box 1", "box 1"), ("box 1", "cat 1"), ("box 2", "cat 1")]
    text = "{x.name + '-' + y.name | near(x:object, y:object) & shut(x:object)}"
    assert say(text, near=near, shut=[("box 1",), ("box 2",)]) == "box 2-cat 1box 1-cat 1"
    assert say(text, {"y": "cat 1"}, near=near, shut=[("box 1",)]) == "box 1-cat 1"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('put the "big" mug', "put the big mug"),
        ("put it there; then stop", "put it there"),
        ("a <b> c", "a "),
        ("one\\ntwo", "one\ntwo"),
        ("\n\n lines", " lines"),
    ],
)
def test_texts_are_read_as_the_original_reads_them(text: str, said: str) -> None:
    assert say(text) == said


@pytest.mark.parametrize("text", ["{o.colour}", "{o.name * 2}", "{o.name | not_opened(o:object)}"])
def test_what_this_engine_does_not_know_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="the grammar"):
        parse_text(text)


def test_problems_are_read_without_case_and_comments() -> None:
    text = """(define (problem p) (:init ; (opened Lid)
        (Opened Fridge_bar_1) (= (distance loc_bar_1 Loc_bar_2) 3) (= (total-cost) 0) )
        (:goal (and (exists (?o - object) (isClean ?o)))))"""
    problem = read_problem(text)
    assert problem.facts["opened"] == [("fridge_bar_1",)]
    assert problem.facts["distance"] == [("loc_bar_1", "loc_bar_2")]
    assert problem.goal == [["and", ["exists", ["?o", "-", "object"], ["isclean", "?o"]]]]


@pytest.mark.parametrize("text", ["", "(:init (a b)", "(:goal (and)) (:init )", "(:init ) (:goal (and (a)"])
def test_broken_problems_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"there is no|not closed"):
        read_problem(text)


def test_things_are_numbered_from_their_count_down() -> None:
    assert names(["mug_bar_2", "sink_bar_1_bar_sinkbasin", "mug_bar_1", "sink_bar_1", "mugtype"]) == {
        "mug_bar_1": "mug 2",
        "mug_bar_2": "mug 1",
        "mugtype": "mugtype",
        "sink_bar_1": "sink 1",
        "sink_bar_1_bar_sinkbasin": "sinkbasin 1",
    }


# -- games -----------------------------------------------------------------------------------------


@pytest.fixture
def data(golden: Path) -> Data:
    """The content of a game file."""
    (path,) = golden.glob("json_2.1.1/*/*Fork-None-CounterTop-27/*/game.tw-pddl")
    content: Data = json.loads(path.read_text(encoding="utf-8"))
    return content


@pytest.fixture
def load(tmp_path: Path) -> Any:
    """Write a game file and load it."""

    def write(data: Data) -> Game:
        (tmp_path / "game.tw-pddl").write_text(json.dumps(data), encoding="utf-8")
        return Game.load(tmp_path)

    return write


def test_help_may_have_its_answer_in_place_of_a_rule(data: Data, load: Any) -> None:
    """So the official data since 0.4.0 has it, with real line breaks in the quotes."""
    head, _, _ = data["grammar"].partition("action help {")
    said = "\nAvailable commands:\n  look:    look around\n  go to (receptacle): move\n"
    data["grammar"] = f'{head}\naction help {{\n    template :: "help";\n    feedback :: "{said}";\n}}\n'
    assert State(load(data)).do("help") == said[1:]


def test_data_of_old_has_no_help_and_names_locations(golden: Path, golden_games: list[Game]) -> None:
    (old,) = [game for game in golden_games if "oldverbs" in str(game.folder)]
    state = State(old)
    assert state.do("help") == NOTHING
    assert state.do("go to fridge 1").startswith("You arrive at loc ")
    assert not {"help"} & set(state.commands())


def test_a_domain_without_the_slip_lets_visible_objects_be_examined(data: Data, load: Any) -> None:
    data["pddl_domain"] = data["pddl_domain"].replace(
        "(?l - location, ?r - receptacle)", "(?l - location ?r - receptacle)"
    )
    state = State(load(data))
    state.do("go to countertop 1")
    assert sum(command.startswith("examine") for command in state.commands()) > 1


def test_what_holds_at_first_is_taken_over(data: Data, load: Any) -> None:
    problem = read_problem(data["pddl_problem"])
    fridge = next(fact[0] for fact in problem.facts["receptacletype"] if fact[1] == "fridgetype")
    fork = next(fact[0] for fact in problem.facts["objecttype"] if fact[1] == "forktype")
    data["pddl_problem"] = data["pddl_problem"].replace(
        "(:init", f"(:init (opened {fridge}) (isClean {fork}) (isHot {fork})"
    )
    game = load(data)
    state = State(game)
    assert "The fridge 1 is open. In it" in state.do("go to fridge 1")
    (held,) = state.flags["isclean"]
    (place,) = [receptacle for receptacle in game.receptacles if held in state.inside[receptacle]]
    for command in (f"go to {place}", f"open {place}", f"take {held} from {place}"):
        state.do(command)
    assert state.do(f"examine {held}") == f"This is a hot and clean {held}."


def test_a_receptacle_without_a_location_is_never_reached(data: Data, load: Any) -> None:
    """Official problems have such; the original leaves them out of what is seen at first, too."""
    lines = data["pddl_problem"].split("\n")
    facts = [line for line in lines if line.startswith("(receptacleAtLocation CounterTop")]
    data["pddl_problem"] = "\n".join(line for line in lines if line not in facts)
    state = State(load(data))
    assert not any("countertop" in command for command in state.commands())
    assert "countertop" not in state.introduction().partition("Your task")[0]
    assert state.conditions() == (0, 1)
    assert plan(state) is None


@pytest.mark.parametrize(
    ("part", "old", "new", "words"),
    [
        ("pddl_domain", "(:action look", "(:action dance", "there is an action dance"),
        ("pddl_domain", "(:action look", "; (:action look", "there is no action look"),
        ("grammar", "action help {", "action hint {", "an action help that its grammar has no command for"),
        ("grammar", '"task"', '"deed"', 'no "task"'),
        ("grammar", "holdsany(a:agent)", "not_opened(a:agent)", "not_opened"),
        ("pddl_problem", "(objectType ?o ", "(isSliced ?o) (objectType ?o ", "none of the six kinds"),
        ("pddl_problem", "(:goal", "(:gaol", "no (:init"),
    ],
)
def test_a_game_that_can_not_be_played_says_why(
    part: str, old: str, new: str, words: str, data: Data, load: Any, tmp_path: Path
) -> None:
    assert old in data[part]
    data[part] = data[part].replace(old, new)
    with pytest.raises(DataError) as refused:
        load(data)
    assert words in str(refused.value)
    assert str(tmp_path / "game.tw-pddl") in str(refused.value)


def test_a_game_that_is_missing_or_lacks_a_part_is_named(data: Data, load: Any, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No such file"):
        Game.load(tmp_path / "nowhere")
    del data["grammar"]
    with pytest.raises(DataError, match="lacks 'grammar'"):
        load(data)
    (tmp_path / "game.tw-pddl").write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match="is no JSON, or not all of it"):
        Game.load(tmp_path)
