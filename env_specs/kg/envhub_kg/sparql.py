"""Programs as SPARQL.

The standard dialect is SPARQL 1.1, with whole IRIs (a prefixed name with two dots, as all of Freebase's
relations would be, is refused by some parsers) and a sub-select a hop, so that a detour through a hub costs
its members and not its paths. Virtuoso gets the forms that AgentBench's own queries have: one pattern for all
hops, `COUNT DISTINCT` without parentheses, `OR`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from envhub_kg.ontology import BACK, Ontology
from envhub_kg.program import Subject, entities

DIALECTS = ("standard", "virtuoso")


class Queries:
    """Writes the queries about programs.

    Names become IRIs by `Ontology.iri`, which refuses what no IRI has, so nothing that an agent writes ends
    up in a query as anything but a name.

    Args:
        ontology: What is in the graph.
        dialect: One of `DIALECTS`.
    """

    def __init__(self, ontology: Ontology, dialect: str = "standard") -> None:
        self._ontology = ontology
        self._virtuoso = dialect == "virtuoso"

    def members(self, program: Subject, limit: int) -> str:
        """Ask for the members of a program's set; of a count, for the number.

        Args:
            program: The program; a COUNT must be the outermost.
            limit: No more than these.
        """
        if program[0] != "COUNT":
            return f"SELECT DISTINCT ?x WHERE {{ {self._set(program)} }} LIMIT {limit}"
        what = "COUNT DISTINCT ?x" if self._virtuoso else "(COUNT(DISTINCT ?x) AS ?n)"
        return f"SELECT {what} WHERE {{ {self._set(program[1])} }}"

    def predicates(self, subject: Subject, back: bool = False) -> str:
        """Ask for the predicates that lead from an entity, or from any member of a program's set.

        Args:
            subject: The entity or program; no COUNT.
            back: Ask for those that lead to it.
        """
        if isinstance(subject, str):
            node, found = self._iri(subject), ""
        else:
            node, found = "?x", f"{{ SELECT DISTINCT ?x WHERE {{ {self._set(subject)} }} }} "
        triple = f"?o ?p {node}" if back else f"{node} ?p ?o"
        return f"SELECT DISTINCT ?p WHERE {{ {found}{triple} }}"

    def labels(self, names: Iterable[str]) -> str:
        """Ask for pairs of an entity and what people call it."""
        values = " ".join(map(self._iri, names))
        keep = self._filters("label", ())
        label = self._ontology.label
        return f"SELECT ?x ?label WHERE {{ VALUES ?x {{ {values} }} ?x <{label}> ?label . {keep} }}"

    def _set(self, program: Subject) -> str:
        fresh = itertools.count()
        return f"{self._pattern(program, 'x', fresh)} {self._filters('x', entities(program))}"

    def _pattern(self, program: Subject, var: str, fresh: Iterator[int]) -> str:
        """Return what binds a variable to each member of a program's set."""
        operation = program[0]
        if operation == "JOIN":
            return self._join(program, var, fresh)
        if operation == "AND":
            return f"{self._pattern(program[1], var, fresh)} {self._pattern(program[2], var, fresh)}"
        number = next(fresh)
        attribute, order = self._iri(program[2]), "DESC" if operation == "ARGMAX" else "ASC"
        return (
            f"{self._pattern(program[1], var, fresh)} ?{var} {attribute} ?v{number} . "
            f"{{ SELECT ?v{number} WHERE {{ {self._pattern(program[1], f'y{number}', fresh)} "
            f"{self._filters(f'y{number}', entities(program[1]))} "
            f"?y{number} {attribute} ?v{number} }} ORDER BY {order}(?v{number}) LIMIT 1 }}"
        )

    def _join(self, program: Subject, var: str, fresh: Iterator[int]) -> str:
        relation, of = program[1], program[2]
        before, start = "", f"y{next(fresh)}"
        if isinstance(of, str):
            node = self._iri(of)
        else:
            node, inner = f"?{start}", self._pattern(of, start, fresh)
            before = f"{inner} " if self._virtuoso else f"{{ SELECT DISTINCT {node} WHERE {{ {inner} }} }} "
        if relation.startswith(BACK):
            return f"{before}?{var} {self._iri(relation[1:])} {node} ."
        return f"{before}{node} {self._iri(relation)} ?{var} ."

    def _filters(self, var: str, mentioned: Iterable[str]) -> str:
        """Leave out what is in a language other than English, and the entities that a program mentions."""
        either = "OR" if self._virtuoso else "||"
        language = f"lang(?{var}) = '' {either} langMatches(lang(?{var}), 'en')"
        others = "".join(f" FILTER (?{var} != {self._iri(name)})" for name in mentioned)
        return f"FILTER (!isLiteral(?{var}) {either} {language}){others}"

    def _iri(self, name: str) -> str:
        return f"<{self._ontology.iri(name)}>"
