"""Definitions of columns."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from .catalog import ColumnType, Key, StoredTable, TableColumn, column_type
from .compiling import Compiler, sizes_of, syntax
from .errors import DatabaseError
from .keys import add_key, check_indexable, key_name
from .rows import Running
from .storing import fitted

NAMES = {
    "UINT": "int", "UBIGINT": "bigint", "USMALLINT": "smallint", "UTINYINT": "tinyint",
    "UMEDIUMINT": "mediumint",
    "UDECIMAL": "decimal", "UDOUBLE": "double", "TIMESTAMPTZ": "timestamp", "TIMESTAMPLTZ": "timestamp",
    "NVARCHAR": "varchar",
    "NCHAR": "char", "BPCHAR": "char", "SERIAL": "bigint",
}  # fmt: skip


def declared(node: Any) -> ColumnType:
    """The type of a column definition."""
    if not isinstance(node, exp.DataType) or node.this is None or not hasattr(node.this, "name"):
        raise syntax(node if node is not None else "")
    name = node.this.name
    sizes = sizes_of(node)
    values = [str(one.this) for one in node.expressions if isinstance(one, exp.Literal)]
    if name in ("VARCHAR", "VARBINARY") and not sizes:
        raise syntax(node, ")")
    return column_type(NAMES.get(name, name.lower()), sizes, name in NAMES and name.startswith("U"), values)


def constant(db: Running, c: Compiler, node: Any, column: TableColumn) -> Any:
    """The value of a constant expression, as a column keeps it."""
    from .compiling import Place
    from .scope import Scope

    value = c.expression(node, Place(Scope(), "field list"))
    return fitted(db.rows(f"SELECT {value.sql}")[0][0], value.type, column, db.settings.strict)


def column_of(db: Running, c: Compiler, table: StoredTable, node: exp.ColumnDef, place: str) -> TableColumn:
    """The column that a definition declares; its keys go to the table."""
    column = TableColumn(node.name, place, declared(node.args.get("kind")))
    if not node.name.strip():
        raise DatabaseError(1166, f"Incorrect column name '{node.name}'")
    for one in node.args.get("constraints") or []:
        kind = one.args.get("kind")
        if isinstance(kind, exp.NotNullColumnConstraint):
            column.nullable = bool(kind.args.get("allow_null"))
            column.has_default = column.nullable or column.default is not None
        elif isinstance(kind, exp.AutoIncrementColumnConstraint):
            column.counts, column.nullable = True, False
        elif isinstance(kind, exp.PrimaryKeyColumnConstraint):
            check_indexable(column)
            add_key(table, Key("PRIMARY", [column.name], True))
            column.nullable = False
            column.has_default = column.default is not None
        elif isinstance(kind, exp.UniqueColumnConstraint):
            check_indexable(column)
            add_key(table, Key(key_name(table, column.name), [column.name], True))
        elif isinstance(kind, exp.DefaultColumnConstraint):
            if isinstance(kind.this, exp.CurrentTimestamp):
                column.now = True
            elif isinstance(kind.this, exp.Null):
                column.has_default = True
            else:
                if column.type.name in ("text", "blob", "json", "longtext", "mediumtext") and isinstance(
                    kind.this, exp.Literal
                ):
                    raise DatabaseError(
                        1101,
                        f"BLOB, TEXT, GEOMETRY or JSON column '{column.name}' can't have a default value",
                    )
                column.default, column.has_default = constant(db, c, kind.this, column), True
        elif isinstance(kind, exp.CommentColumnConstraint):
            column.comment = str(kind.this.this)
        elif not isinstance(
            kind,
            (
                exp.CollateColumnConstraint,
                exp.CharacterSetColumnConstraint,
                exp.OnUpdateColumnConstraint,
                exp.CheckColumnConstraint,
                exp.ZeroFillColumnConstraint,
            ),
        ):
            raise syntax(one)
    return column
