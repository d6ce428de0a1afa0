"""Reads what the embedded graph is made of."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from envhub_kg.ontology import Ontology, Relation

NAMESPACE = "urn:envhub:kg:"
TYPE = "type.object.type"
"""Leads from an entity to its class; the tools don't show it."""

_FILE = Path(__file__).with_name("ontology.tsv")


class Declared(NamedTuple):
    """What ontology.tsv declares.

    Attributes:
        relations: Between entities, by name, those that lead back among them.
        attributes: By name; the range is the type of the values.
        inverse: The relation that leads back.
        meanings: What an attribute's value is, and its unit.
    """

    relations: Mapping[str, Relation]
    attributes: Mapping[str, Relation]
    inverse: Mapping[str, str]
    meanings: Mapping[str, str]

    def ontology(self) -> Ontology:
        """Return it as the tools want it."""
        return Ontology(NAMESPACE, self.relations, self.attributes)


def read() -> Declared:
    """Read the declarations."""
    relations: dict[str, Relation] = {}
    attributes: dict[str, Relation] = {}
    inverse: dict[str, str] = {}
    meanings: dict[str, str] = {}
    for line in _FILE.read_text(encoding="utf-8").splitlines():
        kind, *rest = line.split("\t")
        if kind == "relation":
            name, domain, range_, back = rest
            relations[name], relations[back] = Relation(domain, range_), Relation(range_, domain)
            inverse[name], inverse[back] = back, name
        elif kind == "attribute":
            name, domain, range_, meanings[name] = rest
            attributes[name] = Relation(domain, range_)
    return Declared(relations, attributes, inverse, meanings)
