"""The search index: which documents hold a term, and the best documents for a query (BM25)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import fields
from functools import lru_cache
from pathlib import Path

import numpy as np

from envhub_webshop.search.analyzer import analyze
from envhub_webshop.search.arrays import Array, IndexArrays
from envhub_webshop.search.build import IndexBuilder
from envhub_webshop.search.texts import SortedTexts
from envhub_webshop.search.topk import Posting, best_of, scan, search_pruned

SCAN_LIMIT = 100_000
"""A query with fewer postings than this is scored exhaustively, one with more is pruned."""
_CACHED_TERMS = 100_000
_CACHED_QUERIES = 512
"""Results kept of the last queries: turning a page of results repeats the query."""


class SearchIndex:
    """BM25 with k1 = 0.9 and b = 0.4, in the arithmetic of Lucene.

    A query is a bag of terms; one that is repeated counts as often as it stands there. The score of a term is
    ``w - w / saturation`` with ``w = repeats * ln(1 + (N - n + 0.5) / (n + 0.5))`` in float32, N documents,
    n of them with the term. The scores of the terms are summed in float64 and the sum is rounded to float32.
    Documents with equal scores are ordered by id.
    """

    def __init__(self, arrays: IndexArrays) -> None:
        self.arrays = arrays
        self._size = len(arrays.ranks)
        self._counted = int(arrays.counted[0])
        self._vocabulary = SortedTexts(arrays.term_bytes, arrays.term_ends)
        self._terms: dict[str, int] = {}
        self._scratch: Array | None = None
        self._recent = lru_cache(maxsize=_CACHED_QUERIES)(self._ranked)

    @classmethod
    def build(cls, documents: Iterable[str], ids: Iterable[str]) -> SearchIndex:
        """Index documents in memory.

        Args:
            documents: The texts; a document's position is what `search` returns.
            ids: The documents' ids in the same order; they decide between equal scores.
        """
        builder = IndexBuilder()
        for text in documents:
            builder.add(text)
        return cls(builder.finish(list(ids)))

    @classmethod
    def open(cls, folder: Path) -> SearchIndex:
        """Open an index that `IndexBuilder` wrote, memory-mapped: nothing is read until it is searched."""
        names = [field.name for field in fields(IndexArrays)]
        mapped = {name: np.asarray(np.load(folder / f"{name}.npy", mmap_mode="r")) for name in names}
        return cls(IndexArrays(**mapped))

    def __len__(self) -> int:
        return self._size

    def search(self, query: str, k: int = 50) -> list[int]:
        """Return the positions of the `k` best documents for a query, best first; fewer if fewer match."""
        return [document for document, _ in self.ranked(query, k)]

    def ranked(self, query: str, k: int = 50) -> list[tuple[int, float]]:
        """Return the `k` best documents for a query with their scores, best first."""
        return list(self._recent(query, k))

    def _ranked(self, query: str, k: int) -> list[tuple[int, float]]:
        postings = self.postings(query)
        if not postings or k < 1:
            return []
        if sum(len(posting.docs) for posting in postings) <= SCAN_LIMIT:
            docs, scores = scan(postings, self._size)
        else:
            if self._scratch is None:
                self._scratch = np.zeros(self._size, np.float32)
            docs, scores = search_pruned(postings, k, self._scratch)
        docs, scores = best_of(docs, scores, self.arrays.ranks, k)
        return list(zip(docs.tolist(), scores.tolist()))

    def postings(self, query: str) -> list[Posting]:
        """Return the postings of a query's terms, unknown ones left out, in the order they first occur."""
        repeats: dict[str, int] = {}
        for term in analyze(query):
            repeats[term] = repeats.get(term, 0) + 1
        found = [(self._term_number(term), count) for term, count in repeats.items()]
        return [self._posting(number, count) for number, count in found if number >= 0]

    def _posting(self, number: int, repeats: int) -> Posting:
        arrays = self.arrays
        start, stop = arrays.starts[number : number + 2].tolist()
        holders = stop - start
        idf = np.float32(math.log(1 + (self._counted - holders + 0.5) / (holders + 0.5)))
        weight = np.float32(repeats) * idf
        bound = weight - weight / arrays.peaks[number]
        return Posting(arrays.docs[start:stop], arrays.saturations[start:stop], weight, float(bound))

    def _term_number(self, term: str) -> int:
        """Return the number of a term, -1 when no document has it."""
        number = self._terms.get(term)
        if number is None:
            if len(self._terms) >= _CACHED_TERMS:
                self._terms.clear()
            number = self._terms[term] = self._vocabulary.find(term)
        return number
