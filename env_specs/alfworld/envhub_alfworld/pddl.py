"""Reading PDDL: the facts and the goal of a problem."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

Fact = tuple[str, ...]

_COMMENT = re.compile(r";[^\n]*")
_TOKEN = re.compile(r"[()]|[^\s()]+")
_FLAT = re.compile(r"\(([^()]*)\)")


class Problem(NamedTuple):
    """A PDDL problem.

    Attributes:
        facts: The arguments of every fact that holds at first, by predicate, in the order of the file.
        goal: The goal as nested lists of words.
    """

    facts: dict[str, list[Fact]]
    goal: list[Any]


def read_problem(text: str) -> Problem:
    """Read a PDDL problem. Symbols have no case in PDDL: all words are lower-cased.

    Values of functions, such as ``(= (distance a b) 3)``, count as a fact of the function.

    Raises:
        ValueError: The text has no ``:init`` or no ``:goal``, or its brackets don't match.
    """
    text = _COMMENT.sub("", text).lower()
    start = text.find("(:init")
    end = text.find("(:goal")
    if start < 0 or end < start:
        raise ValueError("there is no (:init ...) followed by a (:goal ...)")
    facts: dict[str, list[Fact]] = {}
    for flat in _FLAT.findall(text[start + len("(:init") : end]):
        predicate, *arguments = flat.split() or [""]
        facts.setdefault(predicate, []).append(tuple(arguments))
    goal = read_expression(text[end:])
    return Problem(facts, goal[1:])


def read_expression(text: str) -> list[Any]:
    """Return the first bracketed expression of a text as nested lists of words.

    Raises:
        ValueError: There is none, or it is not closed.
    """
    open_lists: list[list[Any]] = []
    for token in _TOKEN.findall(text):
        if token == "(":
            open_lists.append([])
        elif token == ")" and open_lists:
            done = open_lists.pop()
            if not open_lists:
                return done
            open_lists[-1].append(done)
        elif open_lists:
            open_lists[-1].append(token)
    raise ValueError("a bracket is not closed")


def operators(domain: str) -> dict[str, str]:
    """Return the text of each action of a PDDL domain, without comments, by its lower-cased name."""
    text = _COMMENT.sub("", domain).lower()
    found = {}
    for part in text.split("(:action")[1:]:
        name, _, body = part.strip().partition("\n")
        found[name.strip()] = " ".join(body.split())
    return found
