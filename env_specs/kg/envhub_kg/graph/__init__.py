"""The embedded graph: facts about countries, cities, airports, languages, money, chemistry and the sky."""

from __future__ import annotations

import hashlib
import lzma
from pathlib import Path

from envhub_kg.graph.declared import read
from envhub_kg.ontology import Ontology

NAME = "embedded"

_FILE = Path(__file__).with_name("graph.nt.xz")


def triples() -> bytes:
    """Return the graph as N-Triples: sorted, each relation together with the one that leads back."""
    return lzma.decompress(_FILE.read_bytes())


def ontology() -> Ontology:
    """Return what the graph is made of."""
    return read().ontology()


def digest() -> str:
    """Return a digest of the graph and of what it is made of."""
    files = (_FILE, Path(__file__).with_name("ontology.tsv"))
    return f"sha256:{hashlib.sha256(b''.join(file.read_bytes() for file in files)).hexdigest()}"
