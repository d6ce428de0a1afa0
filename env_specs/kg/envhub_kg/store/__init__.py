"""Graphs that answer SPARQL: in this process, in a folder, or at an endpoint."""

from envhub_kg.store.base import Iri, Literal, Store, StoreError

__all__ = ["Iri", "Literal", "Store", "StoreError"]
