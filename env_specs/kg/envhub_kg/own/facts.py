"""The graph as dictionaries, to make questions from. It answers them without a store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal

from envhub_kg.graph.declared import NAMESPACE
from envhub_kg.ontology import Ontology
from envhub_kg.program import Program, Subject, entities

_NUMBERS = ("integer", "decimal", "double", "gYear")


class Facts:
    """What leads where.

    Args:
        triples: The graph as N-Triples, as `graph.triples` returns it.
        ontology: What it is made of.

    Attributes:
        labels: Names of entities for people.
        classes: The entities of each class, sorted.
        types: The class of each entity.
    """

    def __init__(self, triples: bytes, ontology: Ontology) -> None:
        self._targets: dict[str, dict[str, list[str]]] = {name: {} for name in ontology.relations}
        self._values: dict[str, dict[str, str]] = {name: {} for name in ontology.attributes}
        self._ontology = ontology
        self.labels: dict[str, str] = {}
        self.types: dict[str, str] = {}
        classes: dict[str, list[str]] = defaultdict(list)
        skip = len(NAMESPACE) + 1
        for line in triples.decode().splitlines():
            subject, predicate, object_ = line[:-2].split(" ", 2)
            subject, name = subject[skip:-1], predicate[skip:-1]
            if name in self._targets:
                self._targets[name].setdefault(subject, []).append(object_[skip:-1])
            elif name in self._values:
                self._values[name][subject] = object_[1 : object_.index('"', 1)]
            elif predicate[1:-1] == ontology.label:
                self.labels[subject] = object_[1:-4].replace('\\"', '"')
            else:
                self.types[subject] = object_[skip:-1]
                classes[object_[skip:-1]].append(subject)
        self.classes: Mapping[str, Sequence[str]] = classes

    def neighbors(self, entity: str, relation: str) -> Sequence[str]:
        """Return where a relation leads from an entity, sorted."""
        return self._targets[relation].get(entity, ())

    def value(self, entity: str, attribute: str) -> Decimal | str | None:
        """Return the value of an attribute, None if there is none. Dates are texts, and sort as dates."""
        text = self._values[attribute].get(entity)
        if text is None or self._ontology.attributes[attribute].range not in _NUMBERS:
            return text
        return Decimal(text)

    def members(self, program: Program) -> list[str]:
        """Return the members of a program's set, as the environment's tools mean it.

        Args:
            program: Any but a COUNT.
        """
        mentioned = entities(program)
        return [member for member in self.candidates(program) if member not in mentioned]

    def candidates(self, program: Program) -> list[str]:
        """Return the members, with those that the program itself mentions."""
        return sorted(self._set(program))

    def _set(self, subject: Subject) -> set[str]:
        if isinstance(subject, str):
            return {subject}
        if subject[0] == "JOIN":
            return {
                target for source in self._set(subject[2]) for target in self.neighbors(source, subject[1])
            }
        if subject[0] == "AND":
            return self._set(subject[1]) & self._set(subject[2])
        ranked = self.ranking(subject)
        return {member for value, member in ranked if value == ranked[0][0]}

    def ranking(self, program: Program) -> list[tuple[Decimal | str, str]]:
        """Return values and members that an ARGMAX or ARGMIN is about, the best first."""
        operation, of, attribute = program
        values = [(self.value(member, attribute), member) for member in self.members(of)]
        known = [(value, member) for value, member in values if value is not None]
        return sorted(known, reverse=operation == "ARGMAX")
