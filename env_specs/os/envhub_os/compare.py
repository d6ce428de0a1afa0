"""Comparisons of an answer with what it should be. They run on the host, out of the agent's reach.

`faithful` ones are AgentBench's, quirks included; the others differ where it rejects what is right.
"""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Callable

Comparison = Callable[[str, str], bool]

_UNITS = ("B", "K", "M", "G", "T", "P")
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(?:([BKMGTP])(?:iB|B)?|bytes?)?", re.IGNORECASE)


def _normal(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").strip()


def integer(answer: str, expected: str) -> bool:
    """Tell whether both are the same integer, in the form that Python's `int` reads."""
    try:
        return int(answer) == int(expected)
    except ValueError:
        return False


def string(answer: str, expected: str) -> bool:
    """Tell whether both are the same text, but for blanks around it and the kind of line ends."""
    return _normal(answer) == _normal(expected)


def size(answer: str, expected: str) -> bool:
    """Tell whether both are the same size, as `4K`, `4.0K`, `4 KB`, `4KiB` and `4096` are."""
    one, other = _bytes(answer), _bytes(expected)
    return one is not None and one == other


def published_size(answer: str, expected: str) -> bool:
    """Tell whether both are the same size to AgentBench: whole numbers, and `12KB` is none (it ends in B)."""
    try:
        return _published_bytes(answer.strip()) == _published_bytes(expected.strip())
    except ValueError:
        return False


def within(answer: str, expected: str) -> bool:
    """Tell whether the answer is part of what is expected."""
    return _normal(answer) in _normal(expected)


def containing(answer: str, expected: str) -> bool:
    """Tell whether what is expected is part of the answer."""
    return _normal(expected) in _normal(answer)


def exact(answer: str, expected: str) -> bool:
    """Tell whether both are the same."""
    return answer == expected


def regex(answer: str, expected: str) -> bool:
    """Tell whether the pattern is found in the answer."""
    return re.search(expected, answer) is not None


COMPARISONS: dict[str, Comparison] = {
    "exact": exact,
    "regex": regex,
    "integer": integer,
    "string": string,
    "size": size,
    "in": within,
    "containing": containing,
}
FAITHFUL: dict[str, Comparison] = {**COMPARISONS, "size": published_size}


def _bytes(text: str) -> Decimal | None:
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        return None
    try:
        return Decimal(match[1]) * Decimal(1024 ** _UNITS.index((match[2] or "B").upper()))
    except InvalidOperation:  # more digits than Decimal holds
        return None


def _published_bytes(text: str) -> int:
    if text.endswith(("B", "Byte")):
        return int(text[: -len("Byte")] if text.endswith("Byte") else text[:-1])
    for power, unit in enumerate(_UNITS):
        if power and text.endswith(unit):
            return int(text[:-1]) * int(1024**power)
    return int(text)
