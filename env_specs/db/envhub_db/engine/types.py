"""MySQL's types of expressions: how values compare, what operators give, how results print.

SQLite keeps the values: whole numbers as INTEGER, `DOUBLE` and `DECIMAL` as REAL (a decimal is the double
nearest to it, rounded to its scale after each operation), everything else as TEXT. What a value is, is known
from here, not from it.
"""

from __future__ import annotations

import datetime
import re
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Callable, NamedTuple

from .errors import DatabaseError

INT, DECIMAL, DOUBLE, STRING, NULL = "int", "decimal", "double", "string", "null"
DATE, DATETIME, TIME = "date", "datetime", "time"
NUMBERS = frozenset((INT, DECIMAL, DOUBLE))
TEMPORAL = frozenset((DATE, DATETIME, TIME))
WIDE = Context(prec=80)


class Type(NamedTuple):
    """The type of an expression or column.

    Attributes:
        kind: One of the names above.
        scale: Digits behind the point of a `DECIMAL`, of the seconds of a time, or of a double that is shown
            with as many.
        unsigned: Of a whole number: it cannot be negative, and 2**64-1 fits. Of a `DECIMAL`: it comes from a
            division, which keeps more digits than it shows.
        exact: Of a string: compared byte by byte (`_bin`, `BINARY`), not by collation. Of a double: it is a
            `FLOAT`.
        raw: Of a string: it is bytes to a client (`BINARY`, `BLOB`).
    """

    kind: str
    scale: int = 0
    unsigned: bool = False
    exact: bool = False
    raw: bool = False


T_INT, T_DOUBLE, T_STRING, T_NULL = Type(INT), Type(DOUBLE), Type(STRING), Type(NULL)
T_DATE, T_DATETIME, T_TIME = Type(DATE), Type(DATETIME), Type(TIME)


def decimal_type(scale: int) -> Type:
    """`DECIMAL` with so many digits behind the point, 30 at most."""
    return Type(DECIMAL, max(0, min(scale, 30)))


def as_number(kind: Type) -> Type:
    """The numeric type that arithmetic sees where an expression of this type stands."""
    if kind.kind in NUMBERS:
        return kind
    if kind.kind in TEMPORAL:
        return decimal_type(kind.scale) if kind.scale else T_INT
    return T_INT if kind.kind == NULL else T_DOUBLE


def merged(first: Type, second: Type) -> Type:
    """The type of a column that holds values of both, as in `UNION`, `CASE` and `COALESCE`."""
    if first.kind == NULL or first == second:
        return second
    if second.kind == NULL:
        return first
    kinds = {first.kind, second.kind}
    if kinds <= NUMBERS:
        if DOUBLE in kinds:
            return T_DOUBLE
        if DECIMAL in kinds:
            return decimal_type(max(first.scale, second.scale))
        return Type(INT, unsigned=first.unsigned and second.unsigned)
    if kinds == {DATE, DATETIME}:
        return Type(DATETIME, max(first.scale, second.scale))
    if kinds <= TEMPORAL and len(kinds) == 1:
        return Type(first.kind, max(first.scale, second.scale))
    exact = any(one.kind == STRING and one.exact for one in (first, second))
    return Type(STRING, exact=exact, raw=first.raw or second.raw)


# -- values to text, as MySQL prints them --------------------------------------------------------------


def double_text(value: float) -> str:
    """A double as MySQL prints it: the shortest text that means it, exponents only where they are far out."""
    if value != value or value in (float("inf"), float("-inf")):
        return str(value)
    if value == int(value) and abs(value) < 1e15:
        return "-0" if str(value) == "-0.0" else str(int(value))
    text = repr(value)
    digits, _, exponent = text.partition("e")
    power = int(exponent) if exponent else 0
    if not exponent:
        return text[:-2] if text.endswith(".0") else text
    if -15 <= power < 15:
        plain = format(Decimal(text), "f")
        return plain.rstrip("0").rstrip(".") if "." in plain else plain
    return f"{digits[:-2] if digits.endswith('.0') else digits}e{power}"


def single(value: float) -> float:
    """A `FLOAT` as it is shown: six digits."""
    return float(f"{value:.6g}")


def rounded(value: Any, scale: int) -> Decimal:
    """A number as an exact decimal with so many digits behind the point, halves away from zero."""
    exact = (
        value if isinstance(value, Decimal) else Decimal(repr(value) if isinstance(value, float) else value)
    )
    return exact.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, WIDE)


def decimal_text(value: Any, scale: int) -> str:
    """A decimal as MySQL prints it."""
    return format(rounded(value, scale), "f")


# -- values to what a connector returns ------------------------------------------------------------------


def _date(value: str) -> Any:
    try:
        return datetime.date(int(value[:4]), int(value[5:7]), int(value[8:10]))
    except ValueError:
        return None  # '0000-00-00', as connectors do


def _datetime(value: str) -> Any:
    try:
        return datetime.datetime.fromisoformat(value)
    except ValueError:
        return None


CLOCK = re.compile(r"(-?)(\d+):(\d\d):(\d\d)(?:\.(\d+))?")


def _time(value: str) -> Any:
    found = CLOCK.fullmatch(value)
    if not found:
        return None
    sign, hours, minutes, seconds, fraction = found.groups()
    micro = int((fraction or "0").ljust(6, "0")[:6])
    delta = datetime.timedelta(
        hours=int(hours), minutes=int(minutes), seconds=int(seconds), microseconds=micro
    )
    return -delta if sign else delta


def _unsigned(value: Any) -> Any:
    return value + (1 << 64) if isinstance(value, int) and value < 0 else value


def _whole(value: Any) -> Any:
    if isinstance(value, float) and abs(value) >= 1 << 63:
        raise DatabaseError(1690, "BIGINT value is out of range")
    return int(value) if isinstance(value, float) and value == value and abs(value) < 1e300 else value


def shown(kind: Type) -> Callable[[Any], Any] | None:
    """What turns SQLite's value of this type, not NULL, into a connector's; None where it is that already."""
    if kind.kind == DECIMAL:
        return lambda value: rounded(value, kind.scale)
    if kind.kind == DOUBLE and kind.exact:
        return single
    if kind.kind == DOUBLE:
        return (lambda value: round(value, kind.scale)) if kind.scale else float
    if kind.kind == INT:
        return _unsigned if kind.unsigned else _whole
    if kind.raw:
        return lambda value: value.encode("utf-8") if isinstance(value, str) else value
    return {DATE: _date, DATETIME: _datetime, TIME: _time}.get(kind.kind)
