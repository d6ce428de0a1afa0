"""CREATE, DROP, RENAME and TRUNCATE."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from .catalog import ColumnType, Key, StoredTable, TableColumn
from .compiling import Compiler, syntax
from .contract import Result
from .definitions import column_of
from .errors import DatabaseError
from .keys import add_key, declared_key, drop_key, key_parts, settle
from .places import make
from .plain import Words
from .queries import query
from .rows import Running
from .sources import missing, refused, stored
from .storing import fitted, type_for
from .types import NULL


def _temporary(node: exp.Create) -> bool:
    properties = node.args.get("properties")
    return properties is not None and any(
        isinstance(one, exp.TemporaryProperty) for one in properties.expressions
    )


def _like(node: exp.Create) -> Any:
    properties = node.args.get("properties")
    for one in properties.expressions if properties is not None else []:
        if isinstance(one, exp.LikeProperty):
            return one.this
    return None


def create(db: Running, c: Compiler, node: exp.Create) -> Result:
    """CREATE TABLE, VIEW and INDEX; databases are refused."""
    kind = str(node.args.get("kind") or "").upper()
    if kind in ("DATABASE", "SCHEMA"):
        raise refused(c, node.this.name)
    if kind == "INDEX":
        return _create_index(db, c, node)
    if kind == "VIEW":
        return _create_view(db, c, node)
    if kind != "TABLE":
        raise DatabaseError(1044, f"Access denied for user 'agent'@'localhost' to database '{c.database}'")
    schema = node.this
    named = schema.this if isinstance(schema, exp.Schema) else schema
    if not isinstance(named, exp.Table):
        raise syntax(node)
    if named.db and named.db != c.database:
        raise DatabaseError(
            1142, f"CREATE command denied to user 'agent'@'localhost' for table '{named.name}'"
        )
    temporary = _temporary(node)
    known = db.catalog.get(named.name)
    if known is not None and (known.temporary or not temporary):
        if node.args.get("exists"):
            return Result()
        raise DatabaseError(1050, f"Table '{named.name}' already exists")
    table = StoredTable(named.name, db.catalog.new_place(), [], temporary=temporary)
    like = _like(node)
    if like is not None:
        _copy_shape(table, stored(c, like))
    if isinstance(schema, exp.Schema):
        _define(db, c, table, schema.expressions)
    found = query(c, node.expression, None) if node.expression is not None else None
    if found is not None:
        _add_selected(table, found.names, found.types)
    if not table.columns:
        raise (
            DatabaseError(1113, "A table must have at least 1 column")
            if not isinstance(schema, exp.Schema)
            else syntax(")")
        )
    make(db, table)
    for key in table.keys:
        settle(db, table, key)
    affected = _fill(db, table, found) if found is not None else 0
    db.catalog.add(table)
    return Result(affected=affected)


def _define(db: Running, c: Compiler, table: StoredTable, nodes: list[Any]) -> None:
    keys = []
    for one in nodes:
        if isinstance(one, exp.ColumnDef):
            _append(table, column_of(db, c, table, one, table.new_place()))
        elif isinstance(one, (exp.Identifier, exp.Column)):
            raise syntax(one, ")")
        else:
            keys.append(one)
    for one in keys:
        key = declared_key(table, one)
        if key is not None:
            add_key(table, key)
    if sum(one.counts for one in table.columns) > 1 or any(
        one.counts and not any(key.columns[0].lower() == one.name.lower() for key in table.keys)
        for one in table.columns
    ):
        raise DatabaseError(
            1075,
            "Incorrect table definition; there can be only one auto column and it must be defined as a key",
        )


def _append(table: StoredTable, column: TableColumn) -> None:
    if table.column(column.name) is not None:
        raise DatabaseError(1060, f"Duplicate column name '{column.name}'")
    table.columns.append(column)


def _copy_shape(table: StoredTable, other: StoredTable) -> None:
    for one in other.columns:
        table.columns.append(TableColumn(**{**vars(one), "place": table.new_place()}))
    table.keys = [Key(key.name, list(key.columns), key.unique) for key in other.keys]


def _add_selected(table: StoredTable, names: list[str], types: list[Any]) -> None:
    for name, kind in zip(names, types):
        if table.column(name) is None:
            table.columns.append(
                TableColumn(
                    name, table.new_place(), ColumnType("varchar", 0) if kind.kind == NULL else type_for(kind)
                )
            )
        elif not any(one.name.lower() == name.lower() for one in table.columns):
            raise DatabaseError(1060, f"Duplicate column name '{name}'")


def _fill(db: Running, table: StoredTable, found: Any) -> int:
    columns = [table.column(name) for name in found.names]
    places = ", ".join(column.place for column in columns if column is not None)
    marks = ", ".join("?" * len(columns))
    rows = db.rows(found.sql)
    for at, row in enumerate(rows, 1):
        values = [
            fitted(value, kind, column, db.settings.strict, at)
            for value, kind, column in zip(row, found.types, columns)
            if column is not None
        ]
        db.change(f"INSERT INTO {table.place} ({places}) VALUES ({marks})", values)
    return len(rows)


def _create_view(db: Running, c: Compiler, node: exp.Create) -> Result:
    named = node.this.this if isinstance(node.this, exp.Schema) else node.this
    known = db.catalog.get(named.name)
    if known is not None and not (node.args.get("replace") and known.view):
        raise DatabaseError(1050, f"Table '{named.name}' already exists")
    found = query(c, node.expression, None)
    names = [one.name for one in node.this.expressions] if isinstance(node.this, exp.Schema) else found.names
    table = StoredTable(named.name, db.catalog.new_place(), [], view=node.expression.sql("mysql"))
    for name, kind in zip(names, found.types):
        _append(table, TableColumn(name, table.new_place(), type_for(kind)))
    if known is not None:
        db.catalog.remove(named.name)
    db.catalog.add(table)
    return Result()


def _create_index(db: Running, c: Compiler, node: exp.Create) -> Result:
    index = node.this
    table = stored(c, index.args["table"])
    names = key_parts(table, index.args["params"].args.get("columns") or [])
    key = Key(index.name, names, bool(node.args.get("unique")))
    settle(db, table, key)
    add_key(table, key)
    db.catalog.changed()
    return Result()


# -- DROP, RENAME, TRUNCATE


def drop(db: Running, c: Compiler, node: exp.Drop) -> Result:
    """DROP TABLE, VIEW and INDEX."""
    kind = str(node.args.get("kind") or "").upper()
    named = node.args.get("tables") or ([node.this] if node.this is not None else [])
    if kind in ("DATABASE", "SCHEMA"):
        raise refused(c, named[0].name)
    if kind == "INDEX":
        owner = node.args.get("cluster")
        if owner is None:
            raise syntax("")
        table = stored(c, owner.this)
        drop_key(db, table, named[0].name)
        db.catalog.changed()
        return Result()
    if kind not in ("TABLE", "VIEW") or not named:
        raise syntax(node, kind)
    tables: list[StoredTable] = []
    unknown = []
    for one in named:
        found = db.catalog.get(one.name) if not one.db or one.db == c.database else None
        if (
            found is None
            or bool(found.view) != (kind == "VIEW")
            or (node.args.get("temporary") and not found.temporary)
        ):
            unknown.append(f"{one.db or c.database}.{one.name}")
        else:
            tables.append(found)
    if unknown and not node.args.get("exists"):
        raise DatabaseError(1051, f"Unknown table '{','.join(unknown)}'")
    for table in tables:
        remove(db, table.name)
    return Result()


def remove(db: Running, name: str) -> None:
    """Drop a table."""
    table = db.catalog.remove(name)
    if not table.view:
        db.change(f"DROP TABLE {table.place}")


def rename(db: Running, c: Compiler, old: str, new: str) -> None:
    """Give a table another name."""
    table = db.catalog.get(old)
    if table is None:
        raise missing(c.database, old)
    if db.catalog.get(new) is not None:
        raise DatabaseError(1050, f"Table '{new}' already exists")
    names: dict[str, StoredTable] = {}
    for name, one in db.catalog.tables.items():
        names[new if name == old else name] = one
    table.name = new
    db.catalog.tables = names
    db.catalog.changed()


def rename_tables(db: Running, c: Compiler, words: Words) -> Result:
    """RENAME TABLE a TO b, c TO d."""
    if not words.any("TABLE", "TABLES"):
        raise words.wrong()
    pairs: list[tuple[str, str]] = []
    while True:
        old = words.name()
        if not words.take("TO"):
            raise words.wrong()
        pairs.append((old, words.name()))
        if not words.take(","):
            break
    words.end()
    for old, new in pairs:
        rename(db, c, old, new)
    return Result()


def truncate(db: Running, c: Compiler, node: exp.TruncateTable) -> Result:
    """TRUNCATE TABLE."""
    for one in node.expressions:
        table = stored(c, one)
        db.change(f"DELETE FROM {table.place}")
        table.next_number = 1
    return Result()
