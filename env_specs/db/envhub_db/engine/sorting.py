"""GROUP BY, ORDER BY and LIMIT, by names, aliases and places."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlglot import exp

from .aggregated import aggregates_in
from .columns import alias
from .compiling import Compiler, Place, Typed, keyed, syntax
from .errors import DatabaseError
from .scope import Field, Scope
from .types import INT


class Item(NamedTuple):
    """One column of a select list: its name, its node, or what it is already where a star gave it."""

    name: str
    node: Any
    field: Field | None = None


def limit_clause(limit: Any, offset: Any) -> str:
    """LIMIT and OFFSET; MySQL takes whole numbers only."""

    def whole(node: Any) -> int:
        value = node.expression if isinstance(node, (exp.Limit, exp.Offset)) else node
        if not isinstance(value, exp.Literal) or value.args.get("is_string") or not str(value.this).isdigit():
            raise syntax(node, value.sql("mysql") if isinstance(value, exp.Expression) else "")
        return min(int(str(value.this)), (1 << 63) - 1)

    if limit is None:
        if offset is not None:
            raise syntax(offset)
        return ""
    if not isinstance(limit, exp.Limit):
        raise syntax(limit)
    return f" LIMIT {whole(limit)}" + (f" OFFSET {whole(offset)}" if offset is not None else "")


def item_value(c: Compiler, item: Item, at: Place) -> Typed:
    """What a column of the select list stands for."""
    if item.field is None:
        return c.expression(item.node, at)
    column = exp.column(
        exp.to_identifier(item.field.name),
        table=exp.to_identifier(item.field.source) if item.field.source else None,
    )
    if at.scope.grouped:
        return c.expression(column, at)
    return Typed(item.field.sql, item.field.type)


def determined(scope: Scope, keys: list[str]) -> bool:
    """Whether every column hangs on what is grouped by: the tables' whole primary keys are there."""
    for source in scope.sources:
        primary = source.table.primary if source.table is not None else None
        if primary is None:
            return False
        by_name = {field.name.lower(): field.sql for field in source.fields}
        if not all(by_name[column.lower()] in keys for column in primary.columns):
            return False
    return bool(scope.sources) and bool(keys)


def _by_place(node: Any) -> int | None:
    if isinstance(node, exp.Literal) and not node.args.get("is_string") and str(node.this).isdigit():
        return int(str(node.this))
    return None


def group_keys(c: Compiler, group: Any, items: list[Item], scope: Scope) -> tuple[list[Typed], bool]:
    """What is grouped by, and whether WITH ROLLUP."""
    if group is None:
        return [], False
    at = Place(scope, "group statement")
    keys = []
    for one in group.expressions:
        place = _by_place(one)
        if place is not None:
            if not 1 <= place <= len(items):
                raise DatabaseError(1054, f"Unknown column '{place}' in 'group statement'")
            item = items[place - 1]
            if item.node is not None and aggregates_in(item.node):
                raise DatabaseError(1056, f"Can't group on '{item.name}'")
            keys.append(item_value(c, item, at))
            continue
        if isinstance(one, exp.Column) and not one.table and scope.local(one.name, "", at.clause) is None:
            target = scope.aliases.get(one.name.lower())
            if target is not None and aggregates_in(target):
                raise DatabaseError(1056, f"Can't group on '{one.name}'")
            found = alias(c, one.name, at)
            keys.append(found if found is not None else c.expression(one, at))
            continue
        keys.append(c.expression(one, at))
    return keys, bool(group.args.get("rollup"))


def sort_key_sql(c: Compiler, one: exp.Ordered, items: list[Item], scope: Scope, at: Place) -> str:
    """A key of ORDER BY: a place in the select list, an alias or an expression."""
    node = one.this
    place = _by_place(node)
    if place is not None:
        if not 1 <= place <= len(items):
            raise DatabaseError(1054, f"Unknown column '{place}' in 'order clause'")
        value = item_value(c, items[place - 1], at)
    elif (
        isinstance(node, exp.Column)
        and not node.table
        and any(item.name.lower() == node.name.lower() for item in items)
    ):
        item = next(item for item in items if item.name.lower() == node.name.lower())
        value = item_value(c, item, at)
    else:
        value = c.expression(_unaliased(c, node, items, scope), at)
    sql = f"m_big({value.sql}, 1)" if value.type.kind == INT and value.type.unsigned else keyed(value)
    return sql + (" DESC" if one.args.get("desc") else "")


def _unaliased(c: Compiler, node: Any, items: list[Item], scope: Scope) -> Any:
    """An expression with the aliases in it replaced by what they stand for, where they are no columns."""
    names: dict[str, Any] = {item.name.lower(): item.node for item in items if item.node is not None}

    def swap(one: Any) -> Any:
        if (
            isinstance(one, exp.Column)
            and not one.table
            and one.name.lower() in names
            and scope.local(one.name, "", "order clause") is None
        ):
            if aggregates_in(names[one.name.lower()]):
                raise DatabaseError(
                    1247, f"Reference '{one.name}' not supported (reference to group function)"
                )
            return exp.Paren(this=names[one.name.lower()].copy())
        return one

    return node.transform(swap)
