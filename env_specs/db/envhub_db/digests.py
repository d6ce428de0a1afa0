"""A digest of what tables hold, as AgentBench takes it, on any engine.

Of each row the first five hexadecimal digits of the MD5 of its values with commas between them; those sorted,
with commas between them; the MD5 of that. Several tables: their digests sorted, with underscores between
them. The rows' text is the engine's own (`CONCAT_WS`, which leaves out NULL); the rest is done here, since
MySQL cuts `GROUP_CONCAT` to 1,024 bytes, which is 170 rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

from envhub_db.engine import Database, Table

NO_ROWS = "None"
"""The digest of a table without rows."""


def quoted(name: str) -> str:
    """Quote an identifier."""
    return "`" + name.replace("`", "``") + "`"


def of_tables(database: Database, tables: Sequence[Table]) -> str:
    """Return the digest of the columns that tables had in the beginning.

    Raises:
        DatabaseError: A table, or a column of it, is gone.
    """
    return "_".join(sorted(_of_table(database, table) for table in tables))


def _of_table(database: Database, table: Table) -> str:
    columns = ", ".join(quoted(column.name) for column in table.columns)
    result = database.execute(
        f"SELECT CONCAT_WS(',', {columns}) FROM {quoted(database.name)}.{quoted(table.name)}"
    )
    return of_rows(row[0] for row in result.rows)


def of_rows(texts: Iterable[object]) -> str:
    """Return the digest of rows, each given as its values with commas between them."""
    marks = sorted(hashlib.md5(_bytes(text), usedforsecurity=False).hexdigest()[:5] for text in texts)
    return hashlib.md5(",".join(marks).encode(), usedforsecurity=False).hexdigest() if marks else NO_ROWS


def _bytes(text: object) -> bytes:
    return text if isinstance(text, bytes) else str(text).encode()
