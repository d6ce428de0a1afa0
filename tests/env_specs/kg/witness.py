"""Small graphs in which the gold actions of AgentBench's questions lead to their answers. None of it is true.

Each set that the actions make is filled from the last one backwards: what an intersection must leave out and
what an extreme must beat is put in, and each entity gets relations of its own domain that lead elsewhere.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from envhub_kg.ontology import Ontology

_CALL = re.compile(r"(\w+)\((.*)\)")
_INTEGER = "http://www.w3.org/2001/XMLSchema#integer"


def triples(entry: dict[str, Any], number: int, ontology: Ontology) -> Iterator[str]:
    """Give the N-Triples of one question.

    Args:
        entry: The question, as AgentBench has it.
        number: Tells its made-up entities from those of other questions.
        ontology: Freebase's.
    """
    calls = [_read(action) for action in entry["actions"]]
    made = [call for call in calls if call[0] not in ("get_relations", "get_attributes")]
    sets: dict[int, list[str]] = defaultdict(list)
    fresh = (f"m.0w{number}_{count}" for count in range(10_000))

    def spo(subject: str, predicate: str, thing: str) -> str:
        return f"<{ontology.iri(subject)}> <{ontology.iri(predicate)}> {thing} .\n"

    def leads(subject: str, predicate: str, to: str) -> str:
        return spo(subject, predicate, f"<{ontology.iri(to)}>")

    sets[len(made) - 1] = [answer["answer_argument"] for answer in entry["answer"]]
    for position in reversed(range(len(made))):
        name, arguments = made[position]
        members = sets[position]
        of = _variable(arguments[0])
        if name == "count":
            sets[of] += [next(fresh) for _ in range(int(members[0]))]
        elif name == "intersection":
            for side in arguments:
                sets[_variable(side)] += [*members, next(fresh)]
        elif name in ("argmax", "argmin"):
            best, other = (9, 10) if name == "argmin" else (10, 9)
            beaten = next(fresh)
            sets[of] += [*members, beaten]
            for member, value in [*((member, best) for member in members), (beaten, other)]:
                yield spo(member, arguments[1], f'"{value}"^^<{_INTEGER}>')
        else:
            start = arguments[0] if of < 0 else next(fresh)
            if of >= 0:
                sets[of].append(start)
            for member in members:
                yield leads(start, arguments[1], member)
            for detour in _of_same_domain(ontology, arguments[1]):
                yield leads(start, detour, next(fresh))


def _read(action: str) -> tuple[str, list[str]]:
    found = _CALL.fullmatch(action)
    assert found, action
    return found[1], [argument.strip() for argument in found[2].split(",")]


def _variable(argument: str) -> int:
    return int(argument[1:]) if argument.startswith("#") else -1


def _of_same_domain(ontology: Ontology, relation: str) -> list[str]:
    domain = relation.rpartition(".")[0]
    alike = sorted(name for name in ontology.relations if name.startswith(f"{domain}.") and name != relation)
    return alike[:3]
