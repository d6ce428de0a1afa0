"""Programs: how a variable is computed from entities. Nothing is computed before somebody asks.

A program is a nested tuple, in AgentBench's words:

    ("JOIN", relation, of)       what the relation leads to from the members of `of`, a program or an entity
    ("AND", one, other)          what is in both
    ("COUNT", of)                how many members there are
    ("ARGMAX", of, attribute)    all members whose attribute has the largest value of all; ("ARGMIN", …)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Union

Program = tuple[Any, ...]
Subject = Union[str, Program]
"""An entity's name, or a program."""

MAX_SIZE = 64
"""Operations in a program. AgentBench's questions take 9 at the most; an intersection of a variable with
itself doubles them."""


@dataclass(frozen=True)
class Variable:
    """A set that has not been computed.

    Attributes:
        type: Class of its members, as its last relation declares it.
        program: How it is computed.
    """

    type: str
    program: Program


def size(subject: Subject) -> int:
    """Count the operations of a program."""
    return 0 if isinstance(subject, str) else 1 + sum(size(part) for part in subject[1:])


def entities(subject: Subject) -> list[str]:
    """Return the entities that a program mentions, sorted."""
    return sorted(set(_entities(subject)))


def _entities(subject: Subject) -> list[str]:
    if isinstance(subject, str):
        return [subject]
    if subject[0] == "AND":
        return _entities(subject[1]) + _entities(subject[2])
    return _entities(subject[2] if subject[0] == "JOIN" else subject[1])


def counts(subject: Subject) -> bool:
    """Tell whether a count is anywhere in a program."""
    if isinstance(subject, str):
        return False
    return subject[0] == "COUNT" or any(counts(part) for part in subject[1:])


def written(subject: Subject) -> str:
    """Return a program as AgentBench writes it: `(JOIN film.film.director_inv m.01)`."""
    if isinstance(subject, str):
        return subject
    if subject[0] == "JOIN":
        return f"(JOIN {subject[1]}_inv {written(subject[2])})"
    return f"({subject[0]} {' '.join(map(written, subject[1:]))})"


def from_json(value: Any) -> Subject:
    """Return the program that became lists in a snapshot."""
    return tuple(from_json(part) for part in value) if isinstance(value, list) else value
