"""Conditions on the rows of a table: in words, in SQL, and as a test of a row."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from envhub_db.own.domain import Field
from envhub_db.own.draw import Draw
from envhub_db.own.tables import Sheet


@dataclass(frozen=True)
class Condition:
    """A condition.

    Attributes:
        words: Stands after the noun.
        sql: Stands after WHERE.
        holds: Tells whether a row meets it.
        field: The column that it is about.
    """

    words: str
    sql: str
    holds: Callable[[dict[str, Any]], bool]
    field: Field


def literal(value: Any) -> str:
    """Write a value as SQL."""
    return str(value) if isinstance(value, int) else "'" + str(value).replace("'", "''") + "'"


def plain(field: Field, value: Any) -> str:
    """Write a value of a column as SQL: numbers without quotes."""
    return str(value) if field.role == "number" else literal(value)


def equal(sheet: Sheet, draw: Draw, prefix: str = "") -> Condition:
    """Draw a condition that a category is one of those that there are.

    Args:
        sheet: The table.
        draw: Draws.
        prefix: Stands before columns, such as "m.".
    """
    field = draw.choice(sheet.entity.of_role("category"))
    value = draw.choice(sheet.rows)[field.name]
    sql = f"{prefix}{sheet.column(field)} = {literal(value)}"
    return Condition(field.is_.format(value), sql, lambda row: bool(row[field.name] == value), field)


def bound(sheet: Sheet, draw: Draw, few: bool = False) -> Condition:
    """Draw a condition that a number or a day is more or less than something, which no row has.

    Args:
        sheet: The table.
        draw: Draws.
        few: Few rows meet it; otherwise a fifth at least.
    """
    field = draw.choice([field for field in sheet.entity.fields if field.role in ("number", "date")])
    values = sorted(_comparable(field, row[field.name]) for row in sheet.rows)
    more = draw.chance(0.5)
    place = draw.number(2, 8) if few else draw.number(len(values) // 5, len(values) * 4 // 5)
    limit = values[-place if few and more else place]
    if field.role == "date":
        limit += datetime.timedelta(days=1)
        while limit in values:
            limit += datetime.timedelta(days=1)
    else:
        limit = Decimal(int(limit)) + 1
        while limit in values:
            limit += 1
    shown = str(limit) if field.role == "date" else f"{limit:f}"
    sql = f"{sheet.value(field)} {'>' if more else '<'} {literal(shown) if field.role == 'date' else shown}"

    def holds(row: dict[str, Any]) -> bool:
        value = _comparable(field, row[field.name])
        return bool(value > limit if more else value < limit)

    return Condition((field.above if more else field.below).format(shown), sql, holds, field)


def equal_or_bound(sheet: Sheet, draw: Draw) -> Condition:
    """Draw a condition of either kind."""
    return equal(sheet, draw) if draw.chance(0.5) else bound(sheet, draw)


def amount_of(row: dict[str, Any], field: Field) -> Decimal:
    """Return a row's number."""
    return Decimal(str(row[field.name]))


def _comparable(field: Field, value: Any) -> Any:
    return datetime.date.fromisoformat(value) if field.role == "date" else Decimal(str(value))
