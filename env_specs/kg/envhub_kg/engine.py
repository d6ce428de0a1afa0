"""Answers about programs, out of a store: relations, attributes, members. One for each session."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

from envhub_kg.ontology import BACK, Ontology
from envhub_kg.program import Subject
from envhub_kg.sparql import Queries
from envhub_kg.store import Iri, Node, Store

CACHED = 64
"""Lists of predicates that a session keeps: one for each variable and entity that it looked at lately."""

MOST_MEMBERS = 20_000
"""Members that are read of an answer. One that has more is no answer to any question, and scores nothing."""

_TIME_ZONE = "-08:00"
"""Ends the dates of Freebase's dump, and is no part of an answer."""


class Engine:
    """What there is to know about entities and programs.

    Args:
        store: The graph.
        ontology: What is in it.
        dialect: Of the store: one of `sparql.DIALECTS`.
    """

    def __init__(self, store: Store, ontology: Ontology, dialect: str = "standard") -> None:
        self._store = store
        self._ontology = ontology
        self._queries = Queries(ontology, dialect)
        self._back = ontology.both_ways
        self._predicates: OrderedDict[Subject, frozenset[str]] = OrderedDict()

    def forget(self) -> None:
        """Empty the caches: a new episode asks anew."""
        self._predicates.clear()

    def relations(self, subject: Subject) -> list[str]:
        """Return the relations that lead from an entity, or from any member of a program's set, sorted.

        Raises:
            StoreError: The store could not answer.
            BadName: The entity's name stands for nothing.
        """
        return sorted(self._all(subject) & self._ontology.relations.keys())

    def attributes(self, subject: Subject) -> list[str]:
        """Return the attributes of an entity, or of any member of a program's set, sorted.

        Raises:
            StoreError: The store could not answer.
            BadName: The entity's name stands for nothing.
        """
        return sorted(self._all(subject) & self._ontology.attributes.keys())

    def members(self, program: Subject) -> list[str]:
        """Compute a program: the names of its members, sorted; of a count the number alone.

        There is one more than `MOST_MEMBERS` at the most.

        Raises:
            StoreError: The store could not answer.
        """
        rows = self._store.select(self._queries.members(program, MOST_MEMBERS + 1))
        return sorted({self._name(node) for (node,) in rows})

    def labels(self, names: Iterable[str]) -> dict[str, str]:
        """Return what people call entities, for those that have a label; of several the first.

        Raises:
            StoreError: The store could not answer.
        """
        entities = [name for name in names if self._ontology.names(name)]
        if not entities:
            return {}
        rows = self._store.select(self._queries.labels(entities))
        found: dict[str, str] = {}
        for name, label in sorted((self._name(node), said.value) for node, said in rows):
            found.setdefault(name, label)
        return found

    def _all(self, subject: Subject) -> frozenset[str]:
        """Return the names of all predicates at an entity or a program's set."""
        known = self._predicates.get(subject)
        if known is None:
            rows = self._store.select(self._queries.predicates(subject))
            names = {self._name(node) for (node,) in rows}
            if self._back:
                rows = self._store.select(self._queries.predicates(subject, back=True))
                names |= {BACK + self._name(node) for (node,) in rows}
            known = self._predicates[subject] = frozenset(names)
            if len(self._predicates) > CACHED:
                self._predicates.popitem(last=False)
        self._predicates.move_to_end(subject)
        return known

    def _name(self, node: Node) -> str:
        return self._ontology.name(node.value) if isinstance(node, Iri) else answer_text(node.value)


def answer_text(value: str) -> str:
    """Return a value as answers have it: without the time zone that Freebase's dates end in."""
    return value[: -len(_TIME_ZONE)] if value.endswith(_TIME_ZONE) else value
