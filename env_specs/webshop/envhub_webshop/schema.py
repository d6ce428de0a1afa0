"""Checks on the fields of the data files; every complaint names file, item and field."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from envhub_webshop.errors import DataError


class Item:
    """One entry of a data file, read field by field."""

    def __init__(self, fields: Any, file: Path, name: str) -> None:
        self._file = file
        self._name = name
        if not isinstance(fields, dict):
            raise self.bad(None, f"is {_kind(fields)}, not an object")
        self._fields = fields

    def text(self, field: str, default: str | None = None) -> str:
        """Return a text field; `default` stands for a missing or null one where given."""
        value = self._fields.get(field)
        if value is None and default is not None:
            return default
        if not isinstance(value, str):
            raise self.bad(field, f"is {self._found(field)}, not a text")
        return value

    def texts(self, field: str, default: tuple[str, ...] | None = None) -> tuple[str, ...]:
        """Return a field with a list of texts; a single text counts as a list of one."""
        value = self._fields.get(field)
        if value is None and default is not None:
            return default
        if isinstance(value, str):
            return (value,)
        if not isinstance(value, list):
            raise self.bad(field, f"is {self._found(field)}, not a list of texts")
        for at, text in enumerate(value):
            if not isinstance(text, str):
                raise self.bad(f"{field}[{at}]", f"is {_kind(text)}, not a text")
        return tuple(value)

    def mapping(self, field: str) -> Mapping[str, Any]:
        """Return an object field; a missing, null or empty one is an empty object."""
        value = self._fields.get(field) or {}
        if not isinstance(value, dict):
            raise self.bad(field, f"is {_kind(value)}, not an object")
        return value

    def has(self, field: str) -> bool:
        """Say whether a field is there and not null."""
        return self._fields.get(field) is not None

    def bad(self, field: str | None, problem: str) -> DataError:
        """Return the complaint about a field, or about the item itself."""
        place = f"{self._name}, field {field}" if field else self._name
        return DataError(f"{self._file.name}: {place} {problem}. Fix or fetch it again ({self._file})")

    def _found(self, field: str) -> str:
        return _kind(self._fields[field]) if field in self._fields else "missing"


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    names = {dict: "an object", list: "a list", str: "a text", bool: "a truth value"}
    return names.get(type(value), "a number")
