"""SELECT, UNION, subqueries and common table expressions."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from .aggregated import aggregates_in
from .compiling import Compiler, Place, Query, Typed, collated, converted, keyed, rule, syntax, truth
from .errors import DatabaseError
from .scope import Field, Scope, Source
from .sorting import Item, determined, group_keys, item_value, limit_clause, sort_key_sql
from .sources import from_clause
from .types import NULL, STRING, T_INT, T_STRING, Type, merged

SETS = (exp.Union, exp.Except, exp.Intersect)


def query(c: Compiler, node: Any, parent: Scope | None) -> Query:
    """Compile a SELECT, a UNION, or one in parentheses."""
    if isinstance(node, exp.Subquery):
        return _wrapped(c, node, parent)
    if isinstance(node, SETS):
        return union(c, node, parent)
    if isinstance(node, exp.Select):
        return select(c, node, parent)
    if isinstance(node, (exp.Values, exp.Table)):
        raise syntax(node)
    raise syntax(node)


def subquery(c: Compiler, node: Any, scope: Scope) -> Query:
    """Compile a query that stands in an expression, and sees the names around it."""
    return query(c, node, scope)


def _wrapped(c: Compiler, node: exp.Subquery, parent: Scope | None) -> Query:
    inner = query(c, node.this, parent)
    order, limit, offset = node.args.get("order"), node.args.get("limit"), node.args.get("offset")
    if order is None and limit is None:
        return inner
    return _outer(c, inner, order, limit, offset, parent)


def _outer(c: Compiler, inner: Query, order: Any, limit: Any, offset: Any, parent: Scope | None) -> Query:
    """ORDER BY and LIMIT around a whole query, by its columns' names."""
    name = c.name("q")
    scope = Scope(parent=parent)
    fields = [
        Field(one, f"{name}.c{place}", kind, "")
        for place, (one, kind) in enumerate(zip(inner.names, inner.types), 1)
    ]
    scope.sources = [Source("", fields)]
    keys = [
        sort_key_sql(c, one, [Item(f.name, None, f) for f in fields], scope, Place(scope, "order clause"))
        for one in (order.expressions if order else [])
    ]
    tail = f" ORDER BY {', '.join(keys)}" if keys else ""
    tail += limit_clause(limit, offset)
    return Query(
        f"SELECT * FROM ({inner.sql}) AS {name}{tail}", inner.names, inner.types, limited=limit is not None
    )


# -- WITH -----------------------------------------------------------------------------------------------


def with_clause(c: Compiler, node: Any, scope: Scope) -> str:
    """Compile the common table expressions of a query into its scope; the SQL that goes before the query."""
    clause = node.args.get("with_") or node.args.get("with")
    if clause is None:
        return ""
    recursive = bool(clause.args.get("recursive"))
    parts = []
    for one in clause.expressions:
        name = c.name("w")
        columns = [column.name for column in one.args["alias"].args.get("columns") or []]
        inner = one.this
        if recursive and isinstance(inner, exp.Union):
            found = _recursive(c, inner, scope, one.alias, name, columns)
        else:
            found = query(c, inner, scope)
        _define(scope, one.alias, name, columns, found)
        places = ", ".join(f"c{place}" for place in range(1, len(found.types) + 1))
        parts.append(f"{name}({places}) AS ({found.sql})")
    return f"WITH {'RECURSIVE ' if recursive else ''}{', '.join(parts)} "


def _define(scope: Scope, alias_name: str, name: str, columns: list[str], found: Query) -> None:
    if columns and len(columns) != len(found.types):
        raise DatabaseError(
            1353,
            "In definition of view, derived table or common table expression, SELECT list and column "
            "names list have different column counts",
        )
    scope.ctes[alias_name.lower()] = (name, columns or found.names, found.types)


def _recursive(
    c: Compiler, node: exp.Union, scope: Scope, alias_name: str, name: str, columns: list[str]
) -> Query:
    first = query(c, node.this, scope)
    _define(scope, alias_name, name, columns, first)
    second = query(c, node.expression, scope)
    _same_width(first, second)
    word = "UNION" if node.args.get("distinct") else "UNION ALL"
    return Query(f"{first.sql} {word} {second.sql}", first.names, first.types)


# -- UNION ----------------------------------------------------------------------------------------------


def _same_width(first: Query, second: Query) -> None:
    if len(first.types) != len(second.types):
        raise DatabaseError(1222, "The used SELECT statements have a different number of columns")


def _side(c: Compiler, found: Query, types: list[Type]) -> str:
    name = c.name("q")
    parts = [
        f"{converted(Typed(f'{name}.c{place}', own), kind)} AS c{place}"
        for place, (own, kind) in enumerate(zip(found.types, types), 1)
    ]
    return f"SELECT {', '.join(parts)} FROM ({found.sql}) AS {name}"


def _key(value: Typed) -> str:
    return f"m_key({value.sql})" if value.type.kind == STRING and not value.type.exact else value.sql


def union(c: Compiler, node: Any, parent: Scope | None) -> Query:
    """UNION, EXCEPT and INTERSECT: columns in the types that hold both sides'."""
    scope = Scope(parent=parent)
    head = with_clause(c, node, scope)
    first, second = query(c, node.this, scope), query(c, node.expression, scope)
    _same_width(first, second)
    distinct = bool(node.args.get("distinct", True))
    types = [merged(one, other) for one, other in zip(first.types, second.types)]
    types = [T_STRING if kind.kind == NULL else kind for kind in types]
    one, other = _side(c, first, types), _side(c, second, types)
    if isinstance(node, exp.Union) and not distinct:
        sql = f"{head}{one} UNION ALL {other}"
    else:
        name = c.name("q")
        values = [collated(Typed(f"{name}.c{place}", kind)) for place, kind in enumerate(types, 1)]
        listed = ", ".join(f"{value} AS c{place}" for place, value in enumerate(values, 1))
        if isinstance(node, exp.Union):  # SQLite's UNION sorts; DISTINCT keeps the order in which rows come
            sql = f"{head}SELECT DISTINCT {listed} FROM ({one} UNION ALL {other}) AS {name}"
        else:
            word = "NOT IN" if isinstance(node, exp.Except) else "IN"
            key = (
                f"m_row({', '.join(_key(Typed(f'{name}.c{at}', kind)) for at, kind in enumerate(types, 1))})"
            )
            chosen = f"{key} {word} (SELECT {key} FROM ({other}) AS {name})"
            sql = f"{head}SELECT DISTINCT {listed} FROM ({one}) AS {name} WHERE {chosen}"
    whole = Query(sql, first.names, types)
    order, limit, offset = node.args.get("order"), node.args.get("limit"), node.args.get("offset")
    return whole if order is None and limit is None else _outer(c, whole, order, limit, offset, parent)


# -- SELECT ---------------------------------------------------------------------------------------------

KNOWN = {
    "expressions", "from_", "from", "where", "group", "having", "order", "limit", "offset", "distinct",
    "joins", "with_", "with",
    "windows", "locks", "operation_modifiers", "hint", "kind",
}  # fmt: skip


def _items(c: Compiler, node: exp.Select, scope: Scope) -> list[Item]:
    found: list[Item] = []
    for one in node.expressions:
        if isinstance(one, exp.Star) or (isinstance(one, exp.Column) and isinstance(one.this, exp.Star)):
            table = one.table if isinstance(one, exp.Column) else ""
            sources = [source for source in scope.sources if not table or source.alias == table]
            if table and not sources:
                raise DatabaseError(1051, f"Unknown table '{table}'")
            if not sources:
                raise DatabaseError(1096, "No tables used")
            found += [
                Item(field.name, None, field)
                for source in sources
                for field in source.fields
                if not field.hidden or table
            ]
        elif isinstance(one, exp.Alias):
            found.append(Item(one.alias, one.this))
        else:
            found.append(
                Item(
                    one.name
                    if isinstance(one, exp.Column)
                    else str(one.meta.get("text") or one.sql("mysql")),
                    one,
                )
            )
    if not found:
        raise syntax(node)
    return found


def select(c: Compiler, node: exp.Select, parent: Scope | None) -> Query:
    """Compile a SELECT."""
    for name, value in node.args.items():
        if value and name not in KNOWN:
            raise syntax(value[0] if isinstance(value, list) else value)
    if node.args.get("kind"):
        raise syntax(node)
    scope = Scope(parent=parent)
    head = with_clause(c, node, scope)
    tables = from_clause(c, node, scope)
    scope.windows = {str(one.this.name).lower(): one for one in node.args.get("windows") or []}
    items = _items(c, node, scope)
    scope.aliases = {item.name.lower(): item.node for item in reversed(items) if item.node is not None}
    where = node.args.get("where")
    conditions = [truth(c.expression(where.this, Place(scope, "where clause")))] if where is not None else []

    group, having, order = node.args.get("group"), node.args.get("having"), node.args.get("order")
    ordered = order.expressions if order is not None else []
    keys, rollup = group_keys(c, group, items, scope)
    aggregated = any(aggregates_in(item.node) for item in items if item.node is not None)
    aggregated = (
        aggregated
        or (having is not None and aggregates_in(having.this))
        or any(aggregates_in(one.this) for one in ordered)
    )
    if keys or aggregated:
        scope.grouped, scope.keys = True, [one.sql for one in keys]
        scope.determined = determined(scope, [one.sql for one in keys])
    at = Place(scope, "field list", aggregates=True, windows=True)
    values = [item_value(c, item, at) for item in items]
    test = ""
    scope.listed = [
        item.name.lower() for item in items if item.field is not None or isinstance(item.node, exp.Column)
    ]
    if having is not None:
        test = truth(c.expression(having.this, Place(scope, "having clause", aggregates=True)))
        if not scope.grouped:
            conditions.append(test)
            test = ""
    sorting = [
        sort_key_sql(c, one, items, scope, Place(scope, "order clause", aggregates=True, windows=True))
        for one in ordered
    ]
    distinct = node.args.get("distinct")
    shown = [collated(value) if distinct else value.sql for value in values]
    columns = ", ".join(f"{sql} AS c{place}" for place, sql in enumerate(shown, 1))
    body = f"SELECT {'DISTINCT ' if distinct else ''}{columns}{tables}"
    body += f" WHERE {' AND '.join(conditions)}" if conditions else ""
    if keys:
        body += f" GROUP BY {', '.join(map(keyed, keys))}"
    elif test:
        body, test = (
            f"SELECT {', '.join(f'c{place}' for place in range(1, len(values) + 1))} FROM "
            f"({body.replace(' AS c1', f' AS c1, {test} AS test', 1)}) WHERE test",
            "",
        )
        sorting = []
    body += f" HAVING {test}" if test else ""
    body += f" ORDER BY {', '.join(sorting)}" if sorting else ""
    limit, offset = node.args.get("limit"), node.args.get("offset")
    names, types = [item.name for item in items], [value.type for value in values]
    if rollup and keys:
        body = _with_rollup(c, node, parent)
        if sorting:
            whole = Query(body, names, types)
            return _outer(c, whole, order, node.args.get("limit"), node.args.get("offset"), parent)
    single = scope.grouped and not keys
    return Query(
        head + body + limit_clause(limit, offset),
        names,
        types,
        limited=limit is not None,
        single=single or not scope.sources,
    )


def _with_rollup(c: Compiler, node: exp.Select, parent: Scope | None) -> str:
    """Groups, with a row of all after each run of them, and one of everything in the end."""
    keys, width = node.args["group"].expressions, len(node.expressions)
    parts = []
    for level in range(len(keys), -1, -1):
        part = node.copy()
        part.set("order", None)
        part.set("group", exp.Group(expressions=[key.copy() for key in keys[:level]]) if level else None)
        for one in part.expressions:
            inner = one.this if isinstance(one, exp.Alias) else one
            if any(
                inner == key or (isinstance(one, exp.Alias) and key == exp.column(one.alias))
                for key in keys[level:]
            ):
                inner.replace(exp.Null())
        for place, key in enumerate(keys):
            part.append("expressions", exp.Literal.number(int(place >= level)))
            part.append("expressions", key.copy() if place < level else exp.Null())
        parts.append(query(c, part, parent))
    types = [parts[0].types[place] for place in range(len(parts[0].types))]
    order = []
    for place in range(width, len(types), 2):
        order += [f"c{place + 1}", keyed(Typed(f"c{place + 2}", types[place + 1]))]
    listed = ", ".join(f"c{place}" for place in range(1, width + 1))
    some = f"WHERE EXISTS (SELECT 1 FROM ({parts[0].sql}))"
    united = " UNION ALL ".join(
        f"SELECT * FROM ({part.sql}) {some if part is parts[-1] else ''}" for part in parts
    )
    return f"SELECT {listed} FROM ({united}) ORDER BY {', '.join(order)}"


# -- queries in expressions -------------------------------------------------------------------------------


@rule(exp.Subquery)
def scalar(c: Compiler, node: exp.Subquery, at: Place) -> Typed:
    """A query that stands for a value."""
    found = subquery(c, node, at.scope)
    if len(found.types) != 1:
        raise DatabaseError(1241, "Operand should contain 1 column(s)")
    if found.single:
        return Typed(f"({found.sql})", found.types[0])
    name = c.name("q")
    return Typed(f"(SELECT m_single({name}.c1) FROM ({found.sql}) AS {name})", found.types[0])


@rule(exp.Exists)
def exists(c: Compiler, node: exp.Exists, at: Place) -> Typed:
    """EXISTS (…)."""
    return Typed(f"EXISTS ({subquery(c, node.this, at.scope).sql})", T_INT)
