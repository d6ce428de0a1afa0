"""UPDATE and DELETE.

SQLite works out which rows and values are meant; what a column makes of a value and which key is violated is
decided row by row in `rows`.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from .catalog import StoredTable
from .compiling import Compiler, Place, syntax, truth
from .contract import Result
from .errors import DatabaseError
from .rows import Assignment, Running, assignments, write
from .scope import Scope
from .sorting import limit_clause, sort_key_sql
from .sources import joined


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
        sort_key_sql(c, one, [], scope, Place(scope, "order clause"))
        for one in (order.expressions if order is not None else [])
    ]
    return (f" ORDER BY {', '.join(keys)}" if keys else "") + limit_clause(limit, None)


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
