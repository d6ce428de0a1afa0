"""MySQL's functions that are a matter of values alone: name, arguments, result, and the Python that does it.

A signature has a letter for each argument: `s` text, `i` a whole number, `n` a number, `d` the value as it
is. A capital letter's argument may be NULL; of the others one NULL makes the result NULL. What follows `?`
may be left out, and `*` repeats the letter before it.
"""

from __future__ import annotations

import math
from typing import Any, Callable, NamedTuple

from . import date_formats, dates, patterns, texts
from .numbers import number, whole
from .running import check_size
from .types import DOUBLE, INT, STRING, T_DATE, T_DATETIME, T_DOUBLE, T_INT, T_STRING, T_TIME, Type


class Function(NamedTuple):
    """A function: its arguments, the type of its result, and what computes it."""

    signature: str
    result: Type
    call: Callable[..., Any]

    @property
    def fewest(self) -> int:
        """Arguments that must be there."""
        required = self.signature.partition("?")[0]
        return len(required.replace("*", ""))

    @property
    def most(self) -> float:
        """Arguments that may be there."""
        return math.inf if "*" in self.signature else len(self.signature.replace("?", ""))


def _concat(*parts: str) -> str:
    check_size(sum(map(len, parts)))
    return "".join(parts)


def _concat_ws(mark: Any, *parts: Any) -> Any:
    check_size(sum(len(part or "") + len(mark or "") for part in parts))
    return texts.concat_ws(mark, *parts)


def _replace(text: str, old: str, new: str) -> str:
    if not old:
        return text
    check_size(len(text) + text.count(old) * max(0, len(new) - len(old)))
    return text.replace(old, new)


def _hex(value: Any) -> str:
    check_size(2 * len(value) if isinstance(value, str) else 0)
    return texts.hex_of(value)


def _repeat(text: str, count: int) -> str:
    check_size(len(text) * max(0, count))
    return text * max(0, count)


def _lpad(text: str, width: int, by: str = " ") -> Any:
    check_size(width)
    return texts.lpad(text, width, by)


def _rpad(text: str, width: int, by: str = " ") -> Any:
    check_size(width)
    return texts.rpad(text, width, by)


def _logarithm(first: float, second: Any = None) -> Any:
    if second is None:
        return math.log(first) if first > 0 else None
    return math.log(second) / math.log(first) if first > 0 and first != 1 and second > 0 else None


def _power(base: float, exponent: float) -> Any:
    return math.pow(base, exponent)


def _make_date(year: int, day: int) -> Any:
    import datetime

    year += (2000 if year < 70 else 1900) if 0 <= year < 100 else 0
    if day < 1:
        return None
    return dates.date_text(datetime.datetime(year, 1, 1) + datetime.timedelta(days=day - 1))


def _last_day(value: Any) -> Any:
    read = dates.moment(value)
    if not read:
        return None
    import calendar

    when = read[0]
    return dates.date_text(when.replace(day=calendar.monthrange(when.year, when.month)[1]))


def _from_days(days: int) -> Any:
    import datetime

    return dates.date_text(datetime.datetime.fromordinal(days - 365)) if days > 365 else "0000-00-00"


def _day_name(value: Any) -> Any:
    place = dates.part(value, "WEEKDAY")
    return None if place is None else dates.DAYS[place]


def _month_name(value: Any) -> Any:
    place = dates.part(value, "MONTH")
    return None if place is None else dates.MONTHS[place - 1]


def _week(value: Any, mode: int = 0) -> Any:
    read = dates.moment(value)
    return dates.week(read[0].date(), mode)[1] if read else None


def _year_week(value: Any, mode: int = 0) -> Any:
    read = dates.moment(value)
    if not read:
        return None
    year, week = dates.week(read[0].date(), mode | 2)
    return year * 100 + week


def _seconds(value: Any) -> Any:
    total = dates.duration(value)
    return None if total is None else int(math.copysign(abs(total) // 1_000_000, total))


def _clock(seconds: float) -> str:
    total = round(seconds * 1_000_000)
    return dates.duration_text(max(-3_020_399_000_000, min(3_020_399_000_000, total)))


def _make_time(hour: int, minute: int, second: float) -> Any:
    if not (0 <= minute < 60 and 0 <= second < 60):
        return None
    total = ((abs(hour) * 60 + minute) * 60) * 1_000_000 + round(second * 1_000_000)
    return dates.duration_text(-total if hour < 0 else total)


def _time_difference(first: Any, second: Any) -> Any:
    one, other = dates.moment(first), dates.moment(second)
    if one and other and one[1] and other[1]:
        import datetime

        return dates.duration_text((one[0] - other[0]) // datetime.timedelta(microseconds=1))
    begin, end = dates.duration(first), dates.duration(second)
    return None if begin is None or end is None else dates.duration_text(begin - end)


def _from_unix(seconds: float) -> Any:
    import datetime

    if seconds < 0:
        return None
    when = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=seconds)
    return dates.datetime_text(when)


def _from_unix_format(seconds: float, pattern: str) -> Any:
    return date_formats.write(_from_unix(seconds), pattern)


def _unix(value: Any) -> Any:
    import datetime

    read = dates.moment(value)
    return int((read[0] - datetime.datetime(1970, 1, 1)).total_seconds()) if read else 0


def _period_add(period: int, months: int) -> int:
    total = period // 100 * 12 + period % 100 - 1 + months
    return total // 12 * 100 + total % 12 + 1


def _period_diff(first: int, second: int) -> int:
    return (first // 100 - second // 100) * 12 + first % 100 - second % 100


def _part(name: str) -> Callable[[Any], Any]:
    return lambda value: dates.part(value, name)


def _one(name: str) -> Callable[[float], Any]:
    function = getattr(math, name)
    return lambda value: function(value)


def _square_root(value: float) -> Any:
    return math.sqrt(value) if value >= 0 else None


def _inside(name: str) -> Callable[[float], Any]:
    function = getattr(math, name)
    return lambda value: function(value) if -1 <= value <= 1 else None


def _positive(function: Callable[[float], float]) -> Callable[[float], Any]:
    return lambda value: function(value) if value > 0 else None


UNSIGNED = Type(INT, unsigned=True)
EXACT = Type(STRING, exact=True)
FUNCTIONS: dict[str, Function] = {
    "ASCII": Function("s", T_INT, texts.code_of),
    "BIN": Function("i", T_STRING, lambda value: format(value & (1 << 64) - 1, "b")),
    "BIT_COUNT": Function("i", T_INT, lambda value: bin(value & (1 << 64) - 1).count("1")),
    "BIT_LENGTH": Function("s", T_INT, lambda text: len(text.encode()) * 8),
    "CHAR_LENGTH": Function("s", T_INT, len),
    "CONCAT": Function("s?s*", T_STRING, _concat),
    "CONCAT_WS": Function("SS?S*", T_STRING, _concat_ws),
    "CONV": Function("sii", T_STRING, texts.convert_base),
    "CRC32": Function("s", UNSIGNED, texts.crc32),
    "ELT": Function("iDD*", T_STRING, texts.elt),
    "FIELD": Function("DD?D*", T_INT, texts.field),
    "FIND_IN_SET": Function("ss", T_INT, texts.find_in_set),
    "HEX": Function("d", T_STRING, _hex),
    "INSERT": Function("siis", T_STRING, texts.insert),
    "INSTR": Function("ss", T_INT, texts.instr),
    "LEFT": Function("si", T_STRING, texts.left),
    "LENGTH": Function("s", T_INT, lambda text: len(text.encode())),
    "LOCATE": Function("ss?i", T_INT, texts.locate),
    "LOWER": Function("s", T_STRING, texts.lower),
    "LPAD": Function("sis", T_STRING, _lpad),
    "LTRIM": Function("s", T_STRING, lambda text: text.lstrip(" ")),
    "MD5": Function("s", T_STRING, texts.md5),
    "OCT": Function("i", T_STRING, lambda value: format(value & (1 << 64) - 1, "o")),
    "ORD": Function("s", T_INT, texts.ordinal),
    "QUOTE": Function("S", T_STRING, texts.quote),
    "REGEXP_INSTR": Function("ss?iiis", T_INT, patterns.position),
    "REGEXP_LIKE": Function(
        "ss?s",
        T_INT,
        lambda text, pattern, flags="": int(patterns.expression(pattern, flags).search(text) is not None),
    ),
    "REGEXP_REPLACE": Function("sss?iis", T_STRING, patterns.replace),
    "REGEXP_SUBSTR": Function("ss?iis", T_STRING, patterns.substring),
    "REPEAT": Function("si", T_STRING, _repeat),
    "REPLACE": Function("sss", T_STRING, _replace),
    "REVERSE": Function("s", T_STRING, lambda text: text[::-1]),
    "RIGHT": Function("si", T_STRING, texts.right),
    "RPAD": Function("sis", T_STRING, _rpad),
    "RTRIM": Function("s", T_STRING, lambda text: text.rstrip(" ")),
    "SHA1": Function("s", T_STRING, texts.sha1),
    "SHA2": Function("si", T_STRING, texts.sha2),
    "SOUNDEX": Function("s", T_STRING, texts.soundex),
    "SPACE": Function("i", T_STRING, lambda count: _repeat(" ", count)),
    "STRCMP": Function("ss", T_INT, texts.strcmp),
    "SUBSTRING": Function("si?i", T_STRING, texts.substring),
    "SUBSTRING_INDEX": Function("ssi", T_STRING, texts.substring_index),
    "UNHEX": Function("s", Type(STRING, exact=True, raw=True), texts.unhex),
    "UPPER": Function("s", T_STRING, texts.upper),
    # numbers
    "ACOS": Function("n", T_DOUBLE, _inside("acos")),
    "ASIN": Function("n", T_DOUBLE, _inside("asin")),
    "ATAN": Function(
        "n?n", T_DOUBLE, lambda one, other=None: math.atan(one) if other is None else math.atan2(one, other)
    ),
    "COS": Function("n", T_DOUBLE, _one("cos")),
    "COT": Function("n", T_DOUBLE, lambda value: 1 / math.tan(value)),
    "DEGREES": Function("n", T_DOUBLE, _one("degrees")),
    "EXP": Function("n", T_DOUBLE, _one("exp")),
    "LN": Function("n", T_DOUBLE, _logarithm),
    "LOG": Function("n?n", T_DOUBLE, _logarithm),
    "LOG10": Function("n", T_DOUBLE, _positive(math.log10)),
    "LOG2": Function("n", T_DOUBLE, _positive(math.log2)),
    "PI": Function("", Type(DOUBLE, 6), lambda: math.pi),
    "POW": Function("nn", T_DOUBLE, _power),
    "RADIANS": Function("n", T_DOUBLE, _one("radians")),
    "SIGN": Function("n", T_INT, lambda value: (value > 0) - (value < 0)),
    "SIN": Function("n", T_DOUBLE, _one("sin")),
    "SQRT": Function("n", T_DOUBLE, _square_root),
    "TAN": Function("n", T_DOUBLE, _one("tan")),
    # dates
    "DATEDIFF": Function("dd", T_INT, dates.days_between),
    "DATE_FORMAT": Function("ds", T_STRING, date_formats.write),
    "DAY": Function("d", T_INT, _part("DAY")),
    "DAYNAME": Function("d", T_STRING, _day_name),
    "DAYOFWEEK": Function("d", T_INT, _part("DAYOFWEEK")),
    "DAYOFYEAR": Function("d", T_INT, _part("DAYOFYEAR")),
    "FROM_DAYS": Function("i", T_DATE, _from_days),
    "HOUR": Function("d", T_INT, _part("HOUR")),
    "LAST_DAY": Function("d", T_DATE, _last_day),
    "MAKEDATE": Function("ii", T_DATE, _make_date),
    "MAKETIME": Function("iin", T_TIME, _make_time),
    "MICROSECOND": Function("d", T_INT, _part("MICROSECOND")),
    "MINUTE": Function("d", T_INT, _part("MINUTE")),
    "MONTH": Function("d", T_INT, _part("MONTH")),
    "MONTHNAME": Function("d", T_STRING, _month_name),
    "PERIOD_ADD": Function("ii", T_INT, _period_add),
    "PERIOD_DIFF": Function("ii", T_INT, _period_diff),
    "QUARTER": Function("d", T_INT, _part("QUARTER")),
    "SECOND": Function("d", T_INT, _part("SECOND")),
    "SEC_TO_TIME": Function("n", T_TIME, _clock),
    "TIMEDIFF": Function("dd", T_TIME, _time_difference),
    "TIME_FORMAT": Function("ds", T_STRING, date_formats.write_time),
    "TIME_TO_SEC": Function("d", T_INT, _seconds),
    "TO_DAYS": Function("d", T_INT, _part("TO_DAYS")),
    "WEEK": Function("d?i", T_INT, _week),
    "WEEKDAY": Function("d", T_INT, _part("WEEKDAY")),
    "WEEKOFYEAR": Function("d", T_INT, lambda value: _week(value, 3)),
    "YEAR": Function("d", T_INT, _part("YEAR")),
    "YEARWEEK": Function("d?i", T_INT, _year_week),
    "UNIX_TIMESTAMP": Function("d", T_INT, _unix),
    "FROM_UNIXTIME": Function("n", T_DATETIME, _from_unix),
    "FROM_UNIXTIME_FORMAT": Function("ns", T_STRING, _from_unix_format),
    "ISNULL": Function("D", T_INT, lambda value: int(value is None)),
    "UUID": Function("", T_STRING, lambda: "00000000-0000-1000-8000-000000000000"),
}
SAME = {
    "CHARACTER_LENGTH": "CHAR_LENGTH", "UCASE": "UPPER", "LCASE": "LOWER", "MID": "SUBSTRING",
    "SUBSTR": "SUBSTRING",
    "OCTET_LENGTH": "LENGTH", "POWER": "POW", "ATAN2": "ATAN", "DAYOFMONTH": "DAY", "SHA": "SHA1",
    "POSITION": "LOCATE",
    "CEILING": "CEIL", "ADDDATE": "DATE_ADD", "SUBDATE": "DATE_SUB", "SYSDATE": "NOW",
    "CURRENT_TIMESTAMP": "NOW",
    "LOCALTIME": "NOW", "LOCALTIMESTAMP": "NOW", "CURRENT_DATE": "CURDATE", "CURRENT_TIME": "CURTIME",
    "SCHEMA": "DATABASE",
    "SESSION_USER": "USER", "SYSTEM_USER": "USER", "CURRENT_USER": "USER",
}  # fmt: skip
"""Other names of functions."""


def _whole(value: Any) -> int:
    return int(value) if isinstance(value, int) else int(whole(number(value), False))


CONVERT: dict[str, Callable[[Any], Any]] = {
    "s": patterns.as_text,
    "i": _whole,
    "n": number,
    "d": lambda value: value,
}


def prepared(function: Function) -> Callable[..., Any]:
    """A function of values as SQLite passes them: converted by the signature, NULL for NULL."""
    letters = function.signature.replace("?", "")
    repeated = letters.endswith("*")
    letters = letters.rstrip("*")
    converters = [CONVERT[letter.lower()] for letter in letters]
    strict = [letter.islower() for letter in letters]
    call = function.call

    def run(*arguments: Any) -> Any:
        values: list[Any] = []
        for place, value in enumerate(arguments):
            at = min(place, len(letters) - 1) if repeated else place
            if value is None:
                if strict[at]:
                    return None
                values.append(None)
            else:
                values.append(converters[at](value))
        return call(*values)

    return run
