"""A game: what never changes while it is played, and how it begins."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from envhub_alfworld import pddl
from envhub_alfworld.errors import DataError
from envhub_alfworld.goal import read_goal
from envhub_alfworld.grammar import Grammar, Text, Values, read_grammar
from envhub_alfworld.names import names
from envhub_alfworld.pddl import Fact

ACTIONS = {
    "look": ("a", "l"),
    "inventory": ("a",),
    "help": ("a",),
    "examinereceptacle": ("a", "r"),
    "examineobject": ("a", "o"),
    "gotolocation": ("a", "lstart", "lend", "r"),
    "openobject": ("a", "l", "r"),
    "closeobject": ("a", "l", "r"),
    "pickupobject": ("a", "l", "o", "r"),
    "putobject": ("a", "l", "o", "r"),
    "cleanobject": ("a", "l", "r", "o"),
    "heatobject": ("a", "l", "r", "o"),
    "coolobject": ("a", "l", "r", "o"),
    "toggleobject": ("a", "l", "o", "r"),
    "sliceobject": ("a", "l", "co", "ko"),
}
"""The actions of ALFWorld's domain (``alfred.pddl``) and their parameters, except types."""

FLAGS = ("opened", "isclean", "ishot", "iscool", "ison", "istoggled", "issliced")
"""What can be true of a single thing, and change."""

_COMMA = "exists (?l - location, ?r - receptacle)"
"""The slip in ``alfred.pddl`` that keeps ``examine`` from working on objects that are not held."""


class Game:
    """One game, read from its folder. Things are known by the names that players see, such as ``mug 2``.

    Attributes:
        folder: Where it was read from.
        task: The sentence that tells what to do, as the first observation has it.
        walkthrough: Commands that win it, as the file has them.
        goal: What wins it.
        grammar: Its sentences.
        verbs: The form of each action's command, for `str.format` with the action's parameters.
        rank: The place of each thing in the order in which things are listed.
        facts: The facts that hold at first, by predicate.
        agent: The name of the agent.
        receptacles: All receptacles that have a location, in order.
        place: The location of each receptacle.
        around: The receptacles at each location.
        kind: The type of each object and receptacle, such as ``mugtype``.
        examines_visible: Whether the domain lets objects be examined that are not held.
    """

    def __init__(self, folder: Path, data: Mapping[str, Any]) -> None:
        """Read a game from the JSON of its ``game.tw-pddl``; use `load`.

        Raises:
            KeyError: The JSON lacks a part of the game.
            ValueError: A part of it can't be read, or is not of ALFWorld's domain.
        """
        self.folder = folder
        self.walkthrough: tuple[str, ...] = tuple(data.get("walkthrough") or ())
        self.actions, self.examines_visible = _read_domain(data["pddl_domain"])
        self.grammar, self.task = read_grammar(data["grammar"])
        self.verbs = _verbs(self.grammar, self.actions)
        problem = pddl.read_problem(data["pddl_problem"])
        self.goal = read_goal(problem.goal)
        named = names(symbol for facts in problem.facts.values() for fact in facts for symbol in fact)
        self.rank = {name: at for at, name in enumerate(named.values())}
        self.facts: dict[str, list[Fact]] = {
            predicate: [tuple(named[symbol] for symbol in fact) for fact in facts]
            for predicate, facts in problem.facts.items()
        }
        ((self.agent, self.start),) = self.facts["atlocation"]
        self.place: dict[str, str] = {fact[0]: fact[1] for fact in self.facts["receptacleatlocation"]}
        self.receptacles = tuple(sorted(self.place, key=self.rank.__getitem__))
        self.around: dict[str, tuple[str, ...]] = {}
        for receptacle in self.receptacles:
            location = self.place[receptacle]
            self.around[location] = (*self.around.get(location, ()), receptacle)
        self.kind = {**_types(self.facts, "objecttype"), **_types(self.facts, "receptacletype")}
        self._of_type: dict[str, frozenset[str]] = {}
        for thing, kind in self.kind.items():
            self._of_type[kind] = self._of_type.get(kind, frozenset()) | {thing}
        self._able = {
            predicate: frozenset(fact[0] for fact in facts)
            for predicate, facts in self.facts.items()
            if all(len(fact) == 1 for fact in facts)
        }
        self._contains = frozenset(self.facts.get("cancontain", ()))
        self.go_to = [
            (self.place[receptacle], self.verbs["gotolocation"].format(r=receptacle), receptacle)
            for receptacle in self.receptacles
        ]

    @classmethod
    def load(cls, folder: Path | str) -> Game:
        """Read the game of a folder (``game.tw-pddl``); a game that was read lately is not read again.

        Raises:
            DataError: There is none, or it can't be played; says why.
        """
        return _load(str(folder))

    def of_type(self, kind: str) -> frozenset[str]:
        """Return the objects, or the receptacles, of a type."""
        return self._of_type.get(kind, frozenset())

    def able(self, predicate: str) -> frozenset[str]:
        """Return the things for which a predicate holds at first, such as ``heatable``."""
        return self._able.get(predicate, frozenset())

    def can_contain(self, receptacle: str, thing: str) -> bool:
        """Tell whether objects of a thing's type may be put into receptacles of a receptacle's type."""
        return (self.kind.get(receptacle), self.kind.get(thing)) in self._contains


@functools.lru_cache(maxsize=1024)
def _load(folder: str) -> Game:
    path = Path(folder) / "game.tw-pddl"
    try:
        return Game(Path(folder), parse(path, path.read_bytes()))
    except OSError as error:
        raise DataError(
            f"{path}: can't be read: {error.strerror}. Fetch or generate the games again"
        ) from error
    except KeyError as error:
        raise DataError(f"{path}: lacks {error}. It is no game of ALFWorld, or is not complete") from error
    except DataError:
        raise
    except ValueError as error:
        raise DataError(f"{path}: {error}. It can't be played") from error


def parse(path: Path, content: bytes) -> dict[str, Any]:
    """Return the JSON object of a game's file.

    Raises:
        DataError: It holds something else; says what.
    """
    if not content.strip(b"\0 \t\r\n"):
        raise DataError(f"{path}: is blank")
    try:
        data = json.loads(content)
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: is no text") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: is no JSON, or not all of it: {error}") from error
    if not isinstance(data, dict):
        raise DataError(f"{path}: holds a JSON {type(data).__name__}, not an object")
    return data


@functools.lru_cache(maxsize=8)
def _read_domain(domain: str) -> tuple[tuple[str, ...], bool]:
    """Return the names of a domain's actions, and whether visible objects can be examined."""
    operators = pddl.operators(domain)
    unknown = sorted(set(operators) - set(ACTIONS))
    missing = sorted(set(ACTIONS) - {"help"} - set(operators))
    if unknown or missing:
        raise ValueError(
            "its domain is not ALFWorld's: "
            + (f"there is an action {unknown[0]}" if unknown else f"there is no action {missing[0]}")
        )
    return tuple(operators), _COMMA not in operators["examineobject"]


def _verbs(grammar: Grammar, actions: Sequence[str]) -> dict[str, str]:
    missing = [action for action in actions if action not in grammar.actions]
    if missing:
        raise ValueError(f"its domain has an action {missing[0]} that its grammar has no command for")
    return {action: _form(grammar.actions[action].template) for action in actions}


def _form(template: Text) -> str:
    """Return a command's template for `str.format`; what a query adds to its variables is given anyway."""
    parts = []
    for part in template:
        if isinstance(part, str):
            parts.append(part)
        elif isinstance(part, Values) and isinstance(part.item, tuple):
            parts += [f"{{{term[0]}}}" if isinstance(term, tuple) else term for term in part.item]
        else:
            raise ValueError("the grammar has a command with a #symbol# in it")
    return "".join(parts)


def _types(facts: Mapping[str, Sequence[Fact]], predicate: str) -> dict[str, str]:
    return {fact[0]: fact[1] for fact in facts.get(predicate, ())}
