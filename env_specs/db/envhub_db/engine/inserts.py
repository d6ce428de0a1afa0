"""INSERT and REPLACE."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from .compiling import Compiler, Place, Query, Typed, syntax
from .contract import Result
from .errors import DatabaseError
from .queries import query
from .rows import (
    Assignment,
    Running,
    assignments,
    conflicts,
    default,
    duplicate,
    is_default,
    keep,
    named_column,
    not_null,
    unique_keys,
    write,
)
from .running import check_time
from .scope import Scope, Source
from .sources import fields_of, stored
from .storing import fitted
from .types import T_INT, Type


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
        self.columns = [named_column(self.table, name) for name in names] or list(self.table.columns)
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
            self.rows.append([None if is_default(one) else c.expression(one, at) for one in nodes])

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
                fit = not_null(fit, column, not self.ignore and (strict or not many))
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
        found = conflicts(db, self.table, row) if unique_keys(self.table) else []
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
