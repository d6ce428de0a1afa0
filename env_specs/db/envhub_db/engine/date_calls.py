"""Calls of functions of dates and times."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from .compiling import (
    Compiler,
    Place,
    Typed,
    syntax,
    text,
)
from .date_formats import kind_of
from .operators import shifted
from .simple_calls import Call, plain
from .types import (
    DATE,
    DATETIME,
    T_DATE,
    T_DATETIME,
    T_INT,
    T_STRING,
    T_TIME,
    TIME,
    Type,
)  # fmt: skip


def now(kind: Type, sql: str) -> Call:
    """A call without arguments that depends on the clock."""

    def emit(c: Compiler, arguments: list[Typed], node: Any, at: Place) -> Typed:
        return Typed(sql, kind)

    return emit


def date(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    """`DATE`."""
    return Typed(f"m_date({arguments[0].sql})", T_DATE)


def time_of_day(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    """`TIME`."""
    return Typed(f"m_time({arguments[0].sql})", T_TIME)


def timestamp(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    """`TIMESTAMP`."""
    sql = f"m_datetime({arguments[0].sql})"
    return Typed(f"m_shift_clock({sql}, {arguments[1].sql}, 1)" if len(arguments) == 2 else sql, T_DATETIME)


def str_to_date(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    """`STR_TO_DATE`: its type is what the format says."""
    pattern = arguments[1].literal
    kind = kind_of(pattern) if isinstance(pattern, str) else DATETIME
    return Typed(f"m_str_to_date({text(arguments[0])}, {text(arguments[1])}, '{kind}')", Type(kind))


def add(sign: int) -> Call:
    """`DATE_ADD`, `DATE_SUB` and their like."""

    def emit(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
        value, step = c.expression(node.expressions[0], at), node.expressions[1]
        if isinstance(step, exp.Interval):
            return shifted(c, value, step, sign, at)
        if str(node.this).upper() not in ("ADDDATE", "SUBDATE"):
            raise syntax(node)
        return shifted(c, value, exp.Interval(this=step.copy(), unit=exp.var("DAY")), sign, at)

    return emit


def add_clock(sign: int) -> Call:
    """`ADDTIME` and `SUBTIME`."""

    def emit(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
        kind = arguments[0].type.kind
        result = T_TIME if kind == TIME else T_DATETIME if kind in (DATE, DATETIME) else T_STRING
        return Typed(f"m_shift_clock({arguments[0].sql}, {arguments[1].sql}, {sign})", result)

    return emit


def _unit(node: Any) -> str:
    unit = str(node.name or node.this).upper()
    return unit[8:] if unit.startswith("SQL_TSI_") else unit


UNITS = ("MICROSECOND", "SECOND", "MINUTE", "HOUR", "DAY", "WEEK", "MONTH", "QUARTER", "YEAR")


def timestamp_diff(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    """`TIMESTAMPDIFF`."""
    unit = _unit(node.expressions[0])
    if unit not in UNITS:
        raise syntax(node)
    first, second = (c.expression(one, at) for one in node.expressions[1:])
    return Typed(f"m_difference({first.sql}, {second.sql}, '{unit}')", T_INT)


def timestamp_add(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    """`TIMESTAMPADD`."""
    unit = _unit(node.expressions[0])
    if unit not in UNITS:
        raise syntax(node)
    step = exp.Interval(this=node.expressions[1].copy(), unit=exp.var(unit))
    return shifted(c, c.expression(node.expressions[2], at), step, 1, at)


def unix_timestamp(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    """`UNIX_TIMESTAMP`."""
    return Typed(f"f_unix_timestamp({arguments[0].sql if arguments else 'm_now()'})", T_INT)


def from_unixtime(c: Compiler, arguments: list[Typed], node: exp.Anonymous, at: Place) -> Typed:
    """`FROM_UNIXTIME`."""
    if len(arguments) == 2:
        return plain("FROM_UNIXTIME_FORMAT", arguments)
    return plain("FROM_UNIXTIME", arguments)
