"""`LIKE` and `REGEXP`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from .collation import fold
from .errors import DatabaseError
from .numbers import number
from .types import double_text


def as_text(value: Any) -> Any:
    """A value of unknown type as text."""
    return (
        value
        if value is None or isinstance(value, str)
        else str(value)
        if isinstance(value, int)
        else double_text(value)
    )


@lru_cache(maxsize=2_000)
def _like(pattern: str, escape: str, exact: bool) -> re.Pattern[str]:
    parts, place = [], 0
    while place < len(pattern):
        char = pattern[place]
        if char == escape and escape and place + 1 < len(pattern):
            place += 1
            char = pattern[place]
            parts.append(re.escape(char if exact else fold(char)))
        elif char == "%":
            if not parts or parts[-1] != ".*":
                parts.append(".*")
        elif char == "_":
            parts.append(".")
        else:
            parts.append(re.escape(char if exact else fold(char)))
        place += 1
    return re.compile("".join(parts), re.S)


def like(text: Any, pattern: Any, escape: Any, exact: int) -> Any:
    """Whether a text is like a pattern."""
    if text is None or pattern is None or escape is None:
        return None
    text, pattern = as_text(text), as_text(pattern)
    return int(bool(_like(pattern, escape, bool(exact)).fullmatch(text if exact else fold(text))))


POSIX = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "space": r"\s", "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~", "xdigit": "0-9a-fA-F", "word": r"\w", "cntrl": r"\x00-\x1f\x7f", "print": r"\x20-\x7e", "graph": r"\x21-\x7e",
}  # fmt: skip


@lru_cache(maxsize=2_000)
def expression(pattern: str, flags: str = "") -> re.Pattern[str]:
    """A regular expression of MySQL's as one of Python's.

    Raises:
        DatabaseError: 3685 and its like: it is not one.
    """
    if pattern == "":
        raise DatabaseError(3685, "Illegal argument to a regular expression.")
    text = re.sub(r"\[:(\w+):\]", lambda found: POSIX.get(found[1], found[0]), pattern)
    text = text.replace("[[:<:]]", r"\b").replace("[[:>:]]", r"\b")
    text = re.sub(r"(?<!\\)((?:\\\\)*)\\Z", r"\1\\n?\\Z", text).replace(r"\z", r"\Z")
    mode = re.IGNORECASE if "c" not in flags else 0
    if "m" in flags:
        mode |= re.MULTILINE
    if "n" in flags:
        mode |= re.DOTALL
    try:
        return re.compile(text, mode)
    except (re.error, RecursionError, OverflowError) as error:
        raise DatabaseError(3692, f"Incorrect description of a regular expression: {error}.") from None


def matches(text: Any, pattern: Any, exact: int) -> Any:
    """`text REGEXP pattern`."""
    if text is None or pattern is None:
        return None
    return int(expression(as_text(pattern), "c" if exact else "").search(as_text(text)) is not None)


def _occurrences(text: str, pattern: str, start: Any, flags: Any) -> Any:
    begin = max(int(number(start)), 1) - 1
    return expression(pattern, flags or "").finditer(text, begin)


def replace(text: Any, pattern: Any, by: Any, start: Any = 1, which: Any = 0, flags: Any = "") -> Any:
    """`REGEXP_REPLACE`; groups are `$1` in MySQL 8, and `\\1` does as well."""
    if None in (text, pattern, by, start, which, flags):
        return None
    text, by = as_text(text), as_text(by)
    pieces, last = [], 0
    for place, found in enumerate(_occurrences(text, as_text(pattern), start, flags), 1):
        if which and place != which:
            continue
        pieces += [
            text[last : found.start()],
            re.sub(r"[$\\](\d)", lambda one: found.group(int(one[1])) or "", by),
        ]
        last = found.end()
    return "".join(pieces) + text[last:]


def substring(text: Any, pattern: Any, start: Any = 1, which: Any = 1, flags: Any = "") -> Any:
    """`REGEXP_SUBSTR`: NULL where nothing matches."""
    if None in (text, pattern, start, which, flags):
        return None
    for place, found in enumerate(_occurrences(as_text(text), as_text(pattern), start, flags), 1):
        if place == max(1, which):
            return found.group()
    return None


def position(text: Any, pattern: Any, start: Any = 1, which: Any = 1, end: Any = 0, flags: Any = "") -> Any:
    """`REGEXP_INSTR`."""
    if None in (text, pattern, start, which, end, flags):
        return None
    for place, found in enumerate(_occurrences(as_text(text), as_text(pattern), start, flags), 1):
        if place == max(1, which):
            return (found.end() if end else found.start()) + 1
    return 0
