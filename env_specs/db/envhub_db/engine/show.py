"""SHOW and DESCRIBE."""

from __future__ import annotations

from typing import Any, Callable

from .catalog import StoredTable
from .compiling import Compiler
from .contract import Result
from .errors import DatabaseError
from .information import default_text, index_rows, key_mark
from .patterns import like
from .plain import Words
from .sources import missing, refused
from .variables import SWITCHES, VARIABLES, mode

Rows = list[tuple[Any, ...]]
COLUMNS = ("Field", "Type", "Null", "Key", "Default", "Extra")
INDEX = (
    "Table", "Non_unique", "Key_name", "Seq_in_index", "Column_name", "Collation", "Cardinality", "Sub_part",
    "Packed", "Null",
    "Index_type", "Comment", "Index_comment", "Visible", "Expression",
)  # fmt: skip
STATUS = (
    "Name", "Engine", "Version", "Row_format", "Rows", "Avg_row_length", "Data_length", "Max_data_length",
    "Index_length", "Data_free",
    "Auto_increment", "Create_time", "Update_time", "Check_time", "Collation", "Checksum", "Create_options",
    "Comment",
)  # fmt: skip


def _extra(column: Any) -> str:
    return "auto_increment" if column.counts else "DEFAULT_GENERATED" if column.now else ""


def describe(table: StoredTable) -> Rows:
    """The rows of DESCRIBE."""
    return [
        (
            one.name,
            one.type.text(),
            "YES" if one.nullable else "NO",
            key_mark(table, one),
            default_text(one),
            _extra(one),
        )
        for one in table.columns
    ]


def _table(c: Compiler, words: Words) -> StoredTable:
    name = words.name()
    database = c.database
    if words.take("."):
        database, name = name, words.name()
    if words.any("FROM", "IN"):
        database = words.name()
    if database != c.database:
        raise DatabaseError(1142, f"SELECT command denied to user 'agent'@'localhost' for table '{name}'")
    found = c.catalog.get(name)
    if found is None:
        raise missing(c.database, name)
    return found


def _matching(words: Words, rows: Rows, place: int = 0) -> Rows:
    """The rows that LIKE, or `WHERE column = 'text'`, leaves."""
    if words.take("LIKE"):
        pattern = words.text()
        words.end()
        return [row for row in rows if like(row[place], pattern, "\\", 0)]
    if words.take("WHERE"):
        words.name()
        sign = words.any("=", "LIKE")
        if not sign:
            raise words.wrong()
        pattern = words.text()
        words.end()
        if sign == "=":
            pattern = pattern.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return [row for row in rows if like(row[place], pattern, "\\", 0)]
    words.end()
    return rows


def _show_tables(c: Compiler, words: Words, full: bool) -> Result:
    if words.any("FROM", "IN"):
        other = words.name()
        if other != c.database:
            raise refused(c, other)
    tables = sorted((one for one in c.catalog.tables.values() if not one.temporary), key=lambda one: one.name)
    rows: Rows = [(one.name, "VIEW" if one.view else "BASE TABLE") if full else (one.name,) for one in tables]
    head = f"Tables_in_{c.database}"
    return Result((head, "Table_type") if full else (head,), _matching(words, rows))


def _show_columns(c: Compiler, words: Words, full: bool) -> Result:
    if not words.any("FROM", "IN"):
        raise words.wrong()
    table = _table(c, words)
    rows = _matching(words, describe(table))
    if not full:
        return Result(COLUMNS, rows)
    wide: Rows = []
    for row in rows:
        column = table.column(row[0])
        text = column is not None and column.type.type.kind == "string"
        collation = "utf8mb4_0900_ai_ci" if text else None
        wide.append(
            (
                row[0],
                row[1],
                collation,
                *row[2:],
                "select,insert,update,references",
                column.comment if column else "",
            )
        )
    return Result((*COLUMNS[:2], "Collation", *COLUMNS[2:], "Privileges", "Comment"), wide)


def create_text(table: StoredTable) -> str:
    """The text of SHOW CREATE TABLE."""
    lines = []
    for one in table.columns:
        text = f"  `{one.name}` {one.type.text()}" + ("" if one.nullable else " NOT NULL")
        shown = default_text(one)
        if one.counts:
            text += " AUTO_INCREMENT"
        elif one.now:
            text += " DEFAULT CURRENT_TIMESTAMP"
        elif shown is not None:
            text += f" DEFAULT '{shown}'"
        elif one.nullable and one.type.name not in (
            "text",
            "longtext",
            "mediumtext",
            "tinytext",
            "blob",
            "longblob",
            "json",
        ):
            text += " DEFAULT NULL"
        lines.append(text + (f" COMMENT '{one.comment}'" if one.comment else ""))
    for key in table.keys:
        names = ",".join(f"`{name}`" for name in key.columns)
        lines.append(
            f"  PRIMARY KEY ({names})"
            if key.primary
            else f"  {'UNIQUE ' if key.unique else ''}KEY `{key.name}` ({names})"
        )
    kind = "CREATE TEMPORARY TABLE" if table.temporary else "CREATE TABLE"
    return (
        f"{kind} `{table.name}` (\n"
        + ",\n".join(lines)
        + "\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_0900_ai_ci"
    )


def _show_create(c: Compiler, words: Words, full: bool) -> Result:
    kind = words.any("TABLE", "VIEW", "DATABASE", "SCHEMA")
    if kind in ("DATABASE", "SCHEMA"):
        name = words.name()
        if name != c.database:
            raise refused(c, name)
        text = (
            f"CREATE DATABASE `{name}` /*!40100 DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci */"
        )
        return Result(("Database", "Create Database"), [(name, text)])
    if not kind:
        raise words.wrong()
    table = _table(c, words)
    words.end()
    if table.view:
        return Result(
            ("View", "Create View", "character_set_client", "collation_connection"),
            [(table.name, f"CREATE VIEW `{table.name}` AS {table.view}", "utf8mb4", "utf8mb4_0900_ai_ci")],
        )
    return Result(("Table", "Create Table"), [(table.name, create_text(table))])


def _show_databases(c: Compiler, words: Words, full: bool) -> Result:
    rows: Rows = [(name,) for name in sorted((c.database, "information_schema"))]
    return Result(("Database",), _matching(words, rows))


def _show_index(c: Compiler, words: Words, full: bool) -> Result:
    if not words.any("FROM", "IN"):
        raise words.wrong()
    table = _table(c, words)
    words.end()
    return Result(INDEX, [tuple(row) for row in index_rows(table)])


def _show_variables(c: Compiler, words: Words, full: bool) -> Result:
    values = {**VARIABLES, **c.session.system}
    values["sql_mode"] = mode(c.settings)
    values["autocommit"] = int(c.session.autocommit)
    on = {name: ("OFF", "ON")[bool(values[name])] for name in SWITCHES}
    rows: Rows = [(name, str(value)) for name, value in sorted({**values, **on}.items())]
    return Result(("Variable_name", "Value"), _matching(words, rows))


def _show_status(c: Compiler, words: Words, full: bool) -> Result:
    if not words.any("STATUS"):
        raise words.wrong()
    rows: Rows = [
        (
            one.name,
            "InnoDB",
            10,
            "Dynamic",
            0,
            0,
            16384,
            0,
            0,
            0,
            None,
            None,
            None,
            None,
            "utf8mb4_0900_ai_ci",
            None,
            "",
            "",
        )
        for one in sorted(c.catalog.tables.values(), key=lambda one: one.name)
        if not one.temporary
    ]
    return Result(STATUS, _matching(words, rows))


def _show_nothing(columns: str) -> Callable[[Compiler, Words, bool], Result]:
    return lambda c, words, full: Result(tuple(columns.split()), [])


def _show_grants(c: Compiler, words: Words, full: bool) -> Result:
    return Result(
        ("Grants for agent@localhost",),
        [
            ("GRANT USAGE ON *.* TO `agent`@`localhost`",),
            (f"GRANT ALL PRIVILEGES ON `{c.database}`.* TO `agent`@`localhost`",),
        ],
    )


SHOWN: dict[str, Callable[[Compiler, Words, bool], Result]] = {
    "TABLES": _show_tables,
    "COLUMNS": _show_columns,
    "FIELDS": _show_columns,
    "CREATE": _show_create,
    "DATABASES": _show_databases,
    "SCHEMAS": _show_databases,
    "INDEX": _show_index,
    "INDEXES": _show_index,
    "KEYS": _show_index,
    "VARIABLES": _show_variables,
    "TABLE": _show_status,
    "WARNINGS": _show_nothing("Level Code Message"),
    "ERRORS": _show_nothing("Level Code Message"),
    "TRIGGERS": _show_nothing(
        "Trigger Event Table Statement Timing Created sql_mode Definer character_set_client "
        "collation_connection"
    ),
    "PROCESSLIST": _show_nothing("Id User Host db Command Time State Info"),
    "STATUS": _show_nothing("Variable_name Value"),
    "GRANTS": _show_grants,
}
"""What can be shown."""


def show(c: Compiler, words: Words) -> Result:
    """SHOW, whatever of."""
    full = (
        bool(words.any("FULL", "SESSION", "GLOBAL", "EXTENDED"))
        and words.tokens[words.place - 1].text.upper() == "FULL"
    )
    what = words.any(*SHOWN)
    if not what:
        raise words.wrong()
    return SHOWN[what](c, words, full)


def describe_words(c: Compiler, words: Words) -> Result:
    """DESCRIBE table, or one column of it."""
    table = _table(c, words)
    rows = describe(table)
    if not words.done:
        wanted = words.text() if words.tokens[words.place].token_type.name == "STRING" else words.name()
        words.end()
        rows = [row for row in rows if like(row[0], wanted, "\\", 0)]
    return Result(COLUMNS, rows)
