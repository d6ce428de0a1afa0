"""Collects the triples of a graph, and checks them against its ontology."""

from __future__ import annotations

import hashlib
from typing import NamedTuple

from envhub_kg.graph.declared import NAMESPACE, TYPE, Declared

_LETTERS = "0123456789bcdfghjklmnpqrstvwxyz_"
_XSD = "http://www.w3.org/2001/XMLSchema#"
_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"


class Entity(NamedTuple):
    """An entity of the graph.

    Attributes:
        id: Its name in the graph, which tells nothing of it.
        type: Its class.
        label: Its name for people.
    """

    id: str
    type: str
    label: str


class Facts:
    """The facts collected so far.

    Args:
        declared: What a fact may be.
    """

    def __init__(self, declared: Declared) -> None:
        self._declared = declared
        self._triples: set[str] = set()
        self._entities: dict[str, Entity] = {}
        self._labels: set[tuple[str, str]] = set()

    def entity(self, type_: str, key: str, label: str) -> Entity:
        """Add an entity.

        Args:
            type_: Its class.
            key: What tells it from all others of its class. Its id is made of both.
            label: Its name for people, unique in its class.

        Raises:
            ValueError: The label is taken, or the id.
        """
        digest = int.from_bytes(hashlib.sha256(f"{type_} {key}".encode()).digest()[:5], "big")
        id_ = "m.0" + "".join(_LETTERS[digest >> shift & 31] for shift in range(0, 35, 5))
        if id_ in self._entities or (type_, label) in self._labels:
            raise ValueError(f"{type_} {key!r}: {label!r} is there already")
        entity = self._entities[id_] = Entity(id_, type_, label)
        self._labels.add((type_, label))
        self._add(id_, f"<{_LABEL}>", f'"{_escaped(label)}"@en')
        self._add(id_, _iri(TYPE), _iri(type_))
        return entity

    def link(self, source: Entity, relation: str, target: Entity) -> None:
        """Add that a relation leads from one entity to another, and the one that leads back.

        Raises:
            ValueError: They aren't what the relation is between.
        """
        declared = self._declared.relations[relation]
        if (source.type, target.type) != (declared.domain, declared.range):
            raise ValueError(f"{relation} from {source} to {target}")
        self._add(source.id, _iri(relation), _iri(target.id))
        self._add(target.id, _iri(self._declared.inverse[relation]), _iri(source.id))

    def value(self, source: Entity, attribute: str, value: str | int | float | None) -> None:
        """Add that an attribute of an entity has a value. None is no value.

        Raises:
            ValueError: The entity has no such attribute.
        """
        if value is None:
            return
        declared = self._declared.attributes[attribute]
        if source.type != declared.domain:
            raise ValueError(f"{attribute} of {source}")
        kind = declared.range
        text = plain(value) if kind == "decimal" else f"{value:.4E}" if kind == "double" else str(value)
        literal = f'"{_escaped(text)}"'
        self._add(source.id, _iri(attribute), literal if kind == "string" else f"{literal}^^<{_XSD}{kind}>")

    def lines(self) -> list[str]:
        """Return the triples as N-Triples, sorted."""
        return sorted(self._triples)

    def _add(self, subject: str, predicate: str, object_: str) -> None:
        self._triples.add(f"{_iri(subject)} {predicate} {object_} .")


def plain(value: str | int | float) -> str:
    """Return a number without an exponent, and without a fraction that says nothing."""
    text = f"{float(value):.10f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _iri(name: str) -> str:
    return f"<{NAMESPACE}{name}>"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
