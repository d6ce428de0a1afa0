"""The tables of a domain, filled: another set for each variant, with other names, types and rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from envhub_db import digests
from envhub_db.engine import Column, Table
from envhub_db.own.domain import Domain, Entity, Field
from envhub_db.own.draw import Draw

TRIES = 10_000

_STYLES: tuple[Callable[[str], str], ...] = (
    lambda words: words.replace(" ", "_"),
    lambda words: words.title(),
    lambda words: words[0] + words.title().replace(" ", "")[1:],
)
_UNIQUE = ("key", "number", "date")


@dataclass(frozen=True)
class Sheet:
    """A table that is filled.

    Attributes:
        entity: What its rows are.
        name: What it is called.
        rows: Of each row the value of each column, by the field's name.
        extra: The first column's words, where it is no field: the number of a row, or what refers to one.
        texts: Whether all columns are TEXT, as in DBBench.
        style: Makes a column's name of its words.
    """

    entity: Entity
    name: str
    rows: list[dict[str, Any]]
    extra: str
    texts: bool
    style: Callable[[str], str]

    @property
    def quoted(self) -> str:
        """The table's name as SQL."""
        return digests.quoted(self.name)

    @property
    def columns(self) -> list[str]:
        """The names of all columns."""
        return [self.style(self.extra), *(self.style(field.name) for field in self.entity.fields)]

    def column(self, field: Field | str) -> str:
        """Return a column as SQL."""
        return digests.quoted(self.style(field if isinstance(field, str) else field.name))

    def value(self, field: Field) -> str:
        """Return a column as SQL that compares, sorts and adds up rightly: texts of numbers as numbers."""
        column = self.column(field)
        return f"CAST({column} AS DECIMAL(14,2))" if self.texts and field.role == "number" else column

    def table(self) -> Table:
        """Return the table to begin with."""
        types = ["INT", *(field.type for field in self.entity.fields)]
        if self.texts:
            types = ["TEXT"] * len(types)
        names = [self.extra, *(field.name for field in self.entity.fields)]
        rows = [tuple(str(row[name]) if self.texts else row[name] for name in names) for row in self.rows]
        return Table(self.name, tuple(map(Column, self.columns, types)), tuple(rows))


@dataclass(frozen=True)
class Sheets:
    """Both tables of a domain.

    Attributes:
        domain: The domain.
        one: The table that is referred to, with the column `id`.
        many: The table that refers to it.
    """

    domain: Domain
    one: Sheet
    many: Sheet

    def tables(self) -> tuple[Table, Table]:
        """Return both tables to begin with."""
        return self.one.table(), self.many.table()

    @property
    def join(self) -> str:
        """Both tables in a FROM, `m` and `o`."""
        link, number = self.many.column(self.many.extra), self.one.column(self.one.extra)
        return f"{self.many.quoted} AS m JOIN {self.one.quoted} AS o ON m.{link} = o.{number}"


def fill(domain: Domain, variant: int) -> Sheets:
    """Make the tables of a variant; the same ones each time."""
    draw = Draw(f"{domain.name} {variant}")
    style, texts = draw.choice(_STYLES), draw.chance(0.35)
    prefix = draw.chance(0.5)

    def sheet(entity: Entity, extra: str, rows: list[dict[str, Any]]) -> Sheet:
        name = draw.choice(entity.tables)
        return Sheet(entity, style(name) if prefix else name.replace(" ", "_"), rows, extra, texts, style)

    ones = _rows(domain.one.fields, draw.number(6, 9), draw)
    for number, row in enumerate(ones, 1):
        row["id"] = number
    manys = _rows(domain.many.fields, draw.number(30, 60), draw)
    link = f"{domain.one.noun} id"
    for row in manys:
        row[link] = draw.number(1, len(ones))
    return Sheets(domain, sheet(domain.one, "id", ones), sheet(domain.many, link, manys))


def _rows(fields: Sequence[Field], count: int, draw: Draw) -> list[dict[str, Any]]:
    seen: dict[str, set[Any]] = {field.name: set() for field in fields}
    return [{field.name: new_value(field, seen[field.name], draw) for field in fields} for _ in range(count)]


def new_value(field: Field, seen: set[Any], draw: Draw) -> Any:
    """Make a value; of a column whose values are unique, one that was not seen. It counts as seen then."""
    for _ in range(TRIES):
        value = field.make(draw)
        if field.role not in _UNIQUE or value not in seen:
            seen.add(value)
            return value
    raise AssertionError(f"{field.name} has too few values")
