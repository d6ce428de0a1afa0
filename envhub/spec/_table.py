"""One table of a TOML file, read key by key, so that every complaint names file, table and key."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from envhub.spec._errors import SpecError, SpecInvalid, closest, listed, nearest

_T = TypeVar("_T")

_TOML_NAMES: dict[type, str] = {
    str: "a string",
    int: "an integer",
    float: "a number",
    bool: "true or false",
    list: "an array",
    dict: "a table",
}


class Table:
    """The values of one TOML table and the place they came from.

    Every reading method takes the key and, for an optional key, its default. Call `finish` after the
    last one: it refuses the keys that nobody asked for.
    """

    def __init__(
        self, values: Mapping[str, Any], file: Path, where: str = "", error: type[SpecError] = SpecInvalid
    ) -> None:
        self.file = file
        self.where = where
        self._values = values
        self._error = error
        self._asked: list[str] = []

    @classmethod
    def read(cls, file: Path, error: type[SpecError] = SpecInvalid) -> Table:
        """Read a TOML file's root table.

        Raises:
            SpecError: of the class given as `error`, when the file is missing or not TOML.
        """
        try:
            text = file.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as reason:
            raise error(f"{file}: cannot be read: {reason}") from reason
        try:
            return cls(tomllib.loads(text), file, "", error)
        except tomllib.TOMLDecodeError as reason:
            raise error(f"{file}: not TOML: {reason}") from reason

    def fail(self, key: str, complaint: str) -> SpecError:
        """Return the error that says what is wrong with one key of this table."""
        place = f"{self.where}.{key}" if self.where else key
        return self._error(f"{self.file}: {place}: {complaint}")

    def value(self, key: str, kind: type[_T], default: _T | None = None) -> _T:
        """Return a key's value, which must be of the TOML type `kind` (float takes integers too).

        Without a default the key is required.
        """
        self._asked.append(key)
        if key not in self._values:
            if default is not None:
                return default
            instead = closest(key, self._values.keys() - set(self._asked))
            hint = f"; the file has {instead!r} here, is that a slip?" if instead else ""
            raise self.fail(key, f"missing; it must be {_TOML_NAMES[kind]}{hint}")
        found = self._values[key]
        if kind is float and type(found) is int:
            return float(found)  # type: ignore[return-value]
        if type(found) is not kind:
            raise self.fail(key, f"must be {_TOML_NAMES[kind]}, not {found!r}")
        return found

    def optional(self, key: str, kind: type[_T]) -> _T | None:
        """Return a key's value, or None where the table does not have it."""
        if key in self._values:
            return self.value(key, kind)
        self._asked.append(key)
        return None

    def any(self, key: str) -> Any:
        """Return a required key's value, whatever its type."""
        self._asked.append(key)
        if key not in self._values:
            raise self.fail(key, "missing")
        return self._values[key]

    def strings(self, key: str) -> dict[str, str]:
        """Return an optional table whose values are all strings."""
        table = self.table(key)
        return {name: table.value(name, str) for name in table.keys()} if table else {}

    def table(self, key: str) -> Table | None:
        """Return a table inside this one, or None where there is none."""
        values = self.optional(key, dict)
        return None if values is None else self._inside(values, key)

    def tables(self, key: str) -> list[Table]:
        """Return an optional array of tables (`[[key]]`)."""
        found = self.value(key, list, [])
        for item in found:
            if not isinstance(item, dict):
                raise self.fail(key, f"must be an array of tables, as in [[{key}]], not {item!r}")
        return [self._inside(item, f"{key}[{index}]") for index, item in enumerate(found)]

    def keys(self) -> Iterable[str]:
        """Return the keys the file has here, in its order."""
        return self._values.keys()

    def finish(self) -> None:
        """Refuse every key that no reading method asked for, with the nearest one that would do."""
        for key in self._values:
            if key not in self._asked:
                raise self.fail(
                    key, f"unknown key{nearest(key, self._asked)}; allowed here: {listed(self._asked)}"
                )

    def _inside(self, values: Mapping[str, Any], key: str) -> Table:
        where = f"{self.where}.{key}" if self.where else key
        return Table(values, self.file, where, self._error)
