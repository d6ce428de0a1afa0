"""Rules for comparisons: by the types of both sides, of rows, with lists, patterns and subqueries."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from .compiling import (
    Compiler,
    Place,
    Typed,
    collated,
    moment,
    number,
    rule,
    syntax,
    text,
    truth,
)
from .errors import DatabaseError
from .types import (
    DATE,
    DATETIME,
    INT,
    NULL,
    NUMBERS,
    STRING,
    T_DATETIME,
    T_INT,
    TEMPORAL,
    TIME,
    as_number,
)

SIGNS: dict[Any, str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "IS",
}


def compared(first: Typed, second: Typed, sign: str) -> str:
    """A comparison, by the rules for the two types."""
    one, other = first.type, second.type
    kinds = {one.kind, other.kind}
    if NULL in kinds:
        return f"({first.sql} {sign} {second.sql})"
    if kinds == {STRING}:
        if one.exact or other.exact:
            return f"({first.sql} {sign} {second.sql})"
        return f"({first.sql} COLLATE ci {sign} {second.sql})"
    if kinds & TEMPORAL and kinds <= TEMPORAL | {STRING}:
        if len(kinds) == 1 and one.scale == other.scale:
            return f"({first.sql} {sign} {second.sql})"
        if TIME in kinds:
            return f"(m_seconds({first.sql}) {sign} m_seconds({second.sql}))"
        return f"({moment(first)} {sign} {moment(second)})"
    if (one.unsigned or other.unsigned) and kinds == {INT}:
        return f"(m_big({first.sql}, {int(one.unsigned)}) {sign} m_big({second.sql}, {int(other.unsigned)}))"
    return f"({number(first)} {sign} {number(second)})"


@rule(*SIGNS)
def comparison(c: Compiler, node: exp.Binary, at: Place) -> Typed:
    """=, <>, <, <=, >, >= and <=>, of values, rows, and with ANY and ALL."""
    left, right = node.this, node.expression
    sign = SIGNS[type(node)]
    if isinstance(right, (exp.Any, exp.All)):
        return quantified(c, c.expression(left, at), right, sign, at)
    if isinstance(left, exp.Tuple) or isinstance(right, exp.Tuple):
        return rows_compared(c, node, at, sign)
    return Typed(compared(c.expression(left, at), c.expression(right, at), sign), T_INT)


def _members(c: Compiler, node: Any, at: Place) -> list[Typed]:
    inner = node.this if isinstance(node, exp.Paren) else node
    if isinstance(inner, exp.Tuple):
        return [c.expression(one, at) for one in inner.expressions]
    return [c.expression(inner, at)]


def rows_compared(c: Compiler, node: exp.Binary, at: Place, sign: str) -> Typed:
    """(a, b) = (1, 2)."""
    one, other = _members(c, node.this, at), _members(c, node.expression, at)
    if len(one) != len(other):
        raise DatabaseError(1241, f"Operand should contain {len(one)} column(s)")
    if sign in ("=", "IS"):
        return Typed("(" + " AND ".join(compared(a, b, sign) for a, b in zip(one, other)) + ")", T_INT)
    if sign == "<>":
        return Typed("(" + " OR ".join(compared(a, b, sign) for a, b in zip(one, other)) + ")", T_INT)
    built = compared(one[-1], other[-1], sign)
    for a, b in list(zip(one, other))[-2::-1]:
        built = f"({compared(a, b, sign[0])} OR ({compared(a, b, '=')} AND {built}))"
    return Typed(built, T_INT)


def quantified(c: Compiler, left: Typed, right: Any, sign: str, at: Place) -> Typed:
    """A comparison with every row of a subquery, or with any."""
    from .queries import subquery

    inner = right.this.this if isinstance(right.this, (exp.Subquery, exp.Paren)) else right.this
    query = subquery(c, inner, at.scope)
    if len(query.types) != 1:
        raise DatabaseError(1241, "Operand should contain 1 column(s)")
    name = c.name("q")
    test = compared(left, Typed(f"{name}.c1", query.types[0]), sign)
    deciding, other = (1, 0) if isinstance(right, exp.Any) else (0, 1)
    extreme = "MAX" if deciding else "MIN"
    return Typed(
        f"(SELECT CASE WHEN COUNT(*) = 0 THEN {other} WHEN {extreme}(p) = {deciding} THEN {deciding} "
        f"WHEN COUNT(p) < COUNT(*) THEN NULL ELSE {other} END FROM (SELECT {test} AS p FROM "
        f"({query.sql}) AS {name}))",
        T_INT,
    )


@rule(exp.Between)
def between(c: Compiler, node: exp.Between, at: Place) -> Typed:
    """BETWEEN: all three compare in one way."""
    value, low, high = (c.expression(part, at) for part in (node.this, node.args["low"], node.args["high"]))
    kinds = {value.type.kind, low.type.kind, high.type.kind} - {NULL}
    if STRING in kinds and kinds & NUMBERS:
        value, low, high = (Typed(number(one), as_number(one.type)) for one in (value, low, high))
    elif kinds & {DATE, DATETIME} and STRING in kinds:
        value, low, high = (Typed(moment(one), T_DATETIME) for one in (value, low, high))
    return Typed(f"({compared(value, low, '>=')} AND {compared(value, high, '<=')})", T_INT)


@rule(exp.In)
def within(c: Compiler, node: exp.In, at: Place) -> Typed:
    """IN, of a list or a subquery."""
    query = node.args.get("query")
    if query is not None:
        return _in_query(c, node, query, at)
    if not node.expressions or node.args.get("field") or node.args.get("unnest"):
        raise syntax(node)
    if isinstance(node.this, exp.Tuple):
        parts = [
            rows_compared(c, exp.EQ(this=node.this.copy(), expression=one.copy()), at, "=").sql
            for one in node.expressions
        ]
    else:
        value = c.expression(node.this, at)
        others = [c.expression(one, at) for one in node.expressions]
        if {value.type.kind} | {one.type.kind for one in others} == {STRING} and not any(
            one.type.exact for one in (value, *others)
        ):
            return Typed(f"({value.sql} COLLATE ci IN ({', '.join(one.sql for one in others)}))", T_INT)
        if all(one.type.kind in NUMBERS for one in (value, *others)) and not any(
            one.type.unsigned for one in (value, *others)
        ):
            return Typed(f"({value.sql} IN ({', '.join(one.sql for one in others)}))", T_INT)
        if value.type.kind == STRING and all(
            one.type.kind in NUMBERS and not one.type.unsigned for one in others
        ):
            return Typed(f"({number(value)} IN ({', '.join(one.sql for one in others)}))", T_INT)
        parts = [compared(value, one, "=") for one in others]
    return Typed(balanced(parts, "OR"), T_INT)


def _in_query(c: Compiler, node: exp.In, query: Any, at: Place) -> Typed:
    from .queries import subquery

    inner = query.this if isinstance(query, exp.Subquery) else query
    if isinstance(inner, (exp.Select, exp.Union)) and inner.args.get("limit") is not None:
        raise DatabaseError(
            1235, "This version of MySQL doesn't yet support 'LIMIT & IN/ALL/ANY/SOME subquery'"
        )
    found = subquery(c, inner, at.scope)
    values = _members(c, node.this, at)
    if len(values) != len(found.types):
        raise DatabaseError(1241, f"Operand should contain {len(values)} column(s)")
    name = c.name("q")
    fields = [Typed(f"{name}.c{place}", kind) for place, kind in enumerate(found.types, 1)]
    if len(values) > 1:
        test = " AND ".join(compared(a, b, "=") for a, b in zip(values, fields))
        return Typed(f"EXISTS (SELECT 1 FROM ({found.sql}) AS {name} WHERE {test})", T_INT)
    value, one = values[0], fields[0]
    kinds = {value.type.kind, one.type.kind}
    if kinds == {STRING}:
        left = collated(value) if not one.type.exact else value.sql
        return Typed(f"({left} IN ({found.sql}))", T_INT)
    if NULL in kinds or kinds <= NUMBERS or len(kinds) == 1:
        return Typed(f"({value.sql} IN ({found.sql}))", T_INT)
    if kinds & TEMPORAL and kinds <= TEMPORAL | {STRING} and TIME not in kinds:
        return Typed(f"({moment(value)} IN (SELECT {moment(one)} FROM ({found.sql}) AS {name}))", T_INT)
    return Typed(f"({number(value)} IN (SELECT {number(one)} FROM ({found.sql}) AS {name}))", T_INT)


@rule(exp.Like)
def like(c: Compiler, node: exp.Like, at: Place, escape: str = "'\\'") -> Typed:
    """LIKE."""
    value, pattern = c.expression(node.this, at), c.expression(node.expression, at)
    exact = int(value.type.exact or pattern.type.exact)
    sql = f"m_like({text(value)}, {text(pattern)}, {escape}, {exact})"
    return Typed(f"(NOT {sql})" if node.args.get("negate") else sql, T_INT)


@rule(exp.Escape)
def escape(c: Compiler, node: exp.Escape, at: Place) -> Typed:
    """LIKE … ESCAPE."""
    if not isinstance(node.this, exp.Like):
        raise syntax(node)
    return like(c, node.this, at, text(c.expression(node.expression, at)))


@rule(exp.RegexpLike)
def regexp(c: Compiler, node: exp.RegexpLike, at: Place) -> Typed:
    """REGEXP and RLIKE."""
    value, pattern = c.expression(node.this, at), c.expression(node.expression, at)
    exact = int(value.type.exact or pattern.type.exact)
    sql = f"m_regexp({text(value)}, {text(pattern)}, {exact})"
    return Typed(f"(NOT {sql})" if node.args.get("negate") else sql, T_INT)


@rule(exp.Is)
def being(c: Compiler, node: exp.Is, at: Place) -> Typed:
    """IS NULL, IS TRUE, IS FALSE, IS UNKNOWN."""
    value, other = c.expression(node.this, at), node.expression
    negate = isinstance(other, exp.Not) or bool(node.args.get("negate"))
    if isinstance(other, exp.Not):
        other = other.this
    if isinstance(other, exp.Null) or (
        isinstance(other, (exp.Column, exp.Var)) and other.name.upper() == "UNKNOWN"
    ):
        sql = f"({value.sql} IS NULL)"
    elif isinstance(other, exp.Boolean):
        sql = f"(COALESCE({truth(value)}, 0) <> 0)" if other.this else f"(COALESCE({truth(value)}, 1) = 0)"
    else:
        raise syntax(node)
    return Typed(f"(NOT {sql})" if negate else sql, T_INT)


def balanced(parts: list[str], sign: str) -> str:
    """Conditions with AND or OR between them, nested no deeper than SQLite takes."""
    while len(parts) > 1:
        parts = [f"({f' {sign} '.join(parts[at : at + 8])})" for at in range(0, len(parts), 8)]
    return parts[0]
