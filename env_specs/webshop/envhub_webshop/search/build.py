"""Builds a search index from a stream of documents."""

from __future__ import annotations

import shutil
from array import array
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from envhub_webshop.search.analyzer import analyze
from envhub_webshop.search.arrays import Array, IndexArrays
from envhub_webshop.search.texts import encode, pack

K1 = np.float32(0.9)
B = np.float32(0.4)
_CHUNK = 8_000_000
"""Occurrences of terms that are held in memory before they are sorted and counted."""


class IndexBuilder:
    """Takes documents one by one and makes the arrays of a `SearchIndex`.

    With a folder, the postings go through temporary files there and the index is written as ``.npy`` files
    for `SearchIndex.open`: memory holds the vocabulary, some bytes a document and one chunk of postings.
    Without, everything stays in memory.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._numbers: dict[str, int] = {}
        self._occurrences = array("i")
        self._lengths = array("i")
        self._flushed = 0
        self._parts: list[tuple[Array, Array, Array]] = []
        self._spool = None if folder is None else folder / "postings"
        if self._spool is not None:
            self._spool.mkdir(parents=True)

    def add(self, text: str) -> None:
        """Add the next document."""
        numbers = self._numbers
        terms = analyze(text)
        try:
            self._occurrences.extend([numbers[term] for term in terms])
        except KeyError:
            self._occurrences.extend([numbers.setdefault(term, len(numbers)) for term in terms])
        self._lengths.append(len(terms))
        if len(self._occurrences) >= _CHUNK:
            self._flush()

    def finish(self, ids: Sequence[str]) -> IndexArrays:
        """Return the index of all documents added; the builder is used up.

        Args:
            ids: The documents' ids, in the order in which the documents were added.

        Raises:
            ValueError: If there are not as many ids as documents.
        """
        if len(ids) != len(self._lengths):
            raise ValueError(f"the index has {len(self._lengths)} documents, but {len(ids)} ids are given")
        self._flush()
        numbered = sorted((encode(term), number) for term, number in self._numbers.items())
        term_bytes, term_ends = pack(term for term, _ in numbered)
        place = np.empty(len(numbered), np.int32)
        place[[number for _, number in numbered]] = np.arange(len(numbered), dtype=np.int32)
        starts, docs, saturations, peaks = self._postings(place)
        arrays = IndexArrays(
            term_bytes=self._keep("term_bytes", term_bytes),
            term_ends=self._keep("term_ends", term_ends),
            starts=self._keep("starts", starts),
            docs=docs,
            saturations=saturations,
            peaks=self._keep("peaks", peaks),
            ranks=self._keep("ranks", _ranks(ids)),
            counted=self._keep("counted", np.array([np.count_nonzero(self._lengths)], np.int64)),
        )
        self._parts.clear()
        if self._spool is not None:
            shutil.rmtree(self._spool)
        return arrays

    def _flush(self) -> None:
        """Count the occurrences held so far: one part with an entry for each term of each document."""
        lengths = np.array(self._lengths[self._flushed :], np.int64)
        documents = np.repeat(np.arange(self._flushed, len(self._lengths), dtype=np.int64), lengths)
        keys = (np.array(self._occurrences, np.int64) << 32) | documents
        keys, counts = np.unique(keys, return_counts=True)
        part = ((keys >> 32).astype(np.int32), keys.astype(np.int32), counts.astype(np.int32))
        if self._spool is not None:
            path = self._spool / f"{len(self._parts)}.npy"
            np.save(path, np.stack(part))
            stored = np.load(path, mmap_mode="r")
            part = (stored[0], stored[1], stored[2])
        self._parts.append(part)
        self._flushed = len(self._lengths)
        self._occurrences = array("i")

    def _postings(self, place: Array) -> tuple[Array, Array, Array, Array]:
        """Join the parts, term by term in the order of `place`."""
        counts = np.zeros(len(place), np.int64)
        for numbers, _, _ in self._parts:
            counts += np.bincount(place[numbers], minlength=len(place))
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        docs = self._new("docs", int(starts[-1]), np.int32)
        saturations = self._new("saturations", int(starts[-1]), np.float32)
        scale = self._scale()
        peaks = np.ones(len(place), np.float32)
        next_free = starts[:-1].copy()
        for numbers, documents, repeats in self._parts:
            order = np.argsort(place[numbers], kind="stable")
            terms = place[numbers][order]
            first = np.flatnonzero(np.concatenate([[True], terms[1:] != terms[:-1]])) if len(terms) else terms
            sizes = np.diff(np.append(first, len(terms)))
            into = np.arange(len(terms)) - np.repeat(first, sizes) + np.repeat(next_free[terms[first]], sizes)
            docs[into] = documents[order]
            saturation = np.float32(1) + repeats[order].astype(np.float32) * scale[documents[order]]
            saturations[into] = saturation
            if len(terms):
                present = terms[first]
                peaks[present] = np.maximum(peaks[present], np.maximum.reduceat(saturation, first))
                next_free[present] += sizes
        return starts, docs, saturations, peaks

    def _scale(self) -> Array:
        """Return ``1 / (k1 * (1 - b + b * dl / avgdl))`` for each document, in float32."""
        lengths = np.array(self._lengths, np.int64)
        counted = max(1, int(np.count_nonzero(lengths)))
        average = np.float32(max(1, int(lengths.sum())) / counted)
        rounded = round_lengths(lengths).astype(np.float32)
        one = np.float32(1)
        scale: Array = one / (K1 * ((one - B) + B * rounded / average))
        return scale

    def _new(self, name: str, size: int, kind: type[np.generic]) -> Array:
        """Return an array to be filled: in memory, or the file of this name."""
        if self._folder is None or size == 0:
            return self._keep(name, np.zeros(size, kind))
        return np.lib.format.open_memmap(self._folder / f"{name}.npy", "w+", kind, (size,))

    def _keep(self, name: str, values: Array) -> Array:
        if self._folder is not None:
            np.save(self._folder / f"{name}.npy", values)
        return values


def round_lengths(lengths: Array) -> Array:
    """Return document lengths as Lucene keeps them in one byte (``SmallFloat.intToByte4``).

    Up to 24 they are exact; what is above keeps its four highest bits.
    """
    above = np.maximum(lengths - 24, 0).astype(np.int64)
    bits = np.frexp(above.astype(np.float64))[1]
    shift = np.maximum(bits - 4, 0)
    return np.where(lengths <= 24, lengths, 24 + ((above >> shift) << shift))


def _ranks(ids: Sequence[str]) -> Array:
    """Return for each document the place of its id among all ids."""
    ranks = np.empty(len(ids), np.int32)
    ranks[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids), dtype=np.int32)
    return ranks
