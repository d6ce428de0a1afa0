"""What a column makes of a value that is put into it."""

from __future__ import annotations

import json
import struct
from decimal import Decimal
from typing import Any

from .catalog import BLOBS, INTEGERS, TEXTS, ColumnType, TableColumn
from .collation import sort_key
from .dates import date_text, datetime_text, duration, duration_text, moment
from .errors import DatabaseError
from .numbers import PREFIX, kept_digits, number, to_decimal, wrapped
from .types import DATETIME, DECIMAL, DOUBLE, INT, TEMPORAL, Type, decimal_text, double_text, rounded, single

ZERO_DATE, ZERO_DATETIME = "0000-00-00", "0000-00-00 00:00:00"


def as_text(value: Any, kind: Type) -> str:
    """A value of a known type as text."""
    if isinstance(value, str):
        return value
    if kind.kind == DECIMAL:
        digits = -int(Decimal(repr(value)).as_tuple().exponent) if isinstance(value, float) else 0
        digits = kept_digits(kind.scale) if kind.unsigned else min(digits, 30)
        return decimal_text(value, max(kind.scale, digits))
    if isinstance(value, float):
        if kind.kind == INT:
            return str(int(value))
        return double_text(single(value) if kind.exact else value)
    return str(value + (1 << 64) if kind.unsigned and value < 0 else value)


def _wrong(column: TableColumn, kind: str, value: Any, row: int) -> DatabaseError:
    return DatabaseError(1366, f"Incorrect {kind} value: '{value}' for column '{column.name}' at row {row}")


def _out_of_range(column: TableColumn, row: int) -> DatabaseError:
    return DatabaseError(1264, f"Out of range value for column '{column.name}' at row {row}")


def _numeric(value: Any, column: TableColumn, kind: str, strict: bool, row: int) -> Any:
    if strict and isinstance(value, str):
        found = PREFIX.match(value)
        if not found:
            raise _wrong(column, kind, value, row)
        if found.end() != len(value.rstrip()):
            raise DatabaseError(1265, f"Data truncated for column '{column.name}' at row {row}")
    return value


def _integer(value: Any, column: TableColumn, strict: bool, row: int) -> int:
    value = _numeric(value, column, "integer", strict, row)
    if isinstance(value, str):
        found = PREFIX.match(value)
        exact = int(rounded(found.group(1), 0)) if found else 0
    else:
        exact = int(rounded(value, 0)) if isinstance(value, float) else value
    size = INTEGERS.get(column.type.name, 32)
    low, high = (0, (1 << size) - 1) if column.type.unsigned else (-(1 << (size - 1)), (1 << (size - 1)) - 1)
    if strict and not low <= exact <= high:
        raise _out_of_range(column, row)
    return wrapped(max(low, min(high, exact)))


def _decimal(value: Any, column: TableColumn, strict: bool, row: int) -> Any:
    value = _numeric(value, column, "decimal", strict, row)
    digits, scale = column.type.size or 10, column.type.scale
    result = to_decimal(value, digits, scale)
    if strict and abs(number(value)) >= 10.0 ** (digits - scale):
        raise _out_of_range(column, row)
    return max(0.0, result) if column.type.unsigned else result


def _single(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return 3.4028234663852886e38 if value > 0 else -3.4028234663852886e38


def _double(value: Any, column: TableColumn, strict: bool, row: int) -> float:
    wanted = float(number(_numeric(value, column, "double", strict, row)))
    return _single(wanted) if column.type.name == "float" else wanted


def _moment(value: Any, column: TableColumn, strict: bool, row: int) -> str:
    name = column.type.name
    if name == "time":
        total = duration(value)
        if total is None:
            if strict:
                raise DatabaseError(
                    1292, f"Incorrect time value: '{value}' for column '{column.name}' at row {row}"
                )
            return "00:00:00"
        return duration_text(total, column.type.size or 0)
    read = moment(value)
    if read is None:
        if strict:
            word = "date" if name == "date" else "datetime"
            raise DatabaseError(
                1292, f"Incorrect {word} value: '{value}' for column '{column.name}' at row {row}"
            )
        return ZERO_DATE if name == "date" else ZERO_DATETIME
    return date_text(read[0]) if name == "date" else datetime_text(read[0], column.type.size or 0)


def _choice(text: str, column: TableColumn, strict: bool, row: int) -> str:
    key = sort_key(text)
    for one in column.type.values:
        if sort_key(one) == key:
            return one
    if text.isdigit() and 1 <= int(text) <= len(column.type.values):
        return column.type.values[int(text) - 1]
    if strict:
        raise DatabaseError(1265, f"Data truncated for column '{column.name}' at row {row}")
    return ""


def _text(text: str, column: TableColumn, strict: bool, row: int) -> str:
    name = column.type.name
    if name == "enum":
        return _choice(text, column, strict, row)
    if name == "set":
        wanted = {sort_key(one) for one in text.split(",")}
        return ",".join(one for one in column.type.values if sort_key(one) in wanted)
    if name == "json":
        try:
            return json.dumps(json.loads(text), ensure_ascii=False)
        except ValueError as error:
            raise DatabaseError(3140, f"Invalid JSON text: {error}.") from None
    if name == "char":
        text = text.rstrip(" ")
    most = TEXTS.get(name) or BLOBS.get(name)
    cut: str | None = None
    if most is not None and len(text) * 4 > most:
        data = text.encode()
        cut = data[:most].decode("utf-8", "ignore") if len(data) > most else None
    elif most is None and column.type.size is not None and len(text) > column.type.size:
        cut = text[: column.type.size]
    if cut is None:
        return text
    if strict and text[len(cut) :].strip(" "):
        raise DatabaseError(1406, f"Data too long for column '{column.name}' at row {row}")
    return cut


def implicit(column: TableColumn) -> Any:
    """What a column that takes no NULL holds where nothing better is known."""
    kind = column.type.type.kind
    if kind == INT:
        return 0
    if kind in (DECIMAL, DOUBLE):
        return 0.0
    if kind in TEMPORAL:
        return {"date": ZERO_DATE, "time": "00:00:00"}.get(kind, ZERO_DATETIME)
    return column.type.values[0] if column.type.name == "enum" and column.type.values else ""


def fitted(value: Any, kind: Type, column: TableColumn, strict: bool, row: int = 1) -> Any:
    """A value of a type as a column keeps it.

    Raises:
        DatabaseError: with `strict` 1264, 1265, 1292, 1366 or 1406: it does not fit. NULL is the caller's
            affair.
    """
    if value is None:
        return None
    own = column.type.type.kind
    if own == INT:
        return _integer(value, column, strict, row)
    if own == DECIMAL:
        return _decimal(value, column, strict, row)
    if own == DOUBLE:
        return _double(value, column, strict, row)
    if own in TEMPORAL:
        return _moment(value if own != DATETIME or kind.kind != "time" else None, column, strict, row)
    return _text(as_text(value, kind), column, strict, row)


def type_for(kind: Type) -> ColumnType:
    """The type of a column that `CREATE TABLE … SELECT` makes for an expression."""
    if kind.kind == INT:
        return ColumnType("bigint", unsigned=kind.unsigned)
    if kind.kind == DECIMAL:
        return ColumnType("decimal", 65, kind.scale)
    if kind.kind == DOUBLE:
        return ColumnType("double")
    if kind.kind in TEMPORAL:
        return ColumnType(kind.kind, kind.scale or None)
    return ColumnType("blob" if kind.raw else "text")
