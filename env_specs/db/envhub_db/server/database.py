"""One episode's database on a server, with the connection of its own user."""

from __future__ import annotations

import hashlib
import json
import random
import re
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from envhub_db.engine import Column, DatabaseError, Limits, Result, Settings, Table
from envhub_db.errors import ServerUnavailable
from envhub_db.server import guard
from envhub_db.server.keeper import Keeper, quietly_close

if TYPE_CHECKING:
    from envhub_db.server.engine import ServerEngine

_LOST = (0, 1927, 2006, 2013, 2055)
_BEGINS = ("begin", "start")
_ENDS = ("commit", "rollback", "create", "alter", "drop", "truncate", "rename")
_GRACE_S = 2.0
"""The server ends a statement that takes too long by itself; so much later its connection is ended."""
_EXTRA_STATES = {1114: "HY000", 1142: "42000", 1969: "70100", 2013: "HY000", 3024: "HY000", 4166: "HY000"}


class ServerDatabase:
    """A database that only its own user works on. See `envhub_db.engine.Database`.

    Whatever the database is called on the server, statements and results have its public name. A snapshot is
    the tables that there were in the beginning and the statements since: they are executed again, and what
    comes out is compared.

    Args:
        engine: Whose it is.
        keeper: Makes and drops it.
        name: What statements and results call it.
    """

    def __init__(self, engine: ServerEngine, keeper: Keeper, name: str) -> None:
        self.name = name
        self._engine = engine
        self._keeper = keeper
        self._settings: Settings = engine.settings
        self._limits: Limits = engine.limits
        self._begun: list[Any] = []
        self._log: list[str | None] = []
        self._connection: Any = None
        self._transaction = False
        self._real, self._password = keeper.create()
        self._public = re.compile(rf"(?<![\w$]){re.escape(name)}(?![\w$])")
        try:
            self._connect()
        except BaseException:  # such as too many connections: nobody would ever drop it
            self._keeper.drop(self._real)
            raise

    def load(self, tables: Sequence[Table]) -> None:
        """Create tables, with their rows.

        Raises:
            DatabaseError: One can't be created.
        """
        self._begun = [[t.name, [list(c) for c in t.columns], [list(r) for r in t.rows]] for t in tables]
        for table in tables:
            columns = ", ".join(f"{_quoted(column.name)} {column.type}" for column in table.columns)
            self._run(f"CREATE TABLE {_quoted(table.name)} ({columns})")
            if table.rows:
                row = f"({', '.join(['%s'] * len(table.columns))})"
                values = [value for one in table.rows for value in one]
                marks = ", ".join([row] * len(table.rows))
                name = _quoted(table.name).replace("%", "%%")
                self._run(f"INSERT INTO {name} VALUES {marks}", values)
            self._connection.commit()

    def execute(self, sql: str) -> Result:
        """Execute one statement, and commit what it did unless a statement began a transaction."""
        self._log.append(sql)
        guard.check(sql, self._limits)
        text = self._public.sub(lambda _: self._real, sql.encode("utf-8", "replace").decode())
        word = guard.first_word(sql)
        if word in _BEGINS:
            self._transaction = not self._settings.commit_each
        elif word in _ENDS:
            self._transaction = False
        result = self._run(text)
        if word == "set":  # limits and the connection's encoding are not the agent's to set
            self._set_up(again=True)
        return result

    def reconnect(self) -> None:
        """Begin a new connection."""
        self._log.append(None)
        self._disconnect()
        self._keeper.renew(self._real, self._password)  # its user may have changed it
        self._connect()

    def tables(self) -> list[str]:
        """The names of the tables, sorted."""
        found = self._run(
            "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_TYPE = 'BASE TABLE' "
            f"AND TABLE_SCHEMA = '{self._real}'"
        )
        return sorted(str(row[0]) for row in found.rows)

    def table_rows(self, name: str) -> list[tuple[Any, ...]]:
        """Every row of a table."""
        return self._run(f"SELECT * FROM `{self._real}`.{_quoted(name)}").rows

    def snapshot(self) -> bytes:
        """What there was, the statements since, and a digest of what there is."""
        state = {"tables": self._begun, "log": self._log, "digest": self._digest()}
        return json.dumps(state, default=str).encode()

    def restore(self, snapshot: bytes) -> None:
        """Execute a snapshot's statements again.

        Raises:
            ServerUnavailable: What came out is something else, as where a statement depends on chance.
        """
        state = json.loads(snapshot)
        self._disconnect()
        self._keeper.empty(self._real)
        self._connect()
        self._log = []
        self.load(
            [Table(name, [Column(*c) for c in columns], rows) for name, columns, rows in state["tables"]]
        )
        for sql in state["log"]:
            try:
                self.reconnect() if sql is None else self.execute(sql)
            except DatabaseError:
                pass  # as it was the first time
        if self._digest() != state["digest"]:
            raise ServerUnavailable(
                "the statements of this episode gave other tables when they were executed again"
            )

    def fork(self) -> ServerDatabase:
        """A second database that is as this one is now."""
        twin = self._engine.open([], self.name)
        try:
            twin.restore(self.snapshot())
        except BaseException:
            twin.close()
            raise
        return twin

    def close(self) -> None:
        """Drop the database and its user."""
        if self._engine.forget(self):
            self._disconnect()
            self._keeper.drop(self._real)

    def _digest(self) -> str:
        rows = {name: sorted(map(repr, self.table_rows(name))) for name in self.tables()}
        return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()

    # -- the connection -----------------------------------------------------------------------------

    def _connect(self) -> None:
        import pymysql

        self._connection = self._keeper.address.connect(
            user=self._real,
            password=self._password,
            read_timeout=self._limits.seconds + _GRACE_S,
            write_timeout=self._limits.seconds + _GRACE_S,
            local_infile=False,
        )
        self._set_up()
        try:
            self._connection.select_db(self._real)
        except pymysql.OperationalError as error:
            if error.args[0] != 1049:  # its user may have dropped it
                raise

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        self._transaction = False
        if connection is not None:
            quietly_close(connection)

    def _set_up(self, again: bool = False) -> None:
        """Set the session's variables; again: those alone that keep this connection usable and bounded."""
        seconds = self._limits.seconds
        mariadb = self._keeper.mariadb
        limit = (
            f"max_statement_time = {seconds}" if mariadb else f"max_execution_time = {int(seconds * 1000)}"
        )
        collation = "utf8mb4_unicode_520_nopad_ci" if mariadb else "utf8mb4_0900_ai_ci"
        settings = [f"{limit}, autocommit = 0, innodb_lock_wait_timeout = 5, lock_wait_timeout = 5"]
        settings.append(f"NAMES utf8mb4 COLLATE {collation}")
        if not again:
            draw = random.Random(self._settings.seed)
            settings.append(f"rand_seed1 = {draw.getrandbits(30)}, rand_seed2 = {draw.getrandbits(30)}")
            settings.append(f"sql_mode = '{_sql_mode(self._settings)}', time_zone = '+00:00'")
            settings.append("group_concat_max_len = 1024")
            if self._settings.now is not None:
                settings.append(f"timestamp = UNIX_TIMESTAMP('{self._settings.now:%Y-%m-%d %H:%M:%S}')")
        with self._connection.cursor() as cursor:
            for setting in settings:
                cursor.execute(f"SET {setting}")

    def _run(self, sql: str, values: Sequence[Any] | None = None) -> Result:
        import pymysql
        import pymysql.cursors

        started = time.monotonic()
        cursor = pymysql.cursors.SSCursor(self._connection)
        try:
            cursor.execute(sql, values)
            result = self._read(cursor)
            cursor.close()
            if not self._transaction:
                self._connection.commit()
            return result
        except _TooMuch as much:
            _abandon(cursor)
            self._begin_anew()
            raise DatabaseError(much.number, much.text, much.state) from None
        except pymysql.Error as error:
            _abandon(cursor)
            late = time.monotonic() - started >= self._limits.seconds
            raise self._failed(error, late) from None
        except (
            BaseException
        ):  # the step's time limit, or bytes that are no UTF-8: what comes next is not known
            _abandon(cursor)
            self._begin_anew()
            raise

    def _failed(self, error: Exception, late: bool) -> DatabaseError:
        """Make the connection usable again after an error, and return what to say."""
        number = error.args[0] if error.args else 0
        if number not in _LOST:
            text = str(error.args[1]) if len(error.args) > 1 else str(error)
            if not self._transaction:
                self._roll_back()
            return DatabaseError(number, self._shown(text), _EXTRA_STATES.get(number, ""))
        self._begin_anew()
        if late:
            return DatabaseError(
                3024, "Query execution was interrupted, maximum statement execution time exceeded"
            )
        return DatabaseError(2013, "Lost connection to MySQL server during query")

    def _read(self, cursor: Any) -> Result:
        """Read what a statement gave, as far as the limits go."""
        if cursor.description is None:
            if cursor.rowcount > self._limits.result_rows:
                raise _TooMuch(1114, "The table is full", "HY000")
            return Result((), [], max(cursor.rowcount, 0))
        rows: list[tuple[Any, ...]] = []
        size = 0
        for row in cursor:
            size += sum(len(value) if isinstance(value, (str, bytes)) else 8 for value in row)
            if len(rows) >= self._limits.result_rows or size > self._limits.result_bytes:
                raise _TooMuch(1104, "The SELECT gives more rows than may be read; use LIMIT", "42000")
            rows.append(tuple(self._shown(value) if isinstance(value, str) else value for value in row))
        return Result(tuple(self._shown(column[0]) for column in cursor.description), rows, 0)

    def _roll_back(self) -> None:
        import pymysql

        try:
            self._connection.rollback()
        except pymysql.Error:
            self._begin_anew()

    def _begin_anew(self) -> None:
        """End the connection, with what is executed on it, and open another one."""
        connection, self._connection = self._connection, None
        self._transaction = False
        if connection is not None:
            self._keeper.kill(connection.thread_id())
            quietly_close(connection)
        self._keeper.renew(self._real, self._password)
        self._connect()

    def _shown(self, text: str) -> str:
        return text.replace(self._real, self.name)


class _TooMuch(Exception):
    """A statement gave or changed more than it may."""

    def __init__(self, number: int, text: str, state: str) -> None:
        super().__init__(text)
        self.number, self.text, self.state = number, text, state


def _abandon(cursor: Any) -> None:
    """Leave the rest of a result unread: PyMySQL would read it when the cursor is closed or collected."""
    if cursor._result is not None:
        cursor._result.unbuffered_active = False
    cursor.connection = None


def _sql_mode(settings: Settings) -> str:
    modes = ["NO_ZERO_IN_DATE", "NO_ZERO_DATE", "ERROR_FOR_DIVISION_BY_ZERO", "NO_ENGINE_SUBSTITUTION"]
    if settings.only_full_group_by:
        modes.append("ONLY_FULL_GROUP_BY")
    if settings.strict:
        modes.append("STRICT_TRANS_TABLES")
    return ",".join(modes)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
