"""Keys of tables."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from .catalog import BLOBS, TEXTS, Key, StoredTable, TableColumn
from .compiling import syntax
from .errors import DatabaseError
from .places import rebuild
from .rows import Running


def key_name(table: StoredTable, wanted: str) -> str:
    """A name for a key that has none: its first column's, with a number where that is taken."""
    names = {key.name.lower() for key in table.keys}
    name, place = wanted, 2
    while name.lower() in names:
        name, place = f"{wanted}_{place}", place + 1
    return name


def add_key(table: StoredTable, key: Key) -> None:
    """Give a table a key."""
    if key.primary and table.primary is not None:
        raise DatabaseError(1068, "Multiple primary key defined")
    if any(one.name.lower() == key.name.lower() for one in table.keys):
        raise DatabaseError(1061, f"Duplicate key name '{key.name}'")
    table.keys.append(key)


def key_parts(table: StoredTable, nodes: list[Any]) -> list[str]:
    """The columns of a key; a text without an end needs a length: `a(10)`."""
    names = []
    for one in nodes:
        inner = one.this if isinstance(one, exp.Ordered) else one
        bounded = isinstance(inner, (exp.ColumnPrefix, exp.Anonymous))
        if isinstance(inner, exp.Anonymous):
            name = str(inner.this)
        else:
            name = inner.this.name if isinstance(inner, exp.ColumnPrefix) else inner.name
        column = table.column(name)
        if column is not None and not bounded:
            check_indexable(column)
        names.append(name)
    return names


def check_indexable(column: TableColumn) -> None:
    """Refuse a key on a text without a length."""
    if column.type.name in TEXTS or column.type.name in BLOBS:
        raise DatabaseError(
            1170, f"BLOB/TEXT column '{column.name}' used in key specification without a key length"
        )


def declared_key(table: StoredTable, node: Any, name: str = "") -> Key | None:
    """A key that a definition declares; None where it declares something that has no effect here."""
    if isinstance(node, exp.Constraint):
        return declared_key(table, node.expressions[0], node.name)
    if isinstance(node, exp.PrimaryKey):
        return Key("PRIMARY", key_parts(table, node.expressions), True)
    if isinstance(node, exp.UniqueColumnConstraint):
        inner = node.this
        parts = key_parts(table, inner.expressions) if isinstance(inner, exp.Schema) else [inner.name]
        given = inner.this.name if isinstance(inner, exp.Schema) and inner.this is not None else ""
        return Key(name or given or key_name(table, parts[0]), parts, True)
    if isinstance(node, exp.IndexColumnConstraint):
        parts = key_parts(table, node.expressions)
        return Key(node.name or name or key_name(table, parts[0]), parts)
    if isinstance(node, (exp.ForeignKey, exp.CheckColumnConstraint)):
        return None
    raise syntax(node)


def settle(db: Running, table: StoredTable, key: Key) -> None:
    """Check a key's columns and, in a table with rows, that it holds."""
    columns = []
    for name in key.columns:
        column = table.column(name)
        if column is None:
            raise DatabaseError(1072, f"Key column '{name}' doesn't exist in table")
        if key.primary:
            column.nullable = False
            column.has_default = column.default is not None
        columns.append(column)
    if not key.unique:
        return
    by = ", ".join(f"{one.place}{' COLLATE ci' if one.type.type.kind == 'string' else ''}" for one in columns)
    test = " AND ".join(f"{one.place} IS NOT NULL" for one in columns)
    twice = db.rows(
        f"SELECT {', '.join(one.place for one in columns)} FROM {table.place} WHERE {test} GROUP BY {by} "
        f"HAVING COUNT(*) > 1 LIMIT 1"
    )
    if twice:
        values = "-".join(map(str, twice[0]))
        raise DatabaseError(1062, f"Duplicate entry '{values}' for key '{table.name}.{key.name}'")


def drop_key(db: Running, table: StoredTable, name: str) -> None:
    """Take a key from a table."""
    key = next((one for one in table.keys if one.name.lower() == name.lower()), None)
    if key is None:
        raise DatabaseError(1091, f"Can't DROP '{name}'; check that column/key exists")
    table.keys.remove(key)
    if key.primary:
        rebuild(db, table)
