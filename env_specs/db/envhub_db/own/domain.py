"""What a domain is: two tables, one row of the first to several of the second, and how people speak of them.

Phrases stand after the noun: "books" + "in the genre Fantasy" + "that cost more than 20 euros".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from envhub_db.own.draw import Draw


@dataclass(frozen=True)
class Field:
    """A column, and its phrases; `{}` in them stands for a value.

    Attributes:
        name: Its words in small letters; the table writes them in its own style.
        role: "key", "category", "number" or "date".
        type: As `CREATE TABLE` takes it.
        make: Makes a value.
        ask: What its value is called in a question.
        is_: Says that the value is this one.
        above: Says that the value is more, or later.
        below: Says that the value is less, or earlier.
        most: The noun's superlative for the largest or latest value.
        least: For the smallest or earliest one.
        unit: Of a number, where it has one.
    """

    name: str
    role: str
    type: str
    make: Callable[[Draw], Any]
    ask: str
    is_: str = ""
    above: str = ""
    below: str = ""
    most: str = ""
    least: str = ""
    unit: str = ""


@dataclass(frozen=True)
class Entity:
    """What the rows of a table are.

    Attributes:
        noun: One of them.
        nouns: Several.
        tables: What their table may be called, in small letters.
        fields: The columns; the first one is the key.
    """

    noun: str
    nouns: str
    tables: Sequence[str]
    fields: Sequence[Field]

    @property
    def key(self) -> Field:
        """The column that names a row."""
        return self.fields[0]

    def of_role(self, role: str) -> list[Field]:
        """The columns of a role."""
        return [field for field in self.fields if field.role == role]


@dataclass(frozen=True)
class Domain:
    """Two tables.

    Attributes:
        name: What it is about.
        one: The table that the other one refers to.
        many: The table with a column for the number of a row of `one`.
        link: Stands between both: "books" + "written by" + "authors from Chile".
    """

    name: str
    one: Entity
    many: Entity
    link: str


def key(name: str, make: Callable[[Draw], str], ask: str = "") -> Field:
    """Make a column of names; no two rows have the same."""
    return Field(name, "key", "VARCHAR(80)", make, ask or name)


def category(name: str, values: Sequence[str], is_: str, ask: str = "") -> Field:
    """Make a column with few values, such as a genre."""
    return Field(name, "category", "VARCHAR(40)", lambda draw: draw.choice(values), ask or name, is_=is_)


def number(
    name: str,
    low: int,
    high: int,
    above: str,
    below: str,
    most: str,
    least: str,
    unit: str = "",
    ask: str = "",
) -> Field:
    """Make a column of integers; no two rows have the same."""
    return Field(
        name,
        "number",
        "INT",
        lambda draw: draw.number(low, high),
        ask or name,
        "",
        above,
        below,
        most,
        least,
        unit,
    )


def amount(
    name: str,
    low: int,
    high: int,
    above: str,
    below: str,
    most: str,
    least: str,
    unit: str = "",
    ask: str = "",
) -> Field:
    """Make a column of amounts with two decimals, as texts; no two rows have the same."""

    def make(draw: Draw) -> str:
        return f"{draw.number(low, high - 1)}.{draw.choice((0, 20, 25, 40, 50, 75, 80, 95, 99)):02}"

    return Field(name, "number", "DECIMAL(12,2)", make, ask or name, "", above, below, most, least, unit)


def date(
    name: str, first: int, last: int, above: str, below: str, most: str, least: str, ask: str = ""
) -> Field:
    """Make a column of days; no two rows have the same."""

    def make(draw: Draw) -> str:
        return draw.date(first, last).isoformat()

    return Field(name, "date", "DATE", make, ask or name, "", above, below, most, least)
