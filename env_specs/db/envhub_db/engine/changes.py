"""INSERT, REPLACE, UPDATE and DELETE.

SQLite works out which rows and values are meant; what a column makes of a value and which key is violated is
decided here, row by row.
"""

from __future__ import annotations

import sqlite3
from typing import Any, NamedTuple, Protocol

from sqlglot import exp

from .catalog import Catalog, Key, StoredTable, TableColumn
from .compiling import Compiler, Place, Query, Session, Typed, converted, syntax, truth
from .contract import Result, Settings
from .errors import DatabaseError
from .queries import _limit, _sort_key, query
from .running import check_time
from .scope import Scope, Source
from .sources import fields_of, joined, stored
from .storing import fitted, implicit
from .types import T_INT, T_STRING, Type


class Running(Protocol):
    """The database that a plan runs on."""

    catalog: Catalog
    session: Session
    settings: Settings

    def rows(self, sql: str, parameters: Any = ()) -> list[tuple[Any, ...]]:
        """The rows of a query of SQLite's."""

    def change(self, sql: str, parameters: Any = ()) -> sqlite3.Cursor:
        """Execute a change of SQLite's."""


class Assignment(NamedTuple):
    """A column and what it is set to; None: its default."""

    column: TableColumn
    value: Typed | None


def _not_null(value: Any, column: TableColumn, explicit_error: bool) -> Any:
    if value is None and not column.nullable:
        if explicit_error:
            raise DatabaseError(1048, f"Column '{column.name}' cannot be null")
        return implicit(column)
    return value


def default(db: Running, column: TableColumn) -> Any:
    """What a column holds where no value is given.

    Raises:
        DatabaseError: 1364: it has none, in strict mode.
    """
    if column.now:
        now = db.rows("SELECT m_now()")[0][0]
        return fitted(now, T_STRING, column, False)
    if column.counts or (column.has_default and (column.default is not None or column.nullable)):
        return column.default
    if db.settings.strict:
        raise DatabaseError(1364, f"Field '{column.name}' doesn't have a default value")
    return implicit(column)


def _default_of(node: Any) -> bool:
    return (
        isinstance(node, (exp.Column, exp.Var))
        and node.name.upper() == "DEFAULT"
        and not getattr(node, "table", "")
    )


def _named(table: StoredTable, name: str) -> TableColumn:
    column = table.column(name)
    if column is None:
        raise DatabaseError(1054, f"Unknown column '{name}' in 'field list'")
    return column


# -- keys -----------------------------------------------------------------------------------------------


def _unique_keys(table: StoredTable) -> list[Key]:
    return [key for key in table.keys if key.unique or key.primary]


def _places(table: StoredTable, key: Key) -> list[TableColumn]:
    return [column for column in (table.column(name) for name in key.columns) if column is not None]


def conflicts(
    db: Running, table: StoredTable, row: dict[str, Any], but: int | None = None
) -> list[tuple[Key, int]]:
    """The keys that a row would violate, and the rows (SQLite's ids) that have them already."""
    found = []
    for key in _unique_keys(table):
        columns = _places(table, key)
        values = [row.get(column.place) for column in columns]
        if any(value is None for value in values):
            continue
        test = " AND ".join(
            f"{one.place} = "
            f"?{' COLLATE ci' if one.type.type.kind == 'string' and not one.type.type.exact else ''}"
            for one in columns
        )
        rows = db.rows(f"SELECT rowid FROM {table.place} WHERE {test} LIMIT 2", values)
        found += [(key, rowid) for (rowid,) in rows if rowid != but]
    return found


def duplicate(table: StoredTable, key: Key, row: dict[str, Any]) -> DatabaseError:
    """MySQL's error 1062."""
    values = "-".join(str(row.get(column.place)) for column in _places(table, key))
    return DatabaseError(1062, f"Duplicate entry '{values}' for key '{table.name}.{key.name}'")


def keep(db: Running, table: StoredTable, row: dict[str, Any]) -> int:
    """Put a row into a table; its id in SQLite."""
    places = list(row)
    marks = ", ".join("?" * len(places))
    cursor = db.change(
        f"INSERT INTO {table.place} ({', '.join(places)}) VALUES ({marks})", [row[one] for one in places]
    )
    return int(cursor.lastrowid or 0)


# -- INSERT -----------------------------------------------------------------------------------------------


class Insert:
    """INSERT and REPLACE, compiled."""

    def __init__(self, c: Compiler, node: exp.Insert) -> None:
        target = node.this
        schema = isinstance(target, exp.Schema)
        named = target.this if schema else target
        if not isinstance(named, exp.Table):
            raise syntax(node)
        for key in ("overwrite", "returning", "by_name", "where", "partition", "default", "alternative"):
            if node.args.get(key):
                raise syntax(node)
        self.table = stored(c, named)
        self.replace = bool(node.meta.get("replace"))
        self.ignore = bool(node.args.get("ignore"))
        names = [one.name for one in target.expressions] if schema else []
        self.columns = [_named(self.table, name) for name in names] or list(self.table.columns)
        seen = set()
        for one in self.columns:
            if one.place in seen:
                raise DatabaseError(1110, f"Column '{one.name}' specified twice")
            seen.add(one.place)
        self.rows: list[list[Typed | None]] = []
        self._counted = 0
        self.query: Query | None = None
        source = node.expression
        if isinstance(source, exp.Values):
            self._values(c, source, bool(names))
        elif isinstance(source, (exp.Select, exp.Union, exp.Subquery)):
            self.query = query(c, source, None)
            if len(self.query.types) != len(self.columns):
                raise DatabaseError(1136, "Column count doesn't match value count at row 1")
        else:
            raise syntax(node)
        self.updates = self._on_duplicate(c, node.args.get("conflict"))

    def _values(self, c: Compiler, source: exp.Values, named: bool) -> None:
        at = Place(Scope(), "field list")
        for place, row in enumerate(source.expressions, 1):
            if not isinstance(row, exp.Tuple):
                raise syntax(row)
            nodes = row.expressions
            if not nodes and not named:
                self.rows.append([None] * len(self.columns))
                continue
            if len(nodes) != len(self.columns):
                raise DatabaseError(1136, f"Column count doesn't match value count at row {place}")
            self.rows.append([None if _default_of(one) else c.expression(one, at) for one in nodes])

    def _on_duplicate(self, c: Compiler, conflict: Any) -> list[Assignment]:
        if conflict is None:
            return []
        if not conflict.args.get("duplicate"):
            raise syntax(conflict)
        scope = Scope(
            sources=[Source(self.table.name, fields_of(self.table, "s", self.table.name), self.table)]
        )
        new = {
            one.name.lower(): Typed(f":n{place}", one.type.type)
            for place, one in enumerate(self.table.columns)
        }
        scope.aliases = {"new row": new}
        return assignments(c, conflict.expressions, scope, self.table, Place(scope, "field list"))

    def run(self, db: Running) -> Result:
        """Do it."""
        kinds: list[list[Type]]
        if self.query is not None:
            values = [list(row) for row in db.rows(self.query.sql)]
            kinds = [self.query.types] * len(values)
        else:
            values, kinds = [], []
            for row in self.rows:
                values.append(self._evaluated(db, row))
                kinds.append([one.type if one is not None else T_INT for one in row])
        affected, first_id, numbered, start = 0, 0, 0, self.table.next_number
        many = len(values) > 1 or self.query is not None
        for place, (row, types) in enumerate(zip(values, kinds), 1):
            check_time()
            given = self.rows[place - 1] if self.query is None else None
            wanted = self._row(db, row, types, given, place, many)
            counted = self._counted = self._count(wanted)
            numbered += bool(counted)
            affected += self._put(db, wanted)
            first_id = first_id or counted
        if first_id:
            db.session.last_id = first_id
            self.table.next_number = max(self.table.next_number, start + numbered)
        return Result(affected=affected)

    def _evaluated(self, db: Running, row: list[Typed | None]) -> list[Any]:
        if all(one is None or one.literal is not None or one.sql == "NULL" for one in row):
            return [None if one is None else one.literal for one in row]
        parts = ", ".join("NULL" if one is None else one.sql for one in row)
        return list(db.rows(f"SELECT {parts}")[0])

    def _row(
        self, db: Running, row: list[Any], kinds: list[Type], given: Any, place: int, many: bool
    ) -> dict[str, Any]:
        strict = db.settings.strict and not self.ignore
        wanted: dict[str, Any] = {}
        for at, (column, value, kind) in enumerate(zip(self.columns, row, kinds)):
            if given is not None and given[at] is None:
                wanted[column.place] = default(db, column)
                continue
            fit = fitted(value, kind, column, strict, place)
            if not column.counts:
                fit = _not_null(fit, column, not self.ignore and (strict or not many))
            wanted[column.place] = fit
        for column in self.table.columns:
            if column.place not in wanted:
                wanted[column.place] = default(db, column)
        return wanted

    def _count(self, row: dict[str, Any]) -> int:
        counted = next((one for one in self.table.columns if one.counts), None)
        if counted is None:
            return 0
        table, given = self.table, row.get(counted.place)
        if not given:
            row[counted.place] = table.next_number
            table.next_number += 1
            return int(row[counted.place])
        table.next_number = max(table.next_number, int(given) + 1)
        return 0

    def _put(self, db: Running, row: dict[str, Any]) -> int:
        found = conflicts(db, self.table, row) if _unique_keys(self.table) else []
        if not found:
            keep(db, self.table, row)
            return 1
        if self.replace:
            gone = {rowid for _, rowid in found}
            for rowid in gone:
                db.change(f"DELETE FROM {self.table.place} WHERE rowid = ?", (rowid,))
            keep(db, self.table, row)
            return 1 + len(gone)
        if self.updates:
            new = {f"n{place}": row[one.place] for place, one in enumerate(self.table.columns)}
            changed = write(db, self.table, self.updates, "s.rowid = :rowid", {**new, "rowid": found[0][1]})
            return 2 * changed
        if self.ignore:
            if self._counted:
                self.table.next_number -= 1  # the next row of this statement takes the number
            return 0
        raise duplicate(self.table, found[0][0], row)


# -- UPDATE -----------------------------------------------------------------------------------------------


def assignments(
    c: Compiler, nodes: list[Any], scope: Scope, table: StoredTable, at: Place
) -> list[Assignment]:
    """What columns are set to, one after the other: later values see the earlier columns as they are set."""
    found: list[Assignment] = []
    for node in nodes:
        if not isinstance(node, exp.EQ) or not isinstance(node.this, exp.Column):
            raise syntax(node)
        field, _ = scope.find(node.this.name, node.this.table, "field list")
        source = next(one for one in scope.sources if any(other.sql == field.sql for other in one.fields))
        column = _named(source.table, field.name)
        value = None if _default_of(node.expression) else c.expression(node.expression, at)
        found.append(Assignment(column, value))
        if value is not None:
            now = Typed(f"({converted(value, column.type.type)})", column.type.type)
            source.fields = [
                one._replace(sql=now.sql) if one.sql == field.sql else one for one in source.fields
            ]
    return found


def write(
    db: Running,
    table: StoredTable,
    sets: list[Assignment],
    where: str,
    parameters: Any = (),
    tail: str = "",
    tables: str = "",
    name: str = "s",
    ignore: bool = False,
) -> int:
    """Set columns of the rows that a condition finds; how many changed."""
    old = ", ".join(f"{name}.{one.column.place}" for one in sets)
    new = ", ".join("NULL" if one.value is None else one.value.sql for one in sets)
    source = tables or f"{table.place} AS {name}"
    rows = db.rows(
        f"SELECT {name}.rowid, {old}, {new} FROM {source}{' WHERE ' + where if where else ''}{tail}",
        parameters,
    )
    strict = db.settings.strict and not ignore
    keyed = {column.place for key in _unique_keys(table) for column in _places(table, key)}
    touched = any(one.column.place in keyed for one in sets)
    count, changed, done = len(sets), 0, set()
    for at, (rowid, *values) in enumerate(rows, 1):
        check_time()
        if rowid in done or rowid is None:
            continue
        done.add(rowid)
        before: dict[str, Any] = {}
        after: dict[str, Any] = {}
        for place, one in enumerate(sets):
            before.setdefault(one.column.place, values[place])
            value = (
                default(db, one.column)
                if one.value is None
                else fitted(values[count + place], one.value.type, one.column, strict, at)
            )
            after[one.column.place] = _not_null(value, one.column, strict)
        if before == after and list(map(type, before.values())) == list(map(type, after.values())):
            continue
        if touched:
            whole = db.rows(
                f"SELECT {', '.join(column.place for column in table.columns)} FROM {table.place} WHERE "
                f"rowid = ?",
                (rowid,),
            )[0]
            row = {**dict(zip((column.place for column in table.columns), whole)), **after}
            violated = conflicts(db, table, row, rowid)
            if violated and ignore:
                continue
            if violated:
                raise duplicate(table, violated[0][0], row)
        db.change(
            f"UPDATE {table.place} SET {', '.join(f'{one} = ?' for one in after)} WHERE rowid = ?",
            [*after.values(), rowid],
        )
        changed += 1
    return changed


def reads(node: Any, name: str) -> bool:
    """Whether a query in an expression reads a table directly, not through a derived table."""
    if isinstance(node, exp.Select):
        start = node.args.get("from_") or node.args.get("from")
        tables = [start.this] if start is not None else []
        tables += [join.this for join in node.args.get("joins") or []]
        if any(isinstance(one, exp.Table) and one.name == name for one in tables):
            return True
        return any(
            reads(child, name)
            for key, child in _children(node)
            if key not in ("from_", "from", "joins", "with_", "with")
        )
    return any(reads(child, name) for _, child in _children(node))


def _children(node: exp.Expression) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for key, value in node.args.items():
        for one in value if isinstance(value, list) else [value]:
            if isinstance(one, exp.Expression):
                found.append((key, one))
    return found


def _refuse_reading(nodes: list[Any], table: StoredTable) -> None:
    for node in nodes:
        if node is not None and reads(node, table.name):
            raise DatabaseError(
                1093, f"You can't specify target table '{table.name}' for update in FROM clause"
            )


def _tail(c: Compiler, node: Any, scope: Scope) -> str:
    order, limit = node.args.get("order"), node.args.get("limit")
    keys = [
        _sort_key(c, one, [], scope, Place(scope, "order clause"))
        for one in (order.expressions if order is not None else [])
    ]
    return (f" ORDER BY {', '.join(keys)}" if keys else "") + _limit(limit, None)


class Update:
    """UPDATE of one table or of joined ones, compiled."""

    def __init__(self, c: Compiler, node: exp.Update) -> None:
        for key in ("from_", "from", "returning"):
            if node.args.get(key):
                raise syntax(node)
        scope = Scope()
        from .queries import with_clause

        self.head = with_clause(c, node, scope)
        self.tables = joined(c, node.this, [], scope)
        where = node.args.get("where")
        self.where = (
            truth(c.expression(where.this, Place(scope, "where clause"))) if where is not None else ""
        )
        many = len(scope.sources) > 1
        if many and (node.args.get("order") is not None or node.args.get("limit") is not None):
            raise DatabaseError(
                1221,
                "Incorrect usage of UPDATE and ORDER BY"
                if node.args.get("order") is not None
                else "Incorrect usage of UPDATE and LIMIT",
            )
        self.tail = _tail(c, node, scope)
        self.ignore = bool(node.meta.get("ignore"))
        self.targets: list[tuple[StoredTable, str, list[Assignment]]] = []
        names = {}
        for source in scope.sources:
            names[source.alias] = source.fields[0].sql.partition(".")[0] if source.fields else ""
        groups: dict[str, list[Any]] = {}
        for one in node.expressions:
            if not isinstance(one, exp.EQ) or not isinstance(one.this, exp.Column):
                raise syntax(one)
            field, _ = scope.find(one.this.name, one.this.table, "field list")
            groups.setdefault(field.source, []).append(one)
        if not groups:
            raise syntax(node)
        for alias, nodes in groups.items():
            source = next(one for one in scope.sources if one.alias == alias)
            if source.table is None:
                raise DatabaseError(1288, f"The target table {alias} of the UPDATE is not updatable")
            _refuse_reading([*nodes, where], source.table)
            self.targets.append(
                (
                    source.table,
                    names[alias],
                    assignments(c, nodes, scope, source.table, Place(scope, "field list")),
                )
            )

    def run(self, db: Running) -> Result:
        """Do it."""
        changed = 0
        for table, name, sets in self.targets:
            changed += write(db, table, sets, self.where, (), self.tail, self.tables, name, self.ignore)
        return Result(affected=changed)


# -- DELETE -----------------------------------------------------------------------------------------------


class Delete:
    """DELETE from one table or from joined ones, compiled."""

    def __init__(self, c: Compiler, node: exp.Delete) -> None:
        for key in ("returning", "cluster"):
            if node.args.get(key):
                raise syntax(node)
        if node.this is None or not isinstance(node.this, exp.Table):
            raise syntax(node)
        scope = Scope()
        using = node.args.get("using") or []
        first, joins = (using[0], list(using[1:])) if using else (node.this, [])
        self.tables = joined(
            c,
            first,
            [one if isinstance(one, exp.Join) else exp.Join(this=one.copy()) for one in joins],
            scope,
        )
        where = node.args.get("where")
        targets = node.args.get("tables") or ([node.this] if using else [])
        sources = []
        for one in targets:
            named = one.name
            source = next((each for each in scope.sources if each.alias == named), None)
            if source is None:
                raise DatabaseError(1109, f"Unknown table '{named}' in MULTI DELETE")
            sources.append(source)
        self.targets: list[tuple[StoredTable, str]] = []
        for source in sources or scope.sources[:1]:
            if source.table is None:
                raise DatabaseError(1288, f"The target table {source.alias} of the DELETE is not updatable")
            _refuse_reading([where], source.table)
            self.targets.append((source.table, source.fields[0].sql.partition(".")[0]))
        self.where = (
            truth(c.expression(where.this, Place(scope, "where clause"))) if where is not None else ""
        )
        self.tail = _tail(c, node, scope)

    def run(self, db: Running) -> Result:
        """Do it."""
        gone = 0
        condition = f" WHERE {self.where}" if self.where else ""
        found = [
            (
                table,
                db.rows(
                    f"SELECT DISTINCT {name}.rowid FROM {self.tables}{condition}"
                    if not self.tail
                    else f"SELECT {name}.rowid FROM {self.tables}{condition}{self.tail}"
                ),
            )
            for table, name in self.targets
        ]
        for table, rows in found:
            for (rowid,) in rows:
                if rowid is not None:
                    gone += db.change(f"DELETE FROM {table.place} WHERE rowid = ?", (rowid,)).rowcount
        return Result(affected=gone)
