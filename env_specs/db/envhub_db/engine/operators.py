"""Rules for columns, literals and operators."""

from __future__ import annotations

import re
from typing import Any, Callable

from sqlglot import exp

from .compiling import (
    NOTHING,
    Compiler,
    Place,
    Typed,
    collated,
    converted,
    moment,
    number,
    quoted,
    rule,
    syntax,
    text,
    truth,
)
from .dates import COMPOUND, SECONDS, has_time
from .errors import DatabaseError
from .scope import Field, Scope
from .types import (
    DATE,
    DATETIME,
    DECIMAL,
    DOUBLE,
    INT,
    NULL,
    NUMBERS,
    STRING,
    T_DATE,
    T_DATETIME,
    T_DOUBLE,
    T_INT,
    T_STRING,
    TEMPORAL,
    TIME,
    Type,
    as_number,
    decimal_type,
    merged,
)

CLAUSE_NAMES = {
    "field list": "SELECT list",
    "order clause": "ORDER BY clause",
    "having clause": "HAVING clause",
}


@rule(exp.Column)
def column(c: Compiler, node: exp.Column, at: Place) -> Typed:
    """A column by name: this query's, or one's around it."""
    if isinstance(node.this, exp.Star):
        raise syntax(node)
    if node.args.get("db") and node.args["db"].name != c.database:
        raise DatabaseError(1054, f"Unknown column '{node.sql('mysql').replace('`', '')}' in '{at.clause}'")
    name, table = node.name, node.table
    if (
        not table
        and at.scope.aliases
        and at.clause == "having clause"
        and at.scope.local(name, "", at.clause) is None
    ):
        return alias(c, name, at) or _found(c, name, table, at)
    return _found(c, name, table, at)


def alias(c: Compiler, name: str, at: Place) -> Typed | None:
    """What an alias of the select list stands for; None where there is none of the name."""
    target = at.scope.aliases.get(name.lower())
    if target is None:
        return None
    return c.expression(target, at._replace(clause="field list"))


def _found(c: Compiler, name: str, table: str, at: Place) -> Typed:
    field, scope = at.scope.find(name, table, at.clause)
    if at.clause == "having clause" and not at.inside and scope is at.scope:
        _check_having(field, scope, f"{table}.{name}" if table else name)
    if not scope.grouped or (at.inside and scope is at.scope) or scope is not at.scope:
        return Typed(field.sql, field.type)
    if field.sql not in (scope.keys or ()) and c.settings.only_full_group_by and not scope.determined:
        full = f"{c.database}.{field.source}.{field.name}"
        if scope.keys:
            raise DatabaseError(
                1055,
                f"Expression #1 of {CLAUSE_NAMES.get(at.clause, at.clause)} "
                f"is not in GROUP BY clause and "
                f"contains nonaggregated column '{full}' which is not functionally dependent on columns "
                f"in GROUP BY "
                "clause; this is incompatible with sql_mode=only_full_group_by",
            )
        raise DatabaseError(
            1140,
            f"In aggregated query without GROUP BY, expression #1 of SELECT list contains nonaggregated "
            f"column '{full}'; "
            "this is incompatible with sql_mode=only_full_group_by",
        )
    return Typed(f"m_first({field.sql})", field.type)


def _check_having(field: Field, scope: Scope, shown: str) -> None:
    if field.sql not in (scope.keys or ()) and field.name.lower() not in scope.listed:
        raise DatabaseError(1054, f"Unknown column '{shown}' in 'having clause'")


# -- literals -------------------------------------------------------------------------------------------


@rule(exp.Literal)
def literal(c: Compiler, node: exp.Literal, at: Place) -> Typed:
    """A number or a text as written."""
    value = str(node.this)
    if node.args.get("is_string"):
        return Typed(quoted(value), T_STRING, value)
    if re.fullmatch(r"\d+", value):
        size = int(value)
        if size < 1 << 63:
            return Typed(str(size), T_INT, size)
        if size < 1 << 64:
            return Typed(str(size - (1 << 64)), Type(INT, unsigned=True), size)
        return Typed(f"{value}.0", decimal_type(0), float(size))
    if not re.fullmatch(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", value):
        raise DatabaseError(1054, f"Unknown column '{value}' in '{at.clause}'")
    if "e" in value.lower():
        return Typed(repr(float(value)), T_DOUBLE, float(value))
    return Typed(repr(float(value)), decimal_type(len(value.partition(".")[2])), float(value))


@rule(exp.Null)
def null(c: Compiler, node: exp.Null, at: Place) -> Typed:
    """NULL."""
    return NOTHING


@rule(exp.Boolean)
def boolean(c: Compiler, node: exp.Boolean, at: Place) -> Typed:
    """TRUE is 1."""
    value = int(bool(node.this))
    return Typed(str(value), T_INT, value)


@rule(exp.HexString)
def hexadecimal(c: Compiler, node: exp.HexString, at: Place) -> Typed:
    """x'4D' and 0x4D: bytes."""
    digits = str(node.this)
    value = bytes.fromhex(digits if len(digits) % 2 == 0 else "0" + digits).decode("utf-8", "replace")
    return Typed(quoted(value), Type(STRING, exact=True, raw=True), value)


@rule(exp.BitString)
def bits(c: Compiler, node: exp.BitString, at: Place) -> Typed:
    """b'101': bytes as well."""
    value = int(str(node.this) or "0", 2)
    text = value.to_bytes(max(1, (value.bit_length() + 7) // 8), "big").decode("utf-8", "replace")
    return Typed(quoted(text), Type(STRING, exact=True, raw=True), text)


@rule(exp.National)
def national(c: Compiler, node: exp.National, at: Place) -> Typed:
    """N'text'."""
    return Typed(quoted(str(node.this)), T_STRING, str(node.this))


@rule(exp.Introducer)
def introducer(c: Compiler, node: exp.Introducer, at: Place) -> Typed:
    """_utf8mb4'text'."""
    return c.expression(node.expression, at)


@rule(exp.Concat)
def adjacent(c: Compiler, node: exp.Concat, at: Place) -> Typed:
    """'one' 'two' is one text."""
    value = "".join(str(part.this) for part in node.expressions)
    return Typed(quoted(value), T_STRING, value)


@rule(exp.Paren)
def parenthesis(c: Compiler, node: exp.Paren, at: Place) -> Typed:
    """What stands in parentheses."""
    inner = c.expression(node.this, at)
    return inner._replace(sql=f"({inner.sql})")


@rule(exp.Alias)
def aliased(c: Compiler, node: exp.Alias, at: Place) -> Typed:
    """An alias where none may be."""
    raise syntax(node)


# -- comparison -----------------------------------------------------------------------------------------

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
    if one.unsigned != other.unsigned and kinds == {INT}:
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


# -- logic ----------------------------------------------------------------------------------------------


@rule(exp.And, exp.Or)
def connective(c: Compiler, node: exp.Connector, at: Place) -> Typed:
    """AND, OR, && and ||."""
    kind, parts, here = type(node), [], node
    while type(here) is kind:
        parts.append(here.expression)
        here = here.this
    parts.append(here)
    sign = "AND" if kind is exp.And else "OR"
    return Typed(balanced([truth(c.expression(one, at)) for one in reversed(parts)], sign), T_INT)


def balanced(parts: list[str], sign: str) -> str:
    """Conditions with AND or OR between them, nested no deeper than SQLite takes."""
    while len(parts) > 1:
        parts = [f"({f' {sign} '.join(parts[at : at + 8])})" for at in range(0, len(parts), 8)]
    return parts[0]


@rule(exp.Not)
def negation(c: Compiler, node: exp.Not, at: Place) -> Typed:
    """NOT and !."""
    return Typed(f"(NOT {truth(c.expression(node.this, at))})", T_INT)


@rule(exp.Xor)
def exclusive(c: Compiler, node: exp.Xor, at: Place) -> Typed:
    """XOR."""
    one, other = truth(c.expression(node.this, at)), truth(c.expression(node.expression, at))
    return Typed(f"(({one} <> 0) <> ({other} <> 0))", T_INT)


# -- arithmetic -----------------------------------------------------------------------------------------


def arithmetic(first: Typed, second: Typed, sign: str, shown: str = "") -> Typed:
    """+, - or * of two numbers."""
    one, other = as_number(first.type), as_number(second.type)
    sql = f"({number(first)} {sign} {number(second)})"
    if DOUBLE in (one.kind, other.kind):
        return Typed(sql, T_DOUBLE)
    if DECIMAL in (one.kind, other.kind):
        scale = one.scale + other.scale if sign == "*" else max(one.scale, other.scale)
        kind = decimal_type(scale)._replace(unsigned=first.type.unsigned or second.type.unsigned)
        return Typed(f"m_rd({sql}, {kind.scale})", kind)
    if one.unsigned or other.unsigned:
        return Typed(f"m_bounds({sql}, 1, {quoted(shown)})", Type(INT, unsigned=True))
    return Typed(sql, T_INT)


@rule(exp.Add, exp.Sub)
def addition(c: Compiler, node: exp.Binary, at: Place) -> Typed:
    """+ and -, of numbers, and of a date and an interval."""
    sign = "+" if isinstance(node, exp.Add) else "-"
    if isinstance(node.expression, exp.Interval):
        return shifted(c, c.expression(node.this, at), node.expression, 1 if sign == "+" else -1, at)
    if isinstance(node.this, exp.Interval) and sign == "+":
        return shifted(c, c.expression(node.expression, at), node.this, 1, at)
    return arithmetic(c.expression(node.this, at), c.expression(node.expression, at), sign, node.sql("mysql"))


@rule(exp.Mul)
def multiplication(c: Compiler, node: exp.Mul, at: Place) -> Typed:
    """*."""
    return arithmetic(c.expression(node.this, at), c.expression(node.expression, at), "*", node.sql("mysql"))


@rule(exp.Div)
def division(c: Compiler, node: exp.Div, at: Place) -> Typed:
    """/: four digits more for exact numbers."""
    first, second = c.expression(node.this, at), c.expression(node.expression, at)
    one, other = as_number(first.type), as_number(second.type)
    if DOUBLE in (one.kind, other.kind):
        return Typed(f"({number(first)} / {number(second)})", T_DOUBLE)
    kind = decimal_type(one.scale + 4)._replace(unsigned=True)
    return Typed(f"m_div({number(first)}, {number(second)}, {kind.scale})", kind)


@rule(exp.IntDiv)
def whole_division(c: Compiler, node: exp.IntDiv, at: Place) -> Typed:
    """DIV."""
    first, second = c.expression(node.this, at), c.expression(node.expression, at)
    return Typed(f"m_idiv({number(first)}, {number(second)})", T_INT)


def modulo(first: Typed, second: Typed) -> Typed:
    """%, MOD and MOD()."""
    one, other = as_number(first.type), as_number(second.type)
    if DOUBLE in (one.kind, other.kind):
        return Typed(f"m_mod({number(first)}, {number(second)})", T_DOUBLE)
    if DECIMAL in (one.kind, other.kind):
        return Typed(f"m_dmod({number(first)}, {number(second)})", decimal_type(max(one.scale, other.scale)))
    return Typed(f"m_mod({number(first)}, {number(second)})", T_INT)


@rule(exp.Mod)
def remainder(c: Compiler, node: exp.Mod, at: Place) -> Typed:
    """% and MOD."""
    return modulo(c.expression(node.this, at), c.expression(node.expression, at))


@rule(exp.Neg)
def negative(c: Compiler, node: exp.Neg, at: Place) -> Typed:
    """-x."""
    value = c.expression(node.this, at)
    kind = as_number(value.type)
    opposite = -value.literal if isinstance(value.literal, (int, float)) else None
    return Typed(f"(- {number(value)})", kind._replace(unsigned=False), opposite)


BITWISE: dict[Any, str] = {
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
    exp.BitwiseLeftShift: "<<",
    exp.BitwiseRightShift: ">>",
}


def whole(value: Typed) -> str:
    """An expression as a whole number, rounded."""
    return value.sql if value.type.kind in (INT, NULL) else f"m_whole({number(value)}, 0)"


@rule(exp.BitwiseXor, exp.BitwiseNot, *BITWISE)
def bitwise(c: Compiler, node: Any, at: Place) -> Typed:
    """&, |, ^, ~, << and >>: of 64 bits without a sign."""
    unsigned = Type(INT, unsigned=True)
    one = whole(c.expression(node.this, at))
    if isinstance(node, exp.BitwiseNot):
        return Typed(f"(~ {one})", unsigned)
    other = whole(c.expression(node.expression, at))
    if isinstance(node, exp.BitwiseXor):
        return Typed(f"(({one} | {other}) - ({one} & {other}))", unsigned)
    return Typed(f"({one} {BITWISE[type(node)]} {other})", unsigned)


# -- dates ----------------------------------------------------------------------------------------------


def interval(c: Compiler, node: exp.Interval, at: Place) -> tuple[str, str]:
    """An interval as the SQL of its size and the name of its unit."""
    unit = node.args.get("unit")
    if unit is None or node.this is None:
        raise syntax(node)
    name = unit.sql("mysql").upper() if not isinstance(unit, exp.Var) else str(unit.this).upper()
    if name not in (*SECONDS, *COMPOUND, "MICROSECOND", "MONTH", "QUARTER", "YEAR"):
        raise syntax(node, name)
    return c.expression(node.this, at).sql, name


def shifted(c: Compiler, value: Typed, node: exp.Interval, sign: int, at: Place) -> Typed:
    """A date or time and an interval."""
    size, unit = interval(c, node, at)
    kind = value.type.kind
    if kind == TIME:
        result, how = Type(TIME), "time"
    elif kind == DATE and not has_time(unit):
        result, how = T_DATE, "date"
    elif kind in (DATE, DATETIME):
        result, how = T_DATETIME, "datetime"
    else:
        result, how = T_STRING, "any"
    return Typed(f"m_shift({value.sql}, {size}, '{unit}', {sign}, '{how}')", result)


# -- choices --------------------------------------------------------------------------------------------


def together(values: list[Typed]) -> Type:
    """The type that holds any of these values."""
    kind = values[0].type
    for one in values[1:]:
        kind = merged(kind, one.type)
    return kind


@rule(exp.Case)
def case(c: Compiler, node: exp.Case, at: Place) -> Typed:
    """CASE, of conditions or of one value."""
    subject = c.expression(node.this, at) if node.this is not None else None
    tests: list[str] = []
    for branch in node.args["ifs"]:
        found = c.expression(branch.this, at)
        tests.append(truth(found) if subject is None else compared(subject, found, "="))
    results = [c.expression(branch.args["true"], at) for branch in node.args["ifs"]]
    default = node.args.get("default")
    results.append(c.expression(default, at) if default is not None else NOTHING)
    return chosen(tests, results)


def chosen(tests: list[str], results: list[Typed]) -> Typed:
    """The first result whose test holds, else the last, all in one type."""
    kind = together(results)
    parts = [f"WHEN {test} THEN {converted(one, kind)}" for test, one in zip(tests, results)]
    return Typed(f"(CASE {' '.join(parts)} ELSE {converted(results[-1], kind)} END)", kind)


@rule(exp.If)
def either(c: Compiler, node: exp.If, at: Place) -> Typed:
    """IF(test, then, else)."""
    if node.args.get("false") is None or node.args.get("true") is None:
        raise syntax(node)
    results = [c.expression(node.args[name], at) for name in ("true", "false")]
    return chosen([truth(c.expression(node.this, at))], results)


@rule(exp.Collate)
def collate(c: Compiler, node: exp.Collate, at: Place) -> Typed:
    """COLLATE: a collation that ends in _bin compares code points."""
    value = c.expression(node.this, at)
    name = node.expression.name.lower()
    if not re.match(r"utf8|binary|latin1|ascii", name):
        raise DatabaseError(1273, f"Unknown collation: '{name}'")
    return Typed(text(value), Type(STRING, exact=name.endswith("_bin") or name == "binary"))


# -- variables ------------------------------------------------------------------------------------------


@rule(exp.Parameter)
def variable(c: Compiler, node: exp.Parameter, at: Place) -> Typed:
    """@name."""
    c.kept = False
    name = node.name.lower()
    return Typed(f"m_var({quoted(name)})", c.session.types.get(name, NOTHING.type))


@rule(exp.PropertyEQ)
def assignment(c: Compiler, node: exp.PropertyEQ, at: Place) -> Typed:
    """@name := value."""
    if not isinstance(node.this, exp.Parameter):
        raise syntax(node)
    c.kept = False
    value = c.expression(node.expression, at)
    name = node.this.name.lower()
    c.session.types[name] = value.type if value.type.kind != NULL else T_STRING
    return Typed(f"m_set({quoted(name)}, {value.sql})", value.type)


@rule(exp.SessionParameter)
def system_variable(c: Compiler, node: exp.SessionParameter, at: Place) -> Typed:
    """@@name."""
    from .variables import system_value

    c.kept = False
    value = system_value(c, node.name)
    return (
        Typed(str(value), T_INT, value) if isinstance(value, int) else Typed(quoted(value), T_STRING, value)
    )


ORDER: Callable[[Typed], str] = collated
