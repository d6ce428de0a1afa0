"""Programs mean the same in every store: in memory, on disk and in rdflib, and the same as sets do."""

import random
import re
from pathlib import Path
from typing import Any

import pyoxigraph
import pytest
import rdflib
from envhub_kg.engine import Engine
from envhub_kg.ontology import BadName, Ontology, Relation
from envhub_kg.program import Program, entities, from_json, size, written
from envhub_kg.sparql import Queries
from envhub_kg.store import Iri, Literal, Node
from envhub_kg.store.base import XSD, Row
from envhub_kg.store.local import LocalStore, in_memory

NS = "http://example.org/"
RELATIONS = ("a.b.likes", "a.b.c.knows", "saw")
ATTRIBUTES = ("size", "born")
ONTOLOGY = Ontology(
    NS,
    {name: Relation("thing", "thing") for name in (*RELATIONS, "^saw")},
    {name: Relation("thing", "number") for name in ATTRIBUTES},
)
PEOPLE = [f"m.{number}" for number in range(12)]


class RdflibStore:
    """The oracle."""

    def __init__(self, triples: str) -> None:
        self._graph = rdflib.Graph().parse(data=triples, format="nt")

    def select(self, query: str) -> list[Row]:
        return [tuple(map(self._node, row)) for row in self._graph.query(query)]  # type: ignore[arg-type]

    def close(self) -> None:
        self._graph.close()

    def _node(self, term: Any) -> Node:
        if isinstance(term, rdflib.URIRef):
            return Iri(str(term))
        return Literal(str(term), str(term.datatype or ""), term.language or "")


def _graph(rng: random.Random) -> tuple[set[tuple[str, str, str]], dict[tuple[str, str], int], str]:
    """Draw triples, at most one value of each attribute, and all as N-Triples."""
    triples = {(rng.choice(PEOPLE), rng.choice(RELATIONS), rng.choice(PEOPLE)) for _ in range(40)}
    values = {(who, name): rng.randrange(4) for who in PEOPLE for name in ATTRIBUTES if rng.random() < 0.7}
    lines = [f"<{NS}{s}> <{NS}{p}> <{NS}{o}> .\n" for s, p, o in sorted(triples)]
    lines += [f'<{NS}{s}> <{NS}{p}> "{v}"^^<{XSD}integer> .\n' for (s, p), v in sorted(values.items())]
    lines.append(
        f'<{NS}m.0> <{NS}saw> "ein Film"@de . <{NS}m.0> <{NS}saw> "a film"@en-GB .\n'.replace(" . ", " .\n")
    )
    return triples, values, "".join(lines)


def _program(rng: random.Random, depth: int) -> Program:
    if depth == 0 or rng.random() < 0.3:
        return ("JOIN", rng.choice((*RELATIONS, "^saw")), rng.choice(PEOPLE))
    kind = rng.choice(("JOIN", "JOIN", "AND", "ARGMAX", "ARGMIN"))
    inner = _program(rng, depth - 1)
    if kind == "JOIN":
        return ("JOIN", rng.choice(RELATIONS), inner)
    if kind == "AND":
        return ("AND", inner, _program(rng, depth - 1))
    return (kind, inner, rng.choice(ATTRIBUTES))


def _members(
    program: Program, triples: set[tuple[str, str, str]], values: dict[tuple[str, str], int]
) -> set[str]:
    """What a program means, in Python's sets."""
    kind = program[0]
    if kind == "JOIN":
        start = {program[2]} if isinstance(program[2], str) else _members(program[2], triples, values)
        if program[1].startswith("^"):
            return {s for s, p, o in triples if p == program[1][1:] and o in start}
        return {o for s, p, o in triples if p == program[1] and s in start} | (
            {"a film"} if program[1] == "saw" and "m.0" in start else set()
        )
    if kind == "AND":
        return _members(program[1], triples, values) & _members(program[2], triples, values)
    inner = _members(program[1], triples, values)
    known = {who: values[who, program[2]] for who in inner if (who, program[2]) in values}
    seen = {who: value for who, value in known.items() if who not in entities(program[1])}
    best = (max if kind == "ARGMAX" else min)(seen.values(), default=None)
    return {who for who, value in known.items() if value == best}


@pytest.mark.parametrize("seed", range(3))
def test_all_stores_and_sets_agree(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    triples, values, text = _graph(rng)
    on_disk = pyoxigraph.Store(str(tmp_path / "graph"))
    on_disk.bulk_load(text.encode(), pyoxigraph.RdfFormat.N_TRIPLES)
    del on_disk
    stores = (LocalStore(in_memory(text.encode())), LocalStore(tmp_path / "graph"), RdflibStore(text))
    engines = [Engine(store, ONTOLOGY) for store in stores]
    found = 0
    for _ in range(16):
        program = _program(rng, rng.randrange(3))
        expected = sorted(_members(program, triples, values) - set(entities(program)))
        found += bool(expected)
        attributes = sorted({name for who, name in values if who in expected and name in ATTRIBUTES})
        for engine in engines:
            assert engine.members(program) == expected, written(program)
            assert engine.members(("COUNT", program)) == [str(len(expected))]
            assert engine.attributes(program) == attributes
        lists = [engine.relations(program) for engine in engines]
        assert lists[0] == lists[1] == lists[2] == sorted(lists[0])
    assert found > 4


def test_a_value_in_another_language_is_no_member_and_a_time_zone_is_no_part_of_one() -> None:
    text = (
        f'<{NS}m.0> <{NS}saw> "Film"@de .\n<{NS}m.0> <{NS}saw> "film"@en .\n'
        f'<{NS}m.0> <{NS}saw> "1990-01-01-08:00" .\n'
    )
    engine = Engine(LocalStore(in_memory(text.encode())), ONTOLOGY)
    assert engine.members(("JOIN", "saw", "m.0")) == ["1990-01-01", "film"]


def test_labels_are_english_and_only_asked_for_what_can_have_one() -> None:
    label = ONTOLOGY.label
    text = "".join(
        f"<{NS}m.{number}> <{label}> {said} .\n"
        for number, said in ((0, '"Null"@de'), (0, '"zero"'), (1, '"one"@en'))
    )
    engine = Engine(LocalStore(in_memory(text.encode())), ONTOLOGY)
    assert engine.labels(["m.0", "m.1", "m.2", "a value"]) == {"m.0": "zero", "m.1": "one"}
    assert engine.labels(["a value"]) == {}


@pytest.mark.parametrize(
    "name",
    [
        "",
        "m.0> ?x . ?s ?p ?o . <http://example.org/m.0",
        "a b",
        'a"b',
        "a}b",
        "<http://x/ y>",
        "a\\u003e",
        "a\nb",
    ],
)
def test_what_no_iri_has_gets_into_no_query(name: str) -> None:
    queries = Queries(ONTOLOGY)
    with pytest.raises(BadName):
        queries.members(("JOIN", "saw", name), 10)
    with pytest.raises(BadName):
        queries.predicates(name)


def test_what_is_outside_of_the_namespace_is_named_by_its_whole_iri() -> None:
    assert ONTOLOGY.name("http://elsewhere.org/a") == "<http://elsewhere.org/a>"
    assert ONTOLOGY.iri("<http://elsewhere.org/a>") == "http://elsewhere.org/a"
    assert ONTOLOGY.name(ONTOLOGY.iri("a.b.likes")) == "a.b.likes"


def test_virtuoso_gets_the_forms_of_agentbench() -> None:
    program = ("JOIN", "saw", ("JOIN", "a.b.likes", "m.0"))
    queries = Queries(ONTOLOGY, "virtuoso")
    query = queries.members(("COUNT", program), 10)
    assert query.startswith("SELECT COUNT DISTINCT ?x WHERE")
    assert " OR " in query and "||" not in query
    assert query.count("SELECT") == 1  # one pattern for all hops
    assert re.search(
        r"<http://example.org/m.0> <\S+likes> \?y\d+ \. \?y\d+ <\S+saw> \?x", query
    ) or re.search(r"<http://example.org/m.0> <\S+likes> \?y0 \. \?y0 <\S+saw> \?x", query)
    standard = Queries(ONTOLOGY).members(("COUNT", program), 10)
    assert "(COUNT(DISTINCT ?x) AS ?n)" in standard and " OR " not in standard


def test_programs_are_written_as_in_agentbench_and_survive_json() -> None:
    program = ("ARGMAX", ("AND", ("JOIN", "saw", "m.0"), ("JOIN", "a.b.likes", "m.1")), "size")
    assert written(program) == "(ARGMAX (AND (JOIN saw_inv m.0) (JOIN a.b.likes_inv m.1)) size)"
    assert size(program) == 4
    assert entities(program) == ["m.0", "m.1"]
    assert (
        from_json([*program[:1], ["AND", ["JOIN", "saw", "m.0"], ["JOIN", "a.b.likes", "m.1"]], "size"])
        == program
    )


def test_what_a_session_looked_at_is_kept_and_forgotten() -> None:
    class Counted(LocalStore):
        asked = 0

        def select(self, query: str) -> list[Row]:
            self.asked += 1
            return super().select(query)

    ontology = Ontology(NS, {"saw": Relation("thing", "thing")}, {})
    store = Counted(in_memory(f"<{NS}m.0> <{NS}saw> <{NS}m.1> .\n".encode()))
    engine = Engine(store, ontology)
    for _ in range(3):
        assert engine.relations("m.0") == ["saw"]
        assert engine.attributes("m.0") == []
    assert store.asked == 1
    for number in range(100):  # more than are kept
        engine.relations(f"m.{number + 10}")
    engine.relations("m.0")
    assert store.asked == 102
    engine.forget()
    engine.relations("m.0")
    assert store.asked == 103
