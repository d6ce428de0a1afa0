"""Writes programs, and the actions that make them."""

from __future__ import annotations

from collections.abc import Iterator

from envhub_kg.ontology import Ontology
from envhub_kg.program import Program, Subject
from envhub_kg.tools import NUMBER

X, Y = "{0}", "{1}"
"""Stand for the entities that a question speaks of."""


def hop(of: Subject, *relations: str) -> Program:
    """All that relations lead to, one after the other."""
    for relation in relations:
        of = ("JOIN", relation, of)
    assert not isinstance(of, str)
    return of


def both(one: Program, other: Program) -> Program:
    """What is in both."""
    return ("AND", one, other)


def count(of: Program) -> Program:
    """How many there are."""
    return ("COUNT", of)


def most(of: Program, attribute: str) -> Program:
    """The one with the largest value."""
    return ("ARGMAX", of, attribute)


def least(of: Program, attribute: str) -> Program:
    """The one with the smallest value."""
    return ("ARGMIN", of, attribute)


def filled(subject: Subject, names: tuple[str, ...]) -> Subject:
    """Return a program with entities for X and Y."""
    if isinstance(subject, str):
        return names[(X, Y).index(subject)] if subject in (X, Y) else subject
    return tuple(filled(part, names) for part in subject)


def operations(subject: Subject) -> list[str]:
    """Return all operations of a program."""
    if isinstance(subject, str):
        return []
    return [subject[0], *(operation for part in subject[1:] for operation in operations(part))]


def parts(subject: Subject, *wanted: str) -> Iterator[Program]:
    """Return the parts of a program that are of some operations."""
    if not isinstance(subject, str):
        if subject[0] in wanted:
            yield subject
        for part in subject[1:]:
            yield from parts(part, *wanted)


def actions(program: Program, ontology: Ontology) -> tuple[str, ...]:
    """Return the actions that make a program, the last variable for last.

    Raises:
        ValueError: The tools would refuse one.
    """
    made: list[str] = []
    types: list[str] = []

    def variable(type_: str, action: str) -> str:
        made.append(action)
        types.append(type_)
        return f"#{len(types) - 1}"

    def make(subject: Subject) -> str:
        if isinstance(subject, str):
            return subject
        operation = subject[0]
        if operation == "JOIN":
            of = make(subject[2])
            made.append(f"get_relations({of})")
            declared = ontology.relations[subject[1]]
            if of.startswith("#") and types[int(of[1:])] != declared.domain:
                raise ValueError(f"{subject[1]} of {types[int(of[1:])]}")
            return variable(declared.range, f"get_neighbors({of},{subject[1]})")
        if operation == "AND":
            one, other = make(subject[1]), make(subject[2])
            if types[int(one[1:])] != types[int(other[1:])]:
                raise ValueError(f"{types[int(one[1:])]} and {types[int(other[1:])]}")
            return variable(types[int(one[1:])], f"intersection({one},{other})")
        of = make(subject[1])
        if operation == "COUNT":
            return variable(NUMBER, f"count({of})")
        if types[int(of[1:])] != ontology.attributes[subject[2]].domain:
            raise ValueError(f"{subject[2]} of {types[int(of[1:])]}")
        made.append(f"get_attributes({of})")
        return variable(types[int(of[1:])], f"{operation.lower()}({of},{subject[2]})")

    make(program)
    return tuple(made)
