"""Graphs in this process: pyoxigraph, in memory or in a folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyoxigraph

from envhub_kg.store.base import Iri, Literal, Node, QueryRefused, Row, StoreError
from envhub_kg.store.files import digest_of_database


def in_memory(triples: bytes) -> pyoxigraph.Store:
    """Load N-Triples into a graph in memory."""
    store = pyoxigraph.Store()
    store.bulk_load(triples, pyoxigraph.RdfFormat.N_TRIPLES)
    return store


class LocalStore:
    """A graph of pyoxigraph's.

    Args:
        graph: A graph in memory; forked processes share its pages. Or the folder of one on disk, which each
            process opens for itself, read-only: what a database has open does not survive a fork.
        digest: Of a folder, as `files.digest_of_database` gives it: one that was changed meanwhile is another
            graph, and not opened. Empty: nobody changes it.
    """

    def __init__(self, graph: pyoxigraph.Store | Path, digest: str = "") -> None:
        self._graph = graph
        self._digest = digest
        self._opened: tuple[int, pyoxigraph.Store] | None = None

    def select(self, query: str) -> list[Row]:
        """Return the solutions; see `Store`."""
        try:
            solutions: Any = self._open().query(query, use_default_graph_as_union=True)
            rows = [tuple(map(_node, solution)) for solution in solutions]
        except SyntaxError as error:
            raise QueryRefused(f"the graph does not take the query: {error}") from None
        except OSError as error:
            raise StoreError(f"the graph can't be read: {error}") from error
        return [row for row in rows if None not in row]  # type: ignore[misc]

    def close(self) -> None:
        """Close the folder, if one is open."""
        self._opened = None

    def _open(self) -> pyoxigraph.Store:
        if isinstance(self._graph, pyoxigraph.Store):
            return self._graph
        pid = os.getpid()
        if self._opened is None or self._opened[0] != pid:
            if self._digest and digest_of_database(self._graph) != self._digest:
                raise StoreError(f"the graph in {self._graph} was changed: start the hub anew to serve it")
            self._opened = pid, pyoxigraph.Store.read_only(str(self._graph))
        return self._opened[1]


def _node(term: Any) -> Node | None:
    if isinstance(term, pyoxigraph.NamedNode):
        return Iri(term.value)
    if isinstance(term, pyoxigraph.Literal):
        return Literal(term.value, term.datatype.value, term.language or "")
    return None
