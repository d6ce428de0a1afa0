"""The tables of `information_schema`, as SQL that holds their rows."""

from __future__ import annotations

from typing import Any

from .catalog import INTEGERS, StoredTable, TableColumn
from .compiling import Compiler, quoted
from .errors import DatabaseError
from .types import DATETIME, T_INT, T_STRING, Type

Columns = list[tuple[str, Type]]


def key_mark(table: StoredTable, column: TableColumn) -> str:
    """PRI, UNI, MUL or nothing: what DESCRIBE says of a column's keys."""
    name = column.name.lower()
    mark = ""
    for key in table.keys:
        if key.primary and name in [one.lower() for one in key.columns]:
            return "PRI"
        if key.columns[0].lower() == name:
            mark = "UNI" if key.unique and len(key.columns) == 1 else mark or "MUL"
    return mark


def default_text(column: TableColumn) -> Any:
    """A column's default as DESCRIBE shows it."""
    if column.now:
        return "CURRENT_TIMESTAMP"
    if column.default is None:
        return None
    if column.type.name == "decimal":
        return format(column.default, f".{column.type.scale}f")
    return str(column.default)


def _text_sizes(column: TableColumn) -> tuple[Any, Any]:
    sizes = {"tinytext": 255, "text": 65535, "mediumtext": 16777215, "longtext": 4294967295}
    if column.type.name in sizes:
        return sizes[column.type.name], sizes[column.type.name]
    if column.type.type.kind == "string" and column.type.size is not None:
        return column.type.size, column.type.size * (1 if column.type.type.raw else 4)
    return None, None


def _precision(column: TableColumn) -> tuple[Any, Any]:
    name = column.type.name
    if name in INTEGERS:
        return {"tinyint": 3, "smallint": 5, "mediumint": 7, "int": 10, "bigint": 19}[name], 0
    if name == "decimal":
        return column.type.size, column.type.scale
    return ({"float": 12, "double": 22}.get(name), None)


def _columns(c: Compiler) -> list[list[Any]]:
    rows = []
    for table in c.catalog.tables.values():
        if table.temporary:
            continue
        for place, one in enumerate(table.columns, 1):
            length, octets = _text_sizes(one)
            digits, scale = _precision(one)
            text = one.type.type.kind == "string" and not one.type.type.raw
            rows.append([
                "def", c.database, table.name, one.name, place, default_text(one),
                "YES" if one.nullable else "NO", one.type.name,
                length, octets, digits, scale, one.type.size or 0 if one.type.type.kind in (DATETIME,
                "time") else None,
                "utf8mb4" if text else None, "utf8mb4_0900_ai_ci" if text else None, one.type.text(),
                key_mark(table, one),
                "auto_increment" if one.counts else "DEFAULT_GENERATED" if one.now else "",
                "select,insert,update,references", one.comment, "", None,
            ])  # fmt: skip
    return rows


def _tables(c: Compiler) -> list[list[Any]]:
    rows = []
    for table in c.catalog.tables.values():
        if table.temporary:
            continue
        view = bool(table.view)
        rows.append([
            "def", c.database, table.name, "VIEW" if view else "BASE TABLE", None if view else "InnoDB",
            None if view else 10,
            None if view else "Dynamic", None if view else 0, None if view else 0, None if view else 16384,
            None if view else 0,
            None if view else 0, None if view else 0, None, None, None, None,
            None if view else "utf8mb4_0900_ai_ci", None, None if view else "",
            "VIEW" if view else "",
        ])  # fmt: skip
    return rows


def _schemata(c: Compiler) -> list[list[Any]]:
    return [
        ["def", "information_schema", "utf8mb3", "utf8mb3_general_ci", None, "NO"],
        ["def", c.database, "utf8mb4", "utf8mb4_0900_ai_ci", None, "NO"],
    ]


def index_rows(table: StoredTable) -> list[list[Any]]:
    """The rows of SHOW INDEX for a table."""
    rows = []
    for key in sorted(table.keys, key=lambda one: (not one.primary, not one.unique)):
        for place, name in enumerate(key.columns, 1):
            column = table.column(name)
            nullable = "YES" if column is not None and column.nullable else ""
            rows.append(
                [
                    table.name,
                    0 if key.unique else 1,
                    key.name,
                    place,
                    name,
                    "A",
                    0,
                    None,
                    None,
                    nullable,
                    "BTREE",
                    "",
                    "",
                    "YES",
                    None,
                ]
            )
    return rows


def _statistics(c: Compiler) -> list[list[Any]]:
    rows = []
    for table in c.catalog.tables.values():
        rows += [["def", c.database, one[0], one[1], c.database, *one[2:]] for one in index_rows(table)]
    return rows


def _key_columns(c: Compiler) -> list[list[Any]]:
    return [
        ["def", c.database, key.name, "def", c.database, table.name, name, place, None, None, None, None]
        for table in c.catalog.tables.values()
        for key in table.keys
        if key.unique
        for place, name in enumerate(key.columns, 1)
    ]


def _constraints(c: Compiler) -> list[list[Any]]:
    return [
        [
            "def",
            c.database,
            key.name,
            c.database,
            table.name,
            "PRIMARY KEY" if key.primary else "UNIQUE",
            "YES",
        ]
        for table in c.catalog.tables.values()
        for key in table.keys
        if key.unique
    ]


def _views(c: Compiler) -> list[list[Any]]:
    return [
        ["def", c.database, one.name, one.view, "NONE", "YES"]
        for one in c.catalog.tables.values()
        if one.view
    ]


NUMBERS = frozenset(
    "ORDINAL_POSITION CHARACTER_MAXIMUM_LENGTH CHARACTER_OCTET_LENGTH NUMERIC_PRECISION NUMERIC_SCALE "
    "DATETIME_PRECISION SRS_ID "
    "VERSION TABLE_ROWS AVG_ROW_LENGTH DATA_LENGTH MAX_DATA_LENGTH INDEX_LENGTH DATA_FREE AUTO_INCREMENT "
    "CHECKSUM NON_UNIQUE "
    "SEQ_IN_INDEX CARDINALITY SUB_PART POSITION_IN_UNIQUE_CONSTRAINT".split()
)
TABLES: dict[str, tuple[str, Any]] = {
    "COLUMNS": (
        "TABLE_CATALOG TABLE_SCHEMA TABLE_NAME COLUMN_NAME ORDINAL_POSITION COLUMN_DEFAULT IS_NULLABLE "
        "DATA_TYPE "
        "CHARACTER_MAXIMUM_LENGTH CHARACTER_OCTET_LENGTH NUMERIC_PRECISION NUMERIC_SCALE "
        "DATETIME_PRECISION CHARACTER_SET_NAME "
        "COLLATION_NAME COLUMN_TYPE COLUMN_KEY EXTRA PRIVILEGES COLUMN_COMMENT GENERATION_EXPRESSION SRS_ID",
        _columns,
    ),
    "TABLES": (
        "TABLE_CATALOG TABLE_SCHEMA TABLE_NAME TABLE_TYPE ENGINE VERSION ROW_FORMAT TABLE_ROWS "
        "AVG_ROW_LENGTH DATA_LENGTH "
        "MAX_DATA_LENGTH INDEX_LENGTH DATA_FREE AUTO_INCREMENT CREATE_TIME UPDATE_TIME CHECK_TIME "
        "TABLE_COLLATION CHECKSUM "
        "CREATE_OPTIONS TABLE_COMMENT",
        _tables,
    ),
    "SCHEMATA": (
        "CATALOG_NAME SCHEMA_NAME DEFAULT_CHARACTER_SET_NAME DEFAULT_COLLATION_NAME SQL_PATH "
        "DEFAULT_ENCRYPTION",
        _schemata,
    ),
    "STATISTICS": (
        "TABLE_CATALOG TABLE_SCHEMA TABLE_NAME NON_UNIQUE INDEX_SCHEMA INDEX_NAME SEQ_IN_INDEX "
        "COLUMN_NAME COLLATION CARDINALITY "
        "SUB_PART PACKED NULLABLE INDEX_TYPE COMMENT INDEX_COMMENT IS_VISIBLE EXPRESSION",
        _statistics,
    ),
    "KEY_COLUMN_USAGE": (
        "CONSTRAINT_CATALOG CONSTRAINT_SCHEMA CONSTRAINT_NAME TABLE_CATALOG TABLE_SCHEMA TABLE_NAME "
        "COLUMN_NAME ORDINAL_POSITION "
        "POSITION_IN_UNIQUE_CONSTRAINT REFERENCED_TABLE_SCHEMA REFERENCED_TABLE_NAME REFERENCED_COLUMN_NAME",
        _key_columns,
    ),
    "TABLE_CONSTRAINTS": (
        "CONSTRAINT_CATALOG CONSTRAINT_SCHEMA CONSTRAINT_NAME TABLE_SCHEMA TABLE_NAME CONSTRAINT_TYPE "
        "ENFORCED",
        _constraints,
    ),
    "VIEWS": ("TABLE_CATALOG TABLE_SCHEMA TABLE_NAME VIEW_DEFINITION CHECK_OPTION IS_UPDATABLE", _views),
}
"""The tables there are: their columns, and what gives their rows."""


def values(rows: list[list[Any]], width: int) -> str:
    """Rows as a query of SQLite's, with columns c1, c2 and so on."""

    def one(value: Any) -> str:
        return "NULL" if value is None else quoted(value) if isinstance(value, str) else str(value)

    if not rows:
        return "SELECT " + ", ".join(f"NULL AS c{place}" for place in range(1, width + 1)) + " WHERE 0"
    parts = []
    for at, row in enumerate(rows):
        parts.append(
            "SELECT "
            + ", ".join(
                one(value) + (f" AS c{place}" if at == 0 else "") for place, value in enumerate(row, 1)
            )
        )
    return (
        " UNION ALL ".join(parts)
        if len(parts) <= 400
        else f"SELECT * FROM ({' UNION ALL '.join(parts[:400])})"
    )


def information(c: Compiler, name: str) -> tuple[str, Columns]:
    """The rows and columns of a table of `information_schema`.

    Raises:
        DatabaseError: 1109: there is none of the name.
    """
    known = TABLES.get(name.upper())
    if known is None:
        raise DatabaseError(1109, f"Unknown table '{name}' in information_schema")
    names = known[0].split()
    columns = [(one, T_INT if one in NUMBERS else T_STRING) for one in names]
    return values(known[1](c), len(names)), columns
