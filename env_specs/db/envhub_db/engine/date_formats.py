"""`DATE_FORMAT`, `TIME_FORMAT` and `STR_TO_DATE`."""

from __future__ import annotations

import datetime
import re
from typing import Any, Callable

from .dates import DAYS, MONTHS, date_text, datetime_text, duration, duration_text, moment, week

DATE_PARTS = frozenset("YymcMbdejDUuVvXxaWw")
TIME_PARTS = frozenset("HkhIlisSfprT")


def _ordinal(day: int) -> str:
    return f"{day}{'th' if 10 <= day % 100 <= 20 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"


WRITERS: dict[str, Callable[[datetime.datetime], str]] = {
    "Y": lambda when: f"{when.year:04d}",
    "y": lambda when: f"{when.year % 100:02d}",
    "m": lambda when: f"{when.month:02d}",
    "c": lambda when: str(when.month),
    "M": lambda when: MONTHS[when.month - 1],
    "b": lambda when: MONTHS[when.month - 1][:3],
    "d": lambda when: f"{when.day:02d}",
    "e": lambda when: str(when.day),
    "D": lambda when: _ordinal(when.day),
    "j": lambda when: f"{when.timetuple().tm_yday:03d}",
    "a": lambda when: DAYS[when.weekday()][:3],
    "W": lambda when: DAYS[when.weekday()],
    "w": lambda when: str(when.isoweekday() % 7),
    "U": lambda when: f"{week(when.date(), 0)[1]:02d}",
    "u": lambda when: f"{week(when.date(), 1)[1]:02d}",
    "V": lambda when: f"{week(when.date(), 2)[1]:02d}",
    "v": lambda when: f"{week(when.date(), 3)[1]:02d}",
    "X": lambda when: f"{week(when.date(), 2)[0]:04d}",
    "x": lambda when: f"{week(when.date(), 3)[0]:04d}",
    "H": lambda when: f"{when.hour:02d}",
    "k": lambda when: str(when.hour),
    "h": lambda when: f"{(when.hour - 1) % 12 + 1:02d}",
    "I": lambda when: f"{(when.hour - 1) % 12 + 1:02d}",
    "l": lambda when: str((when.hour - 1) % 12 + 1),
    "i": lambda when: f"{when.minute:02d}",
    "s": lambda when: f"{when.second:02d}",
    "S": lambda when: f"{when.second:02d}",
    "f": lambda when: f"{when.microsecond:06d}",
    "p": lambda when: "AM" if when.hour < 12 else "PM",
    "r": lambda when: (
        f"{(when.hour - 1) % 12 + 1:02d}:{when.minute:02d}:{when.second:02d} "
        f"{'AM' if when.hour < 12 else 'PM'}"
    ),
    "T": lambda when: f"{when.hour:02d}:{when.minute:02d}:{when.second:02d}",
}


def write(value: Any, pattern: Any) -> Any:
    """`DATE_FORMAT(value, pattern)`."""
    read = moment(value)
    if not read or pattern is None or pattern == "":
        return None
    when = read[0]
    return re.sub(
        r"%(.)",
        lambda found: WRITERS[found[1]](when) if found[1] in WRITERS else found[1],
        str(pattern),
        flags=re.S,
    )


def write_time(value: Any, pattern: Any) -> Any:
    """`TIME_FORMAT(value, pattern)`: hours may be more than a day's."""
    total = duration(value)
    if total is None or pattern is None:
        return None
    hours, rest = divmod(abs(total), 3_600_000_000)
    when = datetime.datetime(2000, 1, 1, hours % 24) + datetime.timedelta(microseconds=rest)

    def one(found: re.Match[str]) -> str:
        if found[1] in "Hk":
            return f"{hours:02d}" if found[1] == "H" else str(hours)
        return WRITERS[found[1]](when) if found[1] in TIME_PARTS else "0"

    return re.sub(r"%(.)", one, str(pattern), flags=re.S)


def kind_of(pattern: str) -> str:
    """What `STR_TO_DATE` gives with a pattern: "date", "datetime" or "time"."""
    letters = set(re.findall(r"%(.)", pattern))
    dated, timed = bool(letters & DATE_PARTS), bool(letters & TIME_PARTS)
    return "datetime" if dated and timed else "time" if timed else "date"


def _name(text: str, at: int, names: list[str], length: int | None) -> tuple[int, int] | None:
    rest = text[at:].lower()
    for place, name in enumerate(names):
        wanted = (name if length is None else name[:length]).lower()
        if rest.startswith(wanted):
            return place, at + len(wanted)
    return None


WIDTHS = {
    "Y": 4,
    "y": 2,
    "m": 2,
    "c": 2,
    "d": 2,
    "e": 2,
    "H": 2,
    "k": 2,
    "h": 2,
    "I": 2,
    "l": 2,
    "i": 2,
    "s": 2,
    "S": 2,
    "j": 3,
    "f": 6,
}
FIELDS = {
    "Y": "year",
    "y": "year",
    "m": "month",
    "c": "month",
    "d": "day",
    "e": "day",
    "H": "hour",
    "k": "hour",
    "h": "hour",
    "I": "hour",
    "l": "hour",
    "i": "minute",
    "s": "second",
    "S": "second",
    "j": "yearday",
    "f": "micro",
}
SPELLED = {"r": "%I:%i:%s %p", "T": "%H:%i:%s"}


def _read(text: str, pattern: str) -> dict[str, Any] | None:
    found: dict[str, Any] = {}
    pattern = re.sub(r"%([rT])", lambda one: SPELLED[one[1]], pattern)
    at, place = 0, 0
    while place < len(pattern):
        char = pattern[place]
        if char.isspace():
            while at < len(text) and text[at].isspace():
                at += 1
            place += 1
            continue
        if char != "%" or place + 1 == len(pattern):
            while at < len(text) and text[at].isspace():
                at += 1
            if at >= len(text):
                return found if found else None
            if text[at] != char:
                return None
            at, place = at + 1, place + 1
            continue
        letter = pattern[place + 1]
        place += 2
        while at < len(text) and text[at].isspace():
            at += 1
        if at >= len(text):
            return found or None
        if letter in "MbWa":
            names, length = (MONTHS if letter in "Mb" else DAYS), (None if letter in "MW" else 3)
            named = _name(text, at, names, length)
            if not named:
                return None
            if letter in "Mb":
                found["month"] = named[0] + 1
            at = named[1]
        elif letter == "p":
            half = text[at : at + 2].upper()
            if half not in ("AM", "PM"):
                return None
            found["half"], at = half, at + 2
        elif letter == "D" or letter in WIDTHS:
            digits = re.compile(rf"\d{{1,{WIDTHS.get(letter, 2)}}}").match(text, at)
            if not digits:
                return None
            value, at = int(digits[0]), digits.end()
            if letter == "D":
                found["day"], at = value, at + 2
            elif letter == "f":
                found["micro"] = int(digits[0].ljust(6, "0"))
            else:
                if FIELDS[letter] == "year" and len(digits[0]) <= 2:
                    value += 2000 if value < 70 else 1900
                found[FIELDS[letter]] = value
                found.setdefault("twelve", letter in "hIl") if FIELDS[letter] == "hour" else None
        elif letter == "%":
            if text[at] != "%":
                return None
            at += 1
        elif letter == "#":
            while at < len(text) and text[at].isdigit():
                at += 1
        else:
            return None
    return found


def read(text: Any, pattern: Any, kind: str) -> Any:
    """`STR_TO_DATE(text, pattern)`; None where the text is not as the pattern says or is no date."""
    if text is None or pattern is None:
        return None
    found = _read(str(text), str(pattern))
    if found is None:
        return None
    hour = found.get("hour", 0)
    if found.get("twelve"):
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if found.get("half") == "PM" else 0)
    minute, second, micro = found.get("minute", 0), found.get("second", 0), found.get("micro", 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    if kind == "time":
        return duration_text(((hour * 60 + minute) * 60 + second) * 1_000_000 + micro)
    year, month, day = found.get("year", 0), found.get("month", 0), found.get("day", 0)
    if "yearday" in found and year and not (month and day):
        first = datetime.datetime(year, 1, 1, hour, minute, second, micro)
        when = first + datetime.timedelta(days=found["yearday"] - 1)
        return date_text(when) if kind == "date" else datetime_text(when)
    try:
        when = datetime.datetime(year or 2000, month, day, hour, minute, second, micro)
    except ValueError:
        return None  # a month or day of 0, or one that there is not: NO_ZERO_IN_DATE
    text = date_text(when) if kind == "date" else datetime_text(when)
    return text if year else "0000" + text[4:]
