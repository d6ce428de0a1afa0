"""The ontology of a graph that comes without one, found out from the graph itself.

- What leads to entities is a relation, what leads to numbers or dates an attribute. RDF's, RDFS' and OWL's
  own words are neither.
- Domain and range are those that `rdfs:domain` and `rdfs:range` say, else the class that most of the entities
  there have by `rdf:type`, else `thing`.
- Few graphs state relations both ways, so each can be taken backwards, too: `^directed` leads from a film to
  who directed it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from envhub_kg.ontology import BACK, Ontology, Relation
from envhub_kg.store import Row, Store
from envhub_kg.store.base import XSD

THING = "thing"

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_OURS = (_RDF, _RDFS, "http://www.w3.org/2002/07/owl#")
_COMPARED = (
    "integer decimal float double int long short byte nonNegativeInteger positiveInteger unsignedInt "
    "unsignedLong date dateTime time gYear gYearMonth"
).split()


def ontology(store: Store, namespace: str = "") -> Ontology:
    """Find out what is in a graph; reads all of it.

    Args:
        store: The graph.
        namespace: What short names begin with as IRIs; by default what most predicates begin with, up to the
            last `/` or `#`.

    Raises:
        StoreError: The store could not answer.
    """
    relations = _predicates(store, "isIRI(?o)")
    types = ", ".join(f"<{XSD}{name}>" for name in _COMPARED)
    attributes = _predicates(store, f"isLiteral(?o) && datatype(?o) IN ({types})")
    named = Ontology(namespace or _most_common(relations + attributes), {}, {})
    name = named.name
    domains = {**_classes(store, "?s"), **_said(store, "domain")}
    ranges = {**_classes(store, "?o"), **_said(store, "range")}

    def role(iri: str) -> Relation:
        return Relation(*(name(of[iri]) if iri in of else THING for of in (domains, ranges)))

    found = {name(iri): role(iri) for iri in relations}
    back = {BACK + one: Relation(role.range, role.domain) for one, role in found.items()}
    return Ontology(named.namespace, {**found, **back}, {name(iri): role(iri) for iri in attributes})


def _predicates(store: Store, condition: str) -> list[str]:
    rows = store.select(f"SELECT DISTINCT ?p WHERE {{ ?s ?p ?o FILTER({condition}) }}")
    return sorted(node.value for (node,) in rows if not node.value.startswith(_OURS))


def _classes(store: Store, end: str) -> Mapping[str, str]:
    """Return of each predicate the class that most of the entities at one end of it have."""
    rows = store.select(
        f"SELECT ?p ?c (COUNT(*) AS ?n) WHERE {{ ?s ?p ?o . {end} <{_RDF}type> ?c }} GROUP BY ?p ?c"
    )
    best: dict[str, tuple[int, str]] = {}
    for predicate, kind, count in rows:
        found = -int(count.value), kind.value
        best[predicate.value] = min(found, best.get(predicate.value, found))
    return {predicate: kind for predicate, (_, kind) in best.items()}


def _said(store: Store, what: str) -> Mapping[str, str]:
    rows: list[Row] = store.select(f"SELECT ?p ?c WHERE {{ ?p <{_RDFS}{what}> ?c }}")
    return {predicate.value: kind.value for predicate, kind in sorted(rows, key=str, reverse=True)}


def _most_common(iris: Iterable[str]) -> str:
    counts = Counter(iri[: max(iri.rfind("/"), iri.rfind("#")) + 1] for iri in iris)
    return min(counts, key=lambda start: (-counts[start], start), default="")
