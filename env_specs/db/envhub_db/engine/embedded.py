"""The embedded engine: each database in this process's memory."""

from __future__ import annotations

import datetime
import json
import random
import sqlite3
import time
import zlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from .catalog import Catalog, StoredTable, TableColumn, parse_type
from .compiling import Compiler, Session
from .connection import connect
from .contract import Result, Settings, Table, Value
from .dates import datetime_text
from .errors import DatabaseError
from .images import image_of, load
from .limits import Limits
from .parsing import LONGEST_KEPT, parse
from .places import make
from .running import running
from .statements import Direct, Plan, Select, plan
from .storing import fitted
from .types import T_STRING, Type, shown

KEPT = 2_000
_plans: OrderedDict[tuple[Any, ...], Plan] = OrderedDict()
"""Compiled statements, by text, tables and settings: the same for every database of this process."""


def _value_type(value: Any) -> tuple[Any, Type]:
    """A Python value as SQLite keeps it, and its type."""
    from decimal import Decimal

    from .types import DECIMAL, T_DATE, T_DATETIME, T_DOUBLE, T_INT

    if isinstance(value, bool):
        return int(value), T_INT
    if isinstance(value, int):
        return value, T_INT
    if isinstance(value, float):
        return value, T_DOUBLE
    if isinstance(value, Decimal):
        return float(value), Type(DECIMAL, max(0, -int(value.as_tuple().exponent)))
    if isinstance(value, datetime.datetime):
        return datetime_text(value), T_DATETIME
    if isinstance(value, datetime.date):
        return value.isoformat(), T_DATE
    return (value.decode("utf-8", "replace") if isinstance(value, bytes) else value), T_STRING


class EmbeddedDatabase:
    """One database in memory; see `contract.Database`."""

    def __init__(self, name: str, settings: Settings, limits: Limits) -> None:
        self.name = name
        self.limits = limits
        self.catalog = Catalog()
        self.session = Session()
        self._given = settings
        self.settings = settings
        self._random = random.Random(settings.seed)
        self._shape: tuple[int, str] = (-1, "")
        self._pending: Catalog | None = None
        self._connection = connect(limits, self._random, self._now)

    def _now(self) -> str:
        now = self.settings.now
        return datetime_text((now or datetime.datetime.now()).replace(microsecond=0))

    # -- what plans run on --------------------------------------------------------------------------------

    def rows(self, sql: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        """The rows of a query of SQLite's, as far as the limits go."""
        cursor = self._connection.execute(sql, parameters)
        found: list[tuple[Any, ...]] = []
        size = 0
        most_rows, most_bytes = self.limits.result_rows, self.limits.result_bytes
        for row in cursor:  # one by one: a thousand may be gigabytes before anybody looks
            found.append(row)
            size += 8 * len(row)
            for value in row:
                if value.__class__ is str:
                    size += len(value)
            if size > most_bytes or len(found) > most_rows:
                cursor.close()
                raise DatabaseError(
                    3170, f"The result is too large: more than {most_rows} rows or {most_bytes} bytes"
                )
        return found

    def change(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
        """Execute a change of SQLite's."""
        return self._connection.execute(sql, parameters)

    # -- transactions ---------------------------------------------------------------------------------------

    def begin(self) -> Result:
        """START TRANSACTION."""
        self.commit()
        self.change("BEGIN")
        return Result()

    def commit(self) -> Result:
        """COMMIT."""
        if self._connection.in_transaction:
            self.change("COMMIT")
        return Result()

    def rollback(self) -> Result:
        """ROLLBACK."""
        if self._connection.in_transaction:
            self.change("ROLLBACK")
        return Result()

    def savepoint(self, what: str, name: str) -> Result:
        """SAVEPOINT, ROLLBACK TO and RELEASE."""
        place = "s_" + name.lower().encode().hex()
        try:
            if what == "SAVEPOINT":
                self.change(f"SAVEPOINT {place}") if self._connection.in_transaction else None
            else:
                self.change(f"ROLLBACK TO {place}" if what == "ROLLBACK" else f"RELEASE {place}")
        except sqlite3.OperationalError:
            raise DatabaseError(1305, f"SAVEPOINT {name} does not exist") from None
        return Result()

    def set_autocommit(self, wanted: bool) -> None:
        """SET autocommit."""
        self.session.autocommit = wanted
        if wanted:
            self.commit()

    # -- statements -----------------------------------------------------------------------------------------

    def execute(self, sql: str) -> Result:
        """Execute one statement."""
        if len(sql) > self.limits.statement_chars:
            raise DatabaseError(
                1153,
                f"Got a packet bigger than 'max_allowed_packet' bytes: a statement may have "
                f"{self.limits.statement_chars} characters",
            )
        if not sql.isascii() and any("\ud800" <= char <= "\udfff" for char in sql):
            raise DatabaseError(1300, "Invalid utf8mb4 character string")
        running.limits, running.error = self.limits, None
        running.deadline = time.monotonic() + self.limits.seconds
        running.variables = self.session.values
        try:
            done = self._run(self._plan(sql))
            if self.settings.commit_each:
                self.commit()
            return done
        except DatabaseError:
            raise
        except (sqlite3.Error, MemoryError, OverflowError, RecursionError) as error:
            raise self._told(error) from None
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # A tree of a form that no rule expects: the agent hears of it, and the episode goes on.
            raise DatabaseError(1105, f"Unknown error: {type(error).__name__}: {error}") from error
        finally:
            running.deadline = float("inf")

    def _plan(self, sql: str) -> Plan:
        tree = parse(sql)
        if self._shape[0] != self.catalog.version:
            self._shape = (self.catalog.version, self.catalog.shape())
        key = (
            sql,
            self._shape[1],
            self.name,
            self.settings.strict,
            self.settings.only_full_group_by,
            self.session.system.get("group_concat_max_len"),
        )
        known = _plans.get(key)
        if known is not None:
            _plans.move_to_end(key)
            return known
        compiler = Compiler(self.catalog, self.settings, self.session, self.name)
        made = plan(compiler, tree)
        if isinstance(made, Select) and compiler.kept and len(sql) <= LONGEST_KEPT:
            _plans[key] = made
            if len(_plans) > KEPT:
                _plans.popitem(last=False)
        return made

    def _run(self, made: Plan) -> Result:
        if isinstance(made, Select):
            return self._selected(made)
        if isinstance(made, Direct):
            if made.commits:
                self.commit()
                return self._whole(made)
            return made.run(self)
        return self._whole(made)

    def _whole(self, made: Any) -> Result:
        """Run a change so that it happens wholly or not at all."""
        if not self._connection.in_transaction and not self.session.autocommit:
            self.change("BEGIN")
        self.change("SAVEPOINT statement")
        try:
            done: Result = made.run(self)
        except BaseException:
            if self._connection.in_transaction:
                running.deadline = float("inf")
                self.change("ROLLBACK TO statement")
                self.change("RELEASE statement")
            raise
        self.change("RELEASE statement")
        self.session.affected = done.affected
        return done

    def _selected(self, made: Select) -> Result:
        rows = self.rows(made.sql)
        self.session.found, self.session.affected = len(rows), -1
        converters = [
            (place, convert)
            for place, convert in ((place, shown(kind)) for place, kind in enumerate(made.types))
            if convert is not None
        ]
        if converters:
            changed = []
            for row in rows:
                values = list(row)
                for place, convert in converters:
                    if values[place] is not None:
                        values[place] = convert(values[place])
                changed.append(tuple(values))
            rows = changed
        return Result(tuple(made.names), rows, len(rows))

    def _told(self, error: BaseException) -> DatabaseError:
        """What MySQL would say of something that SQLite met."""
        met, running.error = running.error, None
        if met is not None:
            return met
        text = str(error)
        if "interrupted" in text:
            return DatabaseError(
                3024, "Query execution was interrupted, maximum statement execution time exceeded"
            )
        if "full" in text:
            return DatabaseError(1114, "The table is full")
        if isinstance(error, MemoryError) or "too big" in text or "out of memory" in text:
            return DatabaseError(1038, "Out of sort memory, consider increasing server sort buffer size")
        if "tables in a join" in text:
            return DatabaseError(1116, "Too many tables; MySQL can only use 61 tables in a join")
        if (
            isinstance(error, RecursionError)
            or "too many" in text
            or "stack overflow" in text
            or "tree is too large" in text
        ):
            return DatabaseError(1436, f"Thread stack overrun: the statement is too large ({text})")
        return DatabaseError(1105, f"Unknown error: {text}")

    def reconnect(self) -> None:
        """Begin a new connection."""
        self.rollback()
        for table in [one for one in self.catalog.tables.values() if one.temporary]:
            self.catalog.remove(table.name)
            self.change(f"DROP TABLE {table.place}")
        self.session = Session()
        self.settings = self._given

    # -- the whole ------------------------------------------------------------------------------------------

    def add(self, table: Table) -> None:
        """Make a table with its rows."""
        made = StoredTable(table.name, self.catalog.new_place(), [])
        for name, kind in table.columns:
            if not name.strip():
                raise DatabaseError(1166, f"Incorrect column name '{name}'")
            if made.column(name) is not None:
                raise DatabaseError(1060, f"Duplicate column name '{name}'")
            made.columns.append(TableColumn(name, made.new_place(), parse_type(kind)))
        if self.catalog.get(table.name) is not None:
            raise DatabaseError(1050, f"Table '{table.name}' already exists")
        make(self, made)
        marks = ", ".join("?" * len(made.columns))
        kept = [
            [fitted(*_value_type(value), column, False) for value, column in zip(row, made.columns)]
            for row in table.rows
        ]
        self._connection.executemany(f"INSERT INTO {made.place} VALUES ({marks})", kept)
        self.catalog.add(made)

    def tables(self) -> list[str]:
        """The names of the tables, sorted."""
        return sorted(one.name for one in self.catalog.tables.values() if not one.temporary and not one.view)

    def table_rows(self, name: str) -> list[tuple[Value, ...]]:
        """Every row of a table."""
        return self.execute(f"SELECT * FROM `{name.replace('`', '``')}`").rows

    def snapshot(self) -> bytes:
        """The whole database."""
        state = self._random.getstate()
        head = {
            "catalog": self.catalog.save(),
            "values": self.session.values,
            "types": {name: list(kind) for name, kind in self.session.types.items()},
            "system": self.session.system,
            "settings": [self.settings.strict, self.settings.only_full_group_by],
            "random": [state[0], list(state[1]), state[2]],
            "session": [
                self.session.autocommit,
                self.session.affected,
                self.session.last_id,
                self.session.found,
            ],
            "name": self.name,
        }
        text = json.dumps(head).encode()
        return zlib.compress(len(text).to_bytes(4, "big") + text + image_of(self._connection), 1)

    def restore(self, snapshot: bytes) -> None:
        """Become what a snapshot holds."""
        data = zlib.decompress(snapshot)
        size = int.from_bytes(data[:4], "big")
        head = json.loads(data[4 : 4 + size])
        self.rollback()
        load(self._connection, data[4 + size :])
        self._take(head)

    def _take(self, head: Any) -> None:
        version = self.catalog.version + 1
        self.catalog = Catalog.load(head["catalog"])
        self.catalog.version = version
        self.name = head["name"]
        self.session = Session()
        self.session.values = head["values"]
        self.session.types = {name: Type(*kind) for name, kind in head["types"].items()}
        self.session.system = head["system"]
        self.session.autocommit, self.session.affected, self.session.last_id, self.session.found = head[
            "session"
        ]
        strict, grouped = head["settings"]
        self.settings = self._given._replace(strict=strict, only_full_group_by=grouped)
        version_, internal, gauss = head["random"]
        self._random.setstate((version_, tuple(internal), gauss))

    def fork(self) -> EmbeddedDatabase:
        """A second database that is as this one is now."""
        other = EmbeddedDatabase(self.name, self._given, self.limits)
        other.restore(self.snapshot())
        return other

    def close(self) -> None:
        """Let go of everything."""
        self._connection.close()


class EmbeddedEngine:
    """Databases in this process's memory; see `contract.Engine`."""

    def __init__(self, settings: Settings | None = None, limits: Limits | None = None) -> None:
        self.settings = settings or Settings()
        self.limits = limits or Limits()

    def open(self, tables: Sequence[Table], name: str = "db") -> EmbeddedDatabase:
        """Open a database with these tables."""
        database = EmbeddedDatabase(name, self.settings, self.limits)
        for table in tables:
            database.add(table)
        return database

    def close(self) -> None:
        """Nothing is shared: databases close by themselves."""
