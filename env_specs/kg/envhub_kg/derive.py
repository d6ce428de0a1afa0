"""The ontology of a graph that comes without one, found out from the graph itself.

- What leads to entities is a relation, what leads to numbers or dates an attribute. RDF's, RDFS' and OWL's
  own words are neither.
- Domain and range are those that `rdfs:domain` and `rdfs:range` say, else the class that most of the entities
  there have by `rdf:type`, else `thing`.
- Few graphs state relations both ways, so each can be taken backwards, too: `^directed` leads from a film to
  who directed it.

Of each predicate 1,000 triples are looked at.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from envhub_kg.ontology import BACK, Ontology, Relation
from envhub_kg.store import Iri, Literal, Row, Store
from envhub_kg.store.base import XSD

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_OURS = (_RDF, _RDFS, "http://www.w3.org/2002/07/owl#")
_COMPARED = frozenset(
    XSD + name
    for name in (
        "integer decimal float double int long short byte nonNegativeInteger positiveInteger unsignedInt "
        "unsignedLong date dateTime time gYear gYearMonth"
    ).split()
)
_LOOKED_AT = 1000


def ontology(store: Store, namespace: str = "") -> Ontology:
    """Find out what is in a graph.

    Args:
        store: The graph.
        namespace: What short names begin with as IRIs; by default what most predicates begin with, up to the
            last `/` or `#`.

    Raises:
        StoreError: The store could not answer.
    """
    found = sorted(row[0].value for row in store.select("SELECT DISTINCT ?p WHERE { ?s ?p ?o }"))
    predicates = [iri for iri in found if not iri.startswith(_OURS)]
    named = Ontology(namespace or _most_common(predicates), {}, {})
    said = {end: _said(store, end) for end in ("domain", "range")}

    def kind(iri: str, end: str, node: str) -> str:
        """Name the class of what is at one end of a predicate."""
        known = said[end].get(iri)
        if known is None and f"{_RDF}type" in found:
            known = _class(store, iri, node)
        return "thing" if known is None else named.name(known)

    relations: dict[str, Relation] = {}
    attributes: dict[str, Relation] = {}
    for iri in predicates:
        objects = [row[0] for row in store.select(f"SELECT ?o WHERE {{ {_some(iri, '?o')} }}")]
        if any(isinstance(node, Iri) for node in objects):
            relations[named.name(iri)] = Relation(kind(iri, "domain", "?s"), kind(iri, "range", "?o"))
        if any(isinstance(node, Literal) and node.datatype in _COMPARED for node in objects):
            attributes[named.name(iri)] = Relation(kind(iri, "domain", "?s"), "value")
    back = {BACK + name: Relation(role.range, role.domain) for name, role in relations.items()}
    return Ontology(named.namespace, {**relations, **back}, attributes)


def _some(predicate: str, node: str) -> str:
    """Return the pattern of some of the nodes at one end of a predicate."""
    return f"{{ SELECT {node} WHERE {{ ?s <{predicate}> ?o }} LIMIT {_LOOKED_AT} }}"


def _class(store: Store, predicate: str, node: str) -> str | None:
    """Return the class that most of the entities at one end of a predicate have."""
    has_class = f"{_some(predicate, node)} {node} <{_RDF}type> ?c"
    rows = store.select(f"SELECT ?c (COUNT(*) AS ?n) WHERE {{ {has_class} }} GROUP BY ?c")
    return min(((-int(count.value), kind.value) for kind, count in rows), default=(0, None))[1]


def _said(store: Store, what: str) -> Mapping[str, str]:
    rows: list[Row] = store.select(f"SELECT ?p ?c WHERE {{ ?p <{_RDFS}{what}> ?c }}")
    return {predicate.value: kind.value for predicate, kind in sorted(rows, key=str, reverse=True)}


def _most_common(iris: Iterable[str]) -> str:
    counts = Counter(iri[: max(iri.rfind("/"), iri.rfind("#")) + 1] for iri in iris)
    return min(counts, key=lambda start: (-counts[start], start), default="")
