"""What every engine promises: tables go in, statements are executed, values come out."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple, Protocol, Union

Value = Union[None, int, float, Decimal, str, bytes, datetime.date, datetime.datetime, datetime.timedelta]
"""What a cell of a result may be, as MySQL's Python connectors return it: `TIME` is a timedelta, truth is 0
or 1."""


class Column(NamedTuple):
    """A column of a table: its name, and its type as `CREATE TABLE` takes it."""

    name: str
    type: str = "TEXT"


class Table(NamedTuple):
    """A table to begin with. Its values are stored as an `INSERT` with bound parameters would store them."""

    name: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Value]]


class Settings(NamedTuple):
    """How statements are judged and what the clock says. The rest of `sql_mode` is as in MySQL 8.

    Attributes:
        strict: `STRICT_TRANS_TABLES`: values that don't fit a column are errors and are not bent to fit.
        only_full_group_by: `ONLY_FULL_GROUP_BY`: columns must be grouped by or aggregated.
        commit_each: Each statement is committed at once, as AgentBench does it: a ROLLBACK comes too late.
        now: What `NOW()` says, all the time, so that an episode can be replayed; None: the real clock.
        seed: Of `RAND()` and `UUID()`.
    """

    strict: bool = False
    only_full_group_by: bool = True
    commit_each: bool = True
    now: datetime.datetime | None = datetime.datetime(2024, 1, 1, 12, 0, 0)
    seed: int = 0


class Result(NamedTuple):
    """What a statement gave.

    Attributes:
        columns: The names of the columns; empty for a statement without a result set.
        rows: The result set, as a Python connector's `fetchall()` returns it.
        affected: Rows that a change has changed (MySQL: a row that already was as wanted does not count).
    """

    columns: tuple[str, ...] = ()
    rows: list[tuple[Value, ...]] = []  # noqa: RUF012 - nobody changes it
    affected: int = 0


class Database(Protocol):
    """One episode's database, on one connection. All methods but `close` may raise `DatabaseError`."""

    name: str

    def execute(self, sql: str) -> Result:
        """Execute one statement; two in one text are MySQL's 1064. Errors change nothing and end nothing."""

    def reconnect(self) -> None:
        """Begin a new connection: variables and temporary tables go, an open transaction is rolled back."""

    def tables(self) -> list[str]:
        """The names of the tables (without temporary ones), sorted."""

    def table_rows(self, name: str) -> list[tuple[Value, ...]]:
        """Every row of a table, in the order it has them."""

    def snapshot(self) -> bytes:
        """The whole database, for `restore` in any database of an engine of the same kind."""

    def restore(self, snapshot: bytes) -> None:
        """Become what a snapshot holds."""

    def fork(self) -> Database:
        """A second database that is as this one is now, and goes its own way."""

    def close(self) -> None:
        """Let go of everything; may be called twice."""


class Engine(Protocol):
    """Opens databases."""

    def open(self, tables: Sequence[Table], name: str = "db") -> Database:
        """Open a database of a name, with these tables and no other.

        Raises:
            DatabaseError: a table cannot be created as given; two columns of one name are 1060.
        """

    def close(self) -> None:
        """Close the engine and the databases it has open."""
