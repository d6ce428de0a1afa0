"""What a knowledge graph is made of: relations, attributes, and how all are named."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

FREEBASE = "http://rdf.freebase.com/ns/"
"""Namespace of Freebase, and so of AgentBench's data."""

BACK = "^"
"""Begins the name of a relation that is another one, taken backwards."""

_NOT_IN_IRI = re.compile(r'[\x00-\x20<>"{}|^`\\]')


class BadName(ValueError):
    """A name stands for no IRI."""


@dataclass(frozen=True)
class Relation:
    """A relation between two entities, or from an entity to a literal.

    Attributes:
        domain: Class of what it leads from.
        range: Class of what it leads to.
    """

    domain: str
    range: str


@dataclass(frozen=True)
class Ontology:
    """What a graph is made of. Everything has a short name: its IRI without the namespace.

    What lies outside of the namespace is named by its whole IRI between < and >.

    Attributes:
        namespace: What short names begin with as IRIs.
        relations: What leads from entity to entity, by name. `get_relations` shows these alone.
        attributes: What leads from an entity to a number, a date or a text, by name. `get_attributes` shows
            these alone.
        label: IRI of the predicate that gives an entity's name to people.
    """

    namespace: str
    relations: Mapping[str, Relation]
    attributes: Mapping[str, Relation]
    label: str = "http://www.w3.org/2000/01/rdf-schema#label"

    @property
    def both_ways(self) -> bool:
        """Whether some relations are others backwards."""
        return any(name.startswith(BACK) for name in self.relations)

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Ontology:
        """Return what `to_json` gave."""
        roles = {
            kind: {name: Relation(**role) for name, role in value[kind].items()}
            for kind in ("relations", "attributes")
        }
        return cls(value["namespace"], roles["relations"], roles["attributes"], value["label"])

    def iri(self, name: str) -> str:
        """Return the IRI that a name stands for.

        Raises:
            BadName: It has a character that no IRI has, or is empty.
        """
        whole = name[1:-1] if name[:1] == "<" and name[-1:] == ">" else self.namespace + name
        if not name or _NOT_IN_IRI.search(whole):
            raise BadName(f"{name!r} is not the name of anything in a graph")
        return whole

    def names(self, name: str) -> bool:
        """Tell whether a text can be the name of something: a value with blanks is none."""
        try:
            return bool(self.iri(name))
        except BadName:
            return False

    def name(self, iri: str) -> str:
        """Return the name of an IRI."""
        return iri[len(self.namespace) :] if iri.startswith(self.namespace) else f"<{iri}>"
