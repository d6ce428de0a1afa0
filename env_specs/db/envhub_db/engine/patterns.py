"""`LIKE` and `REGEXP`."""

from __future__ import annotations

import re
from functools import lru_cache, partial
from typing import Any

from .collation import fold
from .errors import DatabaseError
from .numbers import number
from .regexps import Expression, slow
from .running import check_size, check_time
from .types import double_text

LONGEST_KEPT = 256
"""Patterns up to this length are kept compiled."""


def as_text(value: Any) -> Any:
    """A value of unknown type as text."""
    return (
        value
        if value is None or isinstance(value, str)
        else str(value)
        if isinstance(value, int)
        else double_text(value)
    )


class Likeness:
    """A pattern of LIKE: pieces of text between its `%`, matched one after the other and never back."""

    def __init__(self, pattern: str, escape: str, exact: bool) -> None:
        pieces: list[list[str]] = [[]]
        place = 0
        while place < len(pattern):
            char = pattern[place]
            if char == escape and escape and place + 1 < len(pattern):
                place += 1
                char = pattern[place]
                pieces[-1].append(re.escape(char if exact else fold(char)))
            elif char == "%":
                pieces.append([])
            else:
                pieces[-1].append("." if char == "_" else re.escape(char if exact else fold(char)))
            place += 1
        texts = ["".join(piece) for piece in pieces]
        self._first = re.compile(texts[0], re.S)
        self._whole = len(texts) == 1
        self._middle = [re.compile(text, re.S) for text in texts[1:-1] if text]
        self._last = re.compile(texts[-1], re.S)
        self._last_length = len(pieces[-1])

    def fits(self, text: str) -> bool:
        """Whether a text is like the pattern."""
        begun = self._first.match(text)
        if begun is None or self._whole:
            return begun is not None and begun.end() == len(text)
        at = begun.end()
        for piece in self._middle:
            found = piece.search(text, at)
            if found is None:
                return False
            at = found.end()
        end = len(text) - self._last_length
        return end >= at and self._last.fullmatch(text, end) is not None


_likeness = lru_cache(maxsize=2_000)(Likeness)


def like(text: Any, pattern: Any, escape: Any, exact: int) -> Any:
    """Whether a text is like a pattern."""
    if text is None or pattern is None or escape is None:
        return None
    text, pattern = as_text(text), as_text(pattern)
    make = _likeness if len(pattern) <= LONGEST_KEPT else Likeness
    return int(make(pattern, escape, bool(exact)).fits(text if exact else fold(text)))


POSIX = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "space": r"\s",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~", "xdigit": "0-9a-fA-F", "word": r"\w", "cntrl": r"\x00-\x1f\x7f",
    "print": r"\x20-\x7e", "graph": r"\x21-\x7e",
}  # fmt: skip


def expression(pattern: str, flags: str = "") -> Expression:
    """A regular expression of MySQL's as one of Python's.

    Raises:
        DatabaseError: 3685 and its like: it is not one.
    """
    return _expression(pattern, flags) if len(pattern) <= LONGEST_KEPT else _compiled(pattern, flags)


def _compiled(pattern: str, flags: str = "") -> Expression:
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
        return Expression(re.compile(text, mode), slow(text))
    except (re.error, RecursionError, OverflowError) as error:
        raise DatabaseError(3692, f"Incorrect description of a regular expression: {error}.") from None


_expression = lru_cache(maxsize=2_000)(_compiled)


def matches(text: Any, pattern: Any, exact: int) -> Any:
    """`text REGEXP pattern`."""
    if text is None or pattern is None:
        return None
    return int(expression(as_text(pattern), "c" if exact else "").search(as_text(text)) is not None)


def _occurrences(text: str, pattern: str, start: Any, flags: Any) -> Any:
    begin = max(int(number(start)), 1) - 1
    return expression(pattern, flags or "").finditer(text, begin)


def _group(found: re.Match[str], reference: re.Match[str]) -> str:
    return found.group(int(reference[1])) or ""


def replace(text: Any, pattern: Any, by: Any, start: Any = 1, which: Any = 0, flags: Any = "") -> Any:
    """`REGEXP_REPLACE`; groups are `$1` in MySQL 8, and a backslash with the number does as well."""
    if None in (text, pattern, by, start, which, flags):
        return None
    text, by = as_text(text), as_text(by)
    pieces, last, size = [], 0, len(text)
    for place, found in enumerate(_occurrences(text, as_text(pattern), start, flags), 1):
        if which and place != which:
            continue
        new = re.sub(r"[$\\](\d)", partial(_group, found), by)
        size += len(new)
        check_size(size)
        check_time()
        pieces += [text[last : found.start()], new]
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
