"""Rules for logic, arithmetic, bits and intervals."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from .comparisons import balanced
from .compiling import (
    Compiler,
    Place,
    Typed,
    number,
    quoted,
    rule,
    syntax,
    truth,
)
from .dates import COMPOUND, SECONDS, has_time
from .types import (
    DATE,
    DATETIME,
    DECIMAL,
    DOUBLE,
    INT,
    NULL,
    T_DATE,
    T_DATETIME,
    T_DOUBLE,
    T_INT,
    T_STRING,
    TIME,
    Type,
    as_number,
    decimal_type,
)

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
