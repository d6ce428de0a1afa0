"""Many texts in two arrays, sorted, so that one is found without reading the others."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from envhub_webshop.search.arrays import Array


class SortedTexts:
    """Different texts in the order of their UTF-8 bytes; `find` tells a text's place by binary search."""

    def __init__(self, data: Array, ends: Array) -> None:
        """Take the arrays that `pack` made.

        Args:
            data: The bytes of all texts, one after the other.
            ends: Where each text ends in `data`.
        """
        self._data = data
        self._ends = ends

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, place: int) -> str:
        return self._text(place).decode("utf-8", "surrogatepass")

    def find(self, text: str) -> int:
        """Return the place of a text, -1 when it is not there."""
        wanted = encode(text)
        low, high = 0, len(self._ends)
        while low < high:
            middle = (low + high) // 2
            found = self._text(middle)
            if found == wanted:
                return middle
            if found < wanted:
                low = middle + 1
            else:
                high = middle
        return -1

    def _text(self, place: int) -> bytes:
        begin = self._ends[place - 1] if place else 0
        return self._data[begin : self._ends[place]].tobytes()


def encode(text: str) -> bytes:
    """Return the UTF-8 bytes of a text; half surrogate pairs, which JSON may hold, are kept."""
    return text.encode("utf-8", "surrogatepass")


def pack(texts: Iterable[bytes]) -> tuple[Array, Array]:
    """Return the two arrays of `SortedTexts` for texts that are sorted already."""
    found = list(texts)
    data = np.frombuffer(bytearray().join(found), np.uint8)
    return data, np.cumsum([len(text) for text in found], dtype=np.int64)
