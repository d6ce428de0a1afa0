"""Dates and times: reading them from text, formats, parts, arithmetic.

In SQLite they are text: `2020-01-02`, `2020-01-02 03:04:05[.678900]`, `[-]03:04:05[.678900]`. Functions here
take what a column may hold (such text, any other text, a number) and give None where MySQL gives NULL.
"""

from __future__ import annotations

import calendar
import datetime
import re
from typing import Any

from .numbers import number

MONTHS = ("January February March April May June July August September October November December").split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
MOMENT = re.compile(
    r"\s*(\d{4}|\d{2})([^\w\s])(\d{1,2})[^\w\s](\d{1,2})"
    r"(?:(?:[T ]|\s+)(\d{1,2})(?:[^\w\s](\d{1,2})(?:[^\w\s](\d{1,2})(?:\.(\d*))?)?)?)?(.*)",
    re.S,
)
PACKED = re.compile(r"\s*(\d{4}|\d{2})(\d\d)(\d\d)(?:(\d\d)(\d\d)(\d\d)(?:\.(\d*))?)?(?!\d)(.*)", re.S)
CLOCK = re.compile(r"\s*(-?)(?:(\d{1,2}) +)?(\d{1,3}):(\d{1,2})(?::(\d{1,2}))?(?:\.(\d*))?")

Moment = tuple[datetime.datetime, bool]
"""A point in time, and whether a time of day was said."""


def _micro(fraction: str | None) -> int:
    return int((fraction or "").ljust(6, "0")[:6] or 0)


def moment(value: Any) -> Moment | None:
    """What a date or a date with a time says, as MySQL reads it; None where it is none."""
    if value is None:
        return None
    if isinstance(value, (int, float)):
        value = str(int(value))
        value = (
            value.zfill(6)
            if len(value) < 6
            else value.zfill(12)
            if 8 < len(value) < 14
            else value.zfill(8)
            if len(value) == 7
            else value
        )
    found = MOMENT.match(value)
    if found:
        year, _, month, day, hour, minute, second, fraction, _rest = found.groups()
    else:
        packed = PACKED.match(value)
        if not packed:
            return None
        year, month, day, hour, minute, second, fraction, _rest = packed.groups()
    years = int(year)
    if len(year) == 2:
        years += 2000 if years < 70 else 1900
    try:
        when = datetime.datetime(
            years, int(month), int(day), int(hour or 0), int(minute or 0), int(second or 0), _micro(fraction)
        )
    except ValueError:
        return None
    return when, hour is not None


def date_text(when: datetime.datetime) -> str:
    """A date as it is kept."""
    return f"{when.year:04d}-{when.month:02d}-{when.day:02d}"


def datetime_text(when: datetime.datetime, digits: int | None = None) -> str:
    """A date and time as it is kept; the fraction where there is one, or as many digits as said."""
    text = f"{date_text(when)} {when.hour:02d}:{when.minute:02d}:{when.second:02d}"
    if digits is None:
        digits = 6 if when.microsecond else 0
    return f"{text}.{when.microsecond:06d}"[: len(text) + 1 + digits] if digits else text


def to_date(value: Any) -> Any:
    """`DATE(…)` and `CAST(… AS DATE)`."""
    read = moment(value)
    return date_text(read[0]) if read else None


def to_datetime(value: Any, digits: int = 0) -> Any:
    """`CAST(… AS DATETIME)`, rounded to so many digits of a second."""
    read = moment(value)
    if not read:
        return None
    when = read[0]
    if digits == 0 and when.microsecond:
        when = when.replace(microsecond=0) + datetime.timedelta(seconds=when.microsecond >= 500_000)
    return datetime_text(when, digits)


def like_moment(value: Any) -> Any:
    """Text as the date or time that it is compared as; what is none stays as it is."""
    read = moment(value)
    return value if not read else datetime_text(read[0])


# -- times of day ---------------------------------------------------------------------------------------


def duration(value: Any) -> int | None:
    """Microseconds of a `TIME`, from text or a number; None where it is none."""
    if value is None:
        return None
    if isinstance(value, (int, float)):
        sign, digits = (-1 if value < 0 else 1), str(int(abs(value))).zfill(6)
        hours, minutes, seconds, micro = (
            int(digits[:-4]),
            int(digits[-4:-2]),
            int(digits[-2:]),
            round((abs(value) % 1) * 1e6),
        )
    else:
        full = MOMENT.match(value)
        if full and full.group(5) is not None:
            read = moment(value)
            if not read:
                return None
            when = read[0]
            return ((when.hour * 60 + when.minute) * 60 + when.second) * 1_000_000 + when.microsecond
        found = CLOCK.match(value)
        if not found:
            bare = re.match(r"\s*(-?)(\d+)(?:\.(\d*))?", value)
            if not bare or full:
                return 0 if full else None
            sign, digits = (-1 if bare.group(1) else 1), bare.group(2).zfill(6)
            hours, minutes, seconds, micro = (
                int(digits[:-4]),
                int(digits[-4:-2]),
                int(digits[-2:]),
                _micro(bare.group(3)),
            )
        else:
            sign = -1 if found.group(1) else 1
            hours = int(found.group(2) or 0) * 24 + int(found.group(3))
            minutes, seconds, micro = int(found.group(4)), int(found.group(5) or 0), _micro(found.group(6))
    if minutes > 59 or seconds > 59:
        return None
    total = ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + micro
    return sign * min(total, 3_020_399_000_000)


def duration_text(total: int, digits: int | None = None) -> str:
    """A `TIME` as it is kept."""
    seconds, micro = divmod(abs(total), 1_000_000)
    text = f"{'-' if total < 0 else ''}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}"
    if digits is None:
        digits = 6 if micro else 0
    return f"{text}.{micro:06d}"[: len(text) + 1 + digits] if digits else text


def to_time(value: Any, digits: int | None = None) -> Any:
    """`TIME(…)` and `CAST(… AS TIME)`."""
    total = duration(value)
    return None if total is None else duration_text(total, digits)


# -- parts ----------------------------------------------------------------------------------------------


def week(when: datetime.date, mode: int) -> tuple[int, int]:
    """Year and week of a day by MySQL's mode: odd modes begin weeks on Monday, 2, 3, 6 and 7 count from 1.

    In modes 1, 3, 4 and 6 week 1 is the first with four days of the year, in the others the first that begins
    in it.
    """
    monday_first, from_one = bool(mode & 1), bool(mode & 2)
    four_days = monday_first != bool(mode & 4)

    def begin(year: int) -> datetime.date:
        new_year = datetime.date(year, 1, 1)
        into = new_year.weekday() if monday_first else (new_year.weekday() + 1) % 7
        if four_days and into <= 3:
            return new_year - datetime.timedelta(days=into)
        return new_year + datetime.timedelta(days=(7 - into) % 7)

    year = when.year
    if when < begin(year):
        if not from_one:
            return year, 0
        year -= 1
    elif from_one and year < 9999 and when >= begin(year + 1):
        year += 1
    return year, (when - begin(year)).days // 7 + 1


def days_since_zero(when: datetime.date) -> int:
    """`TO_DAYS`."""
    return when.toordinal() + 365


def part(value: Any, name: str) -> Any:
    """A part of a date or time, such as YEAR or MINUTE; None where the value has none."""
    if name in ("HOUR", "MINUTE", "SECOND", "MICROSECOND"):
        total = duration(value)
        if total is None:
            return None
        seconds, micro = divmod(abs(total), 1_000_000)
        return {
            "HOUR": seconds // 3600,
            "MINUTE": seconds // 60 % 60,
            "SECOND": seconds % 60,
            "MICROSECOND": micro,
        }[name]
    read = moment(value)
    if not read:
        without_year = re.match(r"0000-(\d\d)-(\d\d)", value) if isinstance(value, str) else None
        if without_year is None or name not in ("YEAR", "MONTH", "DAY"):
            return None
        return {"YEAR": 0, "MONTH": int(without_year[1]), "DAY": int(without_year[2])}[name]
    when = read[0]
    if name == "WEEK":
        return week(when.date(), 0)[1]
    return {
        "YEAR": when.year,
        "MONTH": when.month,
        "DAY": when.day,
        "QUARTER": (when.month + 2) // 3,
        "DAYOFWEEK": when.isoweekday() % 7 + 1,
        "WEEKDAY": when.weekday(),
        "DAYOFYEAR": when.timetuple().tm_yday,
        "TO_DAYS": days_since_zero(when.date()),
    }[name]


COMPOUND = {
    "YEAR_MONTH": ("YEAR", "MONTH"),
    "DAY_HOUR": ("DAY", "HOUR"),
    "DAY_MINUTE": ("DAY", "HOUR", "MINUTE"),
    "DAY_SECOND": ("DAY", "HOUR", "MINUTE", "SECOND"),
    "HOUR_MINUTE": ("HOUR", "MINUTE"),
    "HOUR_SECOND": ("HOUR", "MINUTE", "SECOND"),
    "MINUTE_SECOND": ("MINUTE", "SECOND"),
}
"""The units that name several parts."""


def extract(value: Any, unit: str) -> Any:
    """`EXTRACT(unit FROM value)`."""
    if unit not in COMPOUND:
        return part(value, unit)
    total = 0
    for name in COMPOUND[unit]:
        one = part(value, name)
        if one is None:
            return None
        total = total * 100 + one
    return total


# -- arithmetic -----------------------------------------------------------------------------------------


def _months_later(when: datetime.datetime, months: int) -> datetime.datetime:
    year, month = divmod(when.year * 12 + when.month - 1 + months, 12)
    return when.replace(
        year=year, month=month + 1, day=min(when.day, calendar.monthrange(year, month + 1)[1])
    )


SECONDS = {"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86400, "WEEK": 604800}


def amount(value: Any, unit: str) -> tuple[int, int] | None:
    """An interval as months and microseconds."""
    if value is None:
        return None
    if unit in COMPOUND:
        numbers = [int(one) for one in re.findall(r"\d+", str(value))]
        names = COMPOUND[unit]
        numbers = [0] * (len(names) - len(numbers)) + numbers[: len(names)]
        sign = -1 if str(value).lstrip().startswith("-") else 1
        months = seconds = 0
        for name, one in zip(names, numbers):
            if name in ("YEAR", "MONTH"):
                months += one * (12 if name == "YEAR" else 1)
            else:
                seconds += one * SECONDS[name]
        return sign * months, sign * seconds * 1_000_000
    size = number(value)
    if unit == "SECOND":
        return 0, round(size * 1_000_000)
    if unit == "MICROSECOND":
        return 0, round(size)
    count = int(size + (0.5 if size >= 0 else -0.5))
    if unit in ("YEAR", "QUARTER", "MONTH"):
        return count * {"YEAR": 12, "QUARTER": 3, "MONTH": 1}[unit], 0
    return 0, count * SECONDS[unit] * 1_000_000


def shift(value: Any, size: Any, unit: str, sign: int, kind: str) -> Any:
    """A date or time and an interval: `DATE_ADD` and `+ INTERVAL`.

    The result is of the kind that is said; with `any`, a date where a date was given and the unit has no time
    in it.
    """
    steps = amount(size, unit)
    if value is None or steps is None:
        return None
    months, micros = steps
    if kind == "time":
        total = duration(value)
        return None if total is None or months else duration_text(total + sign * micros)
    read = moment(value)
    if not read:
        return None
    when, timed = read
    try:
        if months:
            when = _months_later(when, sign * months)
        when += datetime.timedelta(microseconds=sign * micros)
    except (ValueError, OverflowError):
        return None
    dated = kind == "date" or (kind == "any" and not timed and not has_time(unit))
    return date_text(when) if dated else datetime_text(when)


def has_time(unit: str) -> bool:
    """Whether a unit says something of the time of day."""
    return any(word in unit for word in ("HOUR", "MINUTE", "SECOND"))


def difference(first: Any, second: Any, unit: str) -> Any:
    """`TIMESTAMPDIFF(unit, first, second)`: whole units from the first to the second."""
    one, other = moment(first), moment(second)
    if not one or not other:
        return None
    start, end = one[0], other[0]
    if unit in ("YEAR", "QUARTER", "MONTH"):
        sign = 1
        if end < start:
            start, end, sign = end, start, -1
        months = (end.year - start.year) * 12 + end.month - start.month
        months -= (end.day, end.time()) < (start.day, start.time())
        return sign * (months // {"YEAR": 12, "QUARTER": 3, "MONTH": 1}[unit])
    micros = (end - start) // datetime.timedelta(microseconds=1)
    size = 1 if unit == "MICROSECOND" else SECONDS[unit] * 1_000_000
    return int(abs(micros) // size) * (1 if micros >= 0 else -1)


def days_between(first: Any, second: Any) -> Any:
    """`DATEDIFF`."""
    one, other = moment(first), moment(second)
    return (one[0].date() - other[0].date()).days if one and other else None
