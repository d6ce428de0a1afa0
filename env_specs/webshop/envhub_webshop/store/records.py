"""Arrays and byte records on disk."""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from envhub_webshop.search.arrays import Array
from envhub_webshop.search.texts import SortedTexts, pack


def load(path: Path) -> Array:
    """Map an array; its pages are read when they are used."""
    return np.asarray(np.load(path, mmap_mode="r"))


class RecordWriter:
    """Writes byte strings one after the other, for `Records`."""

    def __init__(self, path: Path) -> None:
        """Begin the files `path` (with the suffix ``.bin``) and its table of ends."""
        self._ends = array("q")
        self._path = path
        self._file = path.with_suffix(".bin").open("wb")
        self._end = 0

    def __len__(self) -> int:
        return len(self._ends)

    def add(self, record: bytes) -> None:
        """Write the next record."""
        self._file.write(record)
        self._end += len(record)
        self._ends.append(self._end)

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(self, *error: object) -> None:
        """Finish the files."""
        self._file.close()
        np.save(self._path.with_suffix(".npy"), np.array(self._ends, np.int64))


class Records:
    """Byte strings by number, mapped from a file."""

    def __init__(self, path: Path) -> None:
        self._ends = load(path.with_suffix(".npy"))
        empty = len(self._ends) == 0 or self._ends[-1] == 0
        data = path.with_suffix(".bin")
        self._data = np.zeros(0, np.uint8) if empty else np.asarray(np.memmap(data, np.uint8, "r"))

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, number: int) -> bytes:
        begin = self._ends[number - 1] if number else 0
        return self._data[begin : self._ends[number]].tobytes()


class Groups:
    """Which numbers belong to a text, such as the products of a category."""

    def __init__(self, path: Path) -> None:
        """Open what `save_groups` wrote."""
        names = ("texts", "ends", "starts", "order")
        data, ends, self._starts, self._order = (load(_part(path, name)) for name in names)
        self._texts = SortedTexts(data, ends)

    def members(self, text: str) -> list[int]:
        """Return the numbers that belong to a text, ascending."""
        place = self._texts.find(text)
        if place < 0:
            return []
        start, stop = self._starts[place : place + 2].tolist()
        found: list[int] = self._order[start:stop].tolist()
        return found


def save_groups(path: Path, texts: Iterable[bytes]) -> None:
    """Write which numbers have which text, for `Groups`.

    Args:
        path: Where to; its name is continued.
        texts: The text of each number, from 0.
    """
    codes: dict[bytes, int] = {}
    coded = np.array(array("i", (codes.setdefault(text, len(codes)) for text in texts)), np.int32)
    ordered = sorted(codes)
    place = np.empty(len(ordered), np.int32)
    place[[codes[text] for text in ordered]] = np.arange(len(ordered), dtype=np.int32)
    placed = place[coded] if len(coded) else coded
    data, ends = pack(ordered)
    np.save(_part(path, "texts"), data)
    np.save(_part(path, "ends"), ends)
    counts = np.bincount(placed, minlength=len(ordered))
    np.save(_part(path, "starts"), np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)]))
    np.save(_part(path, "order"), np.argsort(placed, kind="stable").astype(np.int32))


def _part(path: Path, name: str) -> Path:
    return path.with_name(f"{path.name}_{name}.npy")
