"""Graphs that answer SPARQL: in this process or at an endpoint."""

from envhub_kg.store.base import Iri, Literal, Node, QueryRefused, Row, Store, StoreError

__all__ = ["Iri", "Literal", "Node", "QueryRefused", "Row", "Store", "StoreError"]
