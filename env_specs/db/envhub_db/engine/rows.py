"""Rows put into tables: defaults, keys, and what columns are set to."""

from __future__ import annotations

import sqlite3
from typing import Any, NamedTuple, Protocol

from sqlglot import exp

from .catalog import Catalog, Key, StoredTable, TableColumn
from .compiling import Compiler, Place, Session, Typed, converted, syntax
from .contract import Settings
from .errors import DatabaseError
from .running import check_time
from .scope import Scope
from .storing import fitted, implicit
from .types import T_STRING


class Running(Protocol):
    """The database that a plan runs on."""

    catalog: Catalog
    session: Session
    settings: Settings

    def rows(self, sql: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        """The rows of a query of SQLite's."""

    def change(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
        """Execute a change of SQLite's."""


class Assignment(NamedTuple):
    """A column and what it is set to; None: its default."""

    column: TableColumn
    value: Typed | None


def not_null(value: Any, column: TableColumn, explicit_error: bool) -> Any:
    """A value for a column that may take no NULL."""
    if value is None and not column.nullable:
        if explicit_error:
            raise DatabaseError(1048, f"Column '{column.name}' cannot be null")
        return implicit(column)
    return value


def default(db: Running, column: TableColumn) -> Any:
    """What a column holds where no value is given.

    Raises:
        DatabaseError: 1364: it has none, in strict mode.
    """
    if column.now:
        now = db.rows("SELECT m_now()")[0][0]
        return fitted(now, T_STRING, column, False)
    if column.counts or (column.has_default and (column.default is not None or column.nullable)):
        return column.default
    if db.settings.strict:
        raise DatabaseError(1364, f"Field '{column.name}' doesn't have a default value")
    return implicit(column)


def is_default(node: Any) -> bool:
    """Whether a value is the word DEFAULT."""
    return (
        isinstance(node, (exp.Column, exp.Var))
        and node.name.upper() == "DEFAULT"
        and not getattr(node, "table", "")
    )


def named_column(table: StoredTable, name: str) -> TableColumn:
    """A column of a table by its name."""
    column = table.column(name)
    if column is None:
        raise DatabaseError(1054, f"Unknown column '{name}' in 'field list'")
    return column


def unique_keys(table: StoredTable) -> list[Key]:
    """The keys that no two rows may share."""
    return [key for key in table.keys if key.unique or key.primary]


def key_columns(table: StoredTable, key: Key) -> list[TableColumn]:
    """A key's columns."""
    return [column for column in (table.column(name) for name in key.columns) if column is not None]


def conflicts(
    db: Running, table: StoredTable, row: dict[str, Any], but: int | None = None
) -> list[tuple[Key, int]]:
    """The keys that a row would violate, and the rows (SQLite's ids) that have them already."""
    found = []
    for key in unique_keys(table):
        columns = key_columns(table, key)
        values = [row.get(column.place) for column in columns]
        if any(value is None for value in values):
            continue
        test = " AND ".join(
            f"{one.place} = "
            f"?{' COLLATE ci' if one.type.type.kind == 'string' and not one.type.type.exact else ''}"
            for one in columns
        )
        rows = db.rows(f"SELECT rowid FROM {table.place} WHERE {test} LIMIT 2", values)
        found += [(key, rowid) for (rowid,) in rows if rowid != but]
    return found


def duplicate(table: StoredTable, key: Key, row: dict[str, Any]) -> DatabaseError:
    """MySQL's error 1062."""
    values = "-".join(str(row.get(column.place)) for column in key_columns(table, key))
    return DatabaseError(1062, f"Duplicate entry '{values}' for key '{table.name}.{key.name}'")


def keep(db: Running, table: StoredTable, row: dict[str, Any]) -> int:
    """Put a row into a table; its id in SQLite."""
    places = list(row)
    marks = ", ".join("?" * len(places))
    cursor = db.change(
        f"INSERT INTO {table.place} ({', '.join(places)}) VALUES ({marks})", [row[one] for one in places]
    )
    return int(cursor.lastrowid or 0)


def assignments(
    c: Compiler, nodes: list[Any], scope: Scope, table: StoredTable, at: Place
) -> list[Assignment]:
    """What columns are set to, one after the other: later values see the earlier columns as they are set."""
    found: list[Assignment] = []
    for node in nodes:
        if not isinstance(node, exp.EQ) or not isinstance(node.this, exp.Column):
            raise syntax(node)
        field, _ = scope.find(node.this.name, node.this.table, "field list")
        source = next(one for one in scope.sources if any(other.sql == field.sql for other in one.fields))
        column = named_column(source.table, field.name)
        value = None if is_default(node.expression) else c.expression(node.expression, at)
        found.append(Assignment(column, value))
        if value is not None:
            now = Typed(f"({converted(value, column.type.type)})", column.type.type)
            source.fields = [
                one._replace(sql=now.sql) if one.sql == field.sql else one for one in source.fields
            ]
    return found


def write(
    db: Running,
    table: StoredTable,
    sets: list[Assignment],
    where: str,
    parameters: Any = (),
    tail: str = "",
    tables: str = "",
    name: str = "s",
    ignore: bool = False,
) -> int:
    """Set columns of the rows that a condition finds; how many changed."""
    old = ", ".join(f"{name}.{one.column.place}" for one in sets)
    new = ", ".join("NULL" if one.value is None else one.value.sql for one in sets)
    source = tables or f"{table.place} AS {name}"
    rows = db.rows(
        f"SELECT {name}.rowid, {old}, {new} FROM {source}{' WHERE ' + where if where else ''}{tail}",
        parameters,
    )
    strict = db.settings.strict and not ignore
    keyed = {column.place for key in unique_keys(table) for column in key_columns(table, key)}
    touched = any(one.column.place in keyed for one in sets)
    count, changed, done = len(sets), 0, set()
    for at, (rowid, *values) in enumerate(rows, 1):
        check_time()
        if rowid in done or rowid is None:
            continue
        done.add(rowid)
        before: dict[str, Any] = {}
        after: dict[str, Any] = {}
        for place, one in enumerate(sets):
            before.setdefault(one.column.place, values[place])
            value = (
                default(db, one.column)
                if one.value is None
                else fitted(values[count + place], one.value.type, one.column, strict, at)
            )
            after[one.column.place] = not_null(value, one.column, strict)
        if before == after and list(map(type, before.values())) == list(map(type, after.values())):
            continue
        if touched:
            whole = db.rows(
                f"SELECT {', '.join(column.place for column in table.columns)} FROM {table.place} WHERE "
                f"rowid = ?",
                (rowid,),
            )[0]
            row = {**dict(zip((column.place for column in table.columns), whole)), **after}
            violated = conflicts(db, table, row, rowid)
            if violated and ignore:
                continue
            if violated:
                raise duplicate(table, violated[0][0], row)
        db.change(
            f"UPDATE {table.place} SET {', '.join(f'{one} = ?' for one in after)} WHERE rowid = ?",
            [*after.values(), rowid],
        )
        changed += 1
    return changed
