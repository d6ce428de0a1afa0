"""Where tables lie in SQLite."""

from __future__ import annotations

from .catalog import StoredTable
from .rows import Running


def make(db: Running, table: StoredTable) -> None:
    """Make a table's place in SQLite.

    A single whole-number primary key is SQLite's row id, and so rows lie in its order.
    """
    primary = table.primary
    first = table.column(primary.columns[0]) if primary is not None and len(primary.columns) == 1 else None
    ordered = first if first is not None and first.type.type.kind == "int" else None
    columns = ", ".join(
        f"{one.place} INTEGER PRIMARY KEY" if one is ordered else one.place for one in table.columns
    )
    db.change(f"CREATE TABLE {table.place} ({columns or 'nothing'})")


def rebuild(db: Running, table: StoredTable) -> None:
    """Make a table's place anew after its keys changed."""
    columns = ", ".join(one.place for one in table.columns)
    db.change(f"ALTER TABLE {table.place} RENAME TO old_{table.place}")
    make(db, table)
    db.change(f"INSERT INTO {table.place} ({columns}) SELECT {columns} FROM old_{table.place} ORDER BY rowid")
    db.change(f"DROP TABLE old_{table.place}")
