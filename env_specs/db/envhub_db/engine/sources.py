"""FROM: tables, derived tables, joins, and the tables of `information_schema`."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from .catalog import StoredTable
from .comparisons import compared
from .compiling import Compiler, Place, Typed, syntax, truth
from .errors import DatabaseError
from .scope import Field, Scope, Source


def missing(database: str, name: str) -> DatabaseError:
    """MySQL's error 1146."""
    return DatabaseError(1146, f"Table '{database}.{name}' doesn't exist")


def refused(c: Compiler, database: str) -> DatabaseError:
    """What a user with one database hears of every other one."""
    return DatabaseError(1044, f"Access denied for user 'agent'@'localhost' to database '{database}'")


def stored(c: Compiler, node: exp.Table) -> StoredTable:
    """The table that a statement names.

    Raises:
        DatabaseError: 1146: there is none; 1142: it is another database's.
    """
    if node.args.get("catalog") or not isinstance(node.this, exp.Identifier):
        raise syntax(node)
    name = node.name
    if node.db and node.db != c.database:
        raise DatabaseError(1142, f"SELECT command denied to user 'agent'@'localhost' for table '{name}'")
    found = c.catalog.get(name)
    if found is None:
        raise missing(c.database, name)
    return found


def fields_of(table: StoredTable, name: str, alias: str) -> list[Field]:
    """The columns of a table under a name in SQLite and an alias in MySQL."""
    return [Field(one.name, f"{name}.{one.place}", one.type.type, alias) for one in table.columns]


def _derived(c: Compiler, node: exp.Subquery, scope: Scope) -> tuple[str, Source]:
    from .queries import query

    alias = node.alias
    if not alias:
        raise DatabaseError(1248, "Every derived table must have its own alias")
    found = query(
        c,
        exp.Subquery(this=node.this) if not isinstance(node.this, exp.Table) else node.this,
        scope.parent_for_derived(),
    )
    name = c.name("s")
    written = node.args["alias"].args.get("columns") or []
    names = [one.name for one in written] or found.names
    if len(names) != len(found.types):
        raise DatabaseError(
            1353,
            "In definition of view, derived table or common table expression, SELECT list and column "
            "names list have different column counts",
        )
    seen = set()
    for one in names:
        if one.lower() in seen:
            raise DatabaseError(1060, f"Duplicate column name '{one}'")
        seen.add(one.lower())
    fields = [
        Field(one, f"{name}.c{place}", kind, alias)
        for place, (one, kind) in enumerate(zip(names, found.types), 1)
    ]
    return f"({found.sql}) AS {name}", Source(alias, fields)


def _table(c: Compiler, node: exp.Table, scope: Scope) -> tuple[str, Source]:
    from .information import information

    for key in ("pivots", "sample", "version", "when", "only", "changes"):
        if node.args.get(key):
            raise syntax(node)
    if node.db.lower() == "information_schema":
        sql, columns = information(c, node.name)
        name = c.name("s")
        alias = node.alias or node.name
        fields = [Field(one, f"{name}.c{place}", kind, alias) for place, (one, kind) in enumerate(columns, 1)]
        return f"({sql}) AS {name}", Source(alias, fields, database="information_schema")
    known = scope.cte(node.name) if not node.db else None
    alias = node.alias or node.name
    name = c.name("s")
    if known is not None:
        place, names, types = known
        fields = [
            Field(one, f"{name}.c{at}", kind, alias) for at, (one, kind) in enumerate(zip(names, types), 1)
        ]
        return f"{place} AS {name}", Source(alias, fields)
    table = stored(c, node)
    if table.view:
        from .parsing import parse
        from .queries import query

        found = query(c, parse(table.view), None)
        fields = [
            Field(one.name, f"{name}.c{at}", kind, alias)
            for at, (one, kind) in enumerate(zip(table.columns, found.types), 1)
        ]
        return f"({found.sql}) AS {name}", Source(alias, fields)
    return f"{table.place} AS {name}", Source(alias, fields_of(table, name, alias), table)


def _source(c: Compiler, node: Any, scope: Scope) -> str:
    if isinstance(node, exp.Subquery):
        sql, source = _derived(c, node, scope)
    elif isinstance(node, exp.Table):
        sql, source = _table(c, node, scope)
    else:
        raise syntax(node)
    if any(one.alias == source.alias for one in scope.sources):
        raise DatabaseError(1066, f"Not unique table/alias: '{source.alias}'")
    scope.sources.append(source)
    return sql


def _columns_in_both(scope: Scope, new: Source, before: list[Source], node: exp.Join) -> list[str]:
    if str(node.args.get("method") or "").upper() == "NATURAL":
        earlier = {field.name.lower() for source in before for field in source.fields if not field.hidden}
        return [field.name for field in new.fields if field.name.lower() in earlier]
    return [one.name for one in node.args.get("using") or []]


def _join(c: Compiler, node: exp.Join, scope: Scope) -> str:
    side, kind = str(node.args.get("side") or "").upper(), str(node.args.get("kind") or "").upper()
    method = str(node.args.get("method") or "").upper()
    if (
        side == "FULL"
        or method not in ("", "NATURAL")
        or kind not in ("", "INNER", "CROSS", "OUTER", "STRAIGHT_JOIN", "STRAIGHT")
    ):
        raise syntax(node)
    before = list(scope.sources)
    inner = node.this
    sql = _source(c, inner, scope)
    for nested in inner.args.get("joins") or []:
        sql += _join(c, nested, scope)
    if inner.args.get("joins"):
        sql = f"({sql})"
    new = scope.sources[len(before)]
    tests: list[str] = []
    for name in _columns_in_both(scope, new, before, node):
        tests.append(_merge(scope, before, new, name, side == "RIGHT"))
    on = node.args.get("on")
    if on is not None:
        tests.append(truth(c.expression(on, Place(scope, "on clause"))))
    if side and not tests and method != "NATURAL":
        raise syntax(node, "")
    word = f" {side} JOIN " if side else " JOIN "
    return f"{word}{sql}" + (f" ON {' AND '.join(tests)}" if tests else "")


def _merge(scope: Scope, before: list[Source], new: Source, name: str, right: bool) -> str:
    left: Field | None = Scope(sources=before).local(name, "", "from clause")
    other = Scope(sources=[new]).local(name, "", "from clause")
    if left is None or other is None:
        raise DatabaseError(1054, f"Unknown column '{name}' in 'from clause'")
    losers = before if right else [new]
    for source in losers:
        source.fields = [
            one._replace(hidden=True) if one.name.lower() == name.lower() else one for one in source.fields
        ]
    return compared(Typed(left.sql, left.type), Typed(other.sql, other.type), "=")


def from_clause(c: Compiler, node: exp.Select, scope: Scope) -> str:
    """Compile FROM and its joins into a scope; the SQL, with a space before it."""
    start = node.args.get("from_") or node.args.get("from")
    if start is None:
        return ""
    first = start.this
    if (
        isinstance(first, exp.Table)
        and not first.db
        and first.name.upper() == "DUAL"
        and not first.this.args.get("quoted")
    ):
        return ""
    sql = joined(c, first, node.args.get("joins") or [], scope)
    return f" FROM {sql}"


def joined(c: Compiler, first: Any, joins: list[exp.Join], scope: Scope) -> str:
    """Compile a table and what is joined to it into a scope."""
    sql = _source(c, first, scope)
    for join in [*(first.args.get("joins") or []), *joins]:
        sql += _join(c, join, scope)
    return sql
