"""What the engine asks of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


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
    datatype: str = "http://www.w3.org/2001/XMLSchema#string"
    language: str = ""


class StoreError(RuntimeError):
    """A store could not answer: it is away, slow or broken. It says nothing of the query, and is no score.

    Attributes:
        retryable: The same query may well be answered later.
    """

    retryable = True


class Store(Protocol):
    """A graph that answers SPARQL 1.1 SELECT queries."""

    def select(self, query: str) -> list[Iri | Literal]:
        """Return the first variable of every solution, in the store's order; blank nodes are left out.

        Raises:
            StoreError: The store could not answer.
        """

    def close(self) -> None:
        """Give connections back. The store opens new ones when it is asked again."""
