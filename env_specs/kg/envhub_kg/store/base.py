"""What the engine asks of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Union

XSD = "http://www.w3.org/2001/XMLSchema#"


@dataclass(frozen=True)
class Iri:
    """A node that is an entity, a class or a relation."""

    value: str


@dataclass(frozen=True)
class Literal:
    """A node that is a value.

    Attributes:
        value: Its lexical form.
        datatype: IRI of its type.
        language: Its language tag; empty if it has none.
    """

    value: str
    datatype: str = XSD + "string"
    language: str = ""


Node = Union[Iri, Literal]
Row = tuple[Node, ...]


class StoreError(RuntimeError):
    """A store could not answer: it is away, slow or broken. That is no score.

    Attributes:
        retryable: The same query may well be answered later.
    """

    retryable = True


class QueryRefused(RuntimeError):
    """A store answered that it will not run a query: asking again does not help."""


class Store(Protocol):
    """A graph that answers SPARQL 1.1 SELECT queries."""

    def select(self, query: str) -> list[Row]:
        """Return the solutions: the values of the selected variables, in their order.

        Solutions with a blank node or an unbound variable are left out: no name stands for those.

        Raises:
            StoreError: The store could not answer.
            QueryRefused: It does not take the query.
        """

    def close(self) -> None:
        """Give connections back. The store opens new ones when it is asked again."""
