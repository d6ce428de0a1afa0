"""Reads JSON files that are too large to be held in memory, one entry at a time."""

from __future__ import annotations

import gzip
import io
import json
from array import array
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

import numpy as np

from envhub_webshop.errors import DataError
from envhub_webshop.search.texts import SortedTexts, encode, pack
from envhub_webshop.store.records import Records, RecordWriter, load

_BLOCK = 1 << 20
_LONGEST = 1 << 26
_BLANKS = " \t\r\n"


def array_entries(path: Path, progress: Callable[[int, int], None] | None = None) -> Iterator[Any]:
    """Yield the entries of a file that holds one JSON array.

    Args:
        path: The file; gzipped when its name ends with ``.gz``.
        progress: Called from time to time with the bytes read and the bytes of the file.

    Raises:
        DataError: The file can't be read or is no JSON array.
    """
    with _Scanner(path, progress) as scanner:
        scanner.expect("[", "a list")
        if scanner.skip("]"):
            return
        while True:
            yield scanner.value()
            if not scanner.skip(","):
                scanner.expect("]", "a list")
                return


def object_entries(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield names and values of a file that holds one JSON object.

    Raises:
        DataError: The file can't be read or is no JSON object.
    """
    with _Scanner(path) as scanner:
        scanner.expect("{", "an object")
        if scanner.skip("}"):
            return
        while True:
            name = scanner.value()
            scanner.expect(":", "an object")
            yield name, scanner.value()
            if not scanner.skip(","):
                scanner.expect("}", "an object")
                return


def named_entries(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield names and values of a file: one JSON object, or (``.jsonl``) a name and a value a line.

    The first line of a ``.jsonl`` file tells where it is from and is left out.

    Raises:
        DataError: The file can't be read or is no such JSON.
    """
    if path.suffix != ".jsonl":
        yield from object_entries(path)
        return
    with path.open("rb") as lines:
        next(lines, None)
        for at, line in enumerate(lines, 2):
            try:
                name, value = json.loads(line)
            except ValueError as error:
                raise DataError(f"{path}: line {at} is no name and value. Delete the file") from error
            yield name, value


class StoredMapping(Mapping[str, Any]):
    """A JSON object in a temporary folder: the keys are found, the values read, on disk."""

    def __init__(self, folder: Path, name: str, entries: Iterator[tuple[str, Any]]) -> None:
        """Write the entries to files in a folder; of an asin that is repeated the last entry counts."""
        numbers: dict[bytes, int] = {}
        with RecordWriter(folder / name) as writer:
            for key, value in entries:
                numbers[encode(key)] = len(writer)
                writer.add(json.dumps(value).encode())
        ordered = sorted(numbers)
        data, ends = pack(ordered)
        for part, values in (("keys", data), ("ends", ends)):
            np.save(folder / f"{name}_{part}.npy", values)
        self._keys = SortedTexts(load(folder / f"{name}_keys.npy"), load(folder / f"{name}_ends.npy"))
        self._numbers = array("q", [numbers[key] for key in ordered])
        self._records = Records(folder / name)

    def __getitem__(self, key: str) -> Any:
        place = self._keys.find(key)
        if place < 0:
            raise KeyError(key)
        return json.loads(self._records[self._numbers[place]])

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._keys.find(key) >= 0

    def __iter__(self) -> Iterator[str]:
        return (self._keys[place] for place in range(len(self._keys)))

    def __len__(self) -> int:
        return len(self._keys)


class _Scanner:
    """The text of a JSON file, a part at a time."""

    def __init__(self, path: Path, progress: Callable[[int, int], None] | None = None) -> None:
        self._path = path
        self._progress = progress
        self._decoder = json.JSONDecoder()
        self._part = ""
        self._at = 0
        try:
            self._size = path.stat().st_size
            self._file: BinaryIO = path.open("rb")
        except OSError as error:
            raise DataError(f"{path}: can't be read: {error}") from error
        plain = gzip.GzipFile(fileobj=self._file) if path.suffix == ".gz" else self._file
        self._text = io.TextIOWrapper(plain, "utf-8")

    def __enter__(self) -> _Scanner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._text.close()
        self._file.close()

    def skip(self, sign: str) -> bool:
        """Go past a sign, and tell whether it is there."""
        while True:
            while self._at < len(self._part) and self._part[self._at] in _BLANKS:
                self._at += 1
            if self._at < len(self._part):
                break
            if not self._more():
                return False
        if self._part[self._at] != sign:
            return False
        self._at += 1
        return True

    def expect(self, sign: str, kind: str) -> None:
        """Go past a sign that must be there."""
        if not self.skip(sign):
            found = self._part[self._at : self._at + 1] or "the end"
            raise DataError(
                f"{self._path}: is not {kind}: {sign} expected, {found} found. Fetch the file again"
            )

    def value(self) -> Any:
        """Return the next value, which is no bare number."""
        self.skip("")
        while True:
            try:
                value, self._at = self._decoder.raw_decode(self._part, self._at)
                return value
            except ValueError as error:
                if len(self._part) - self._at > _LONGEST or not self._more():
                    raise DataError(f"{self._path}: is no JSON: {error}. Fetch the file again") from error

    def _more(self) -> bool:
        """Read on; return False at the end of the file."""
        try:
            block = self._text.read(_BLOCK)
        except (OSError, EOFError, ValueError) as error:
            raise DataError(f"{self._path}: can't be read: {error}. Fetch the file again") from error
        self._part = self._part[self._at :] + block
        self._at = 0
        if self._progress is not None:
            self._progress(self._file.tell(), self._size)
        return bool(block)
