"""Reading an answer, and comparing it with the labels. Nothing an agent writes is ever evaluated as code.

`classic` and `fc` are the comparisons of AgentBench's two generations.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

LONGEST = 20_000
"""Longer texts are no list, whatever they look like; characters."""
TOLERANCE = 1e-2
"""Two numbers that differ by no more are the same to `fc`."""

_NULLS = frozenset(("", "none", "null", "undefined", "nan"))
_INFINITIES = frozenset(("inf", "infinity", "-inf", "-infinity"))
_SINGLE_ROW = re.compile(r"\[\(([^(]*),\)\]")
_NO_LITERAL = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)


def literal(text: str) -> Any:
    """Read a literal of Python: text, numbers, None, and tuples, lists, sets, dicts of them.

    Raises:
        ValueError: It is none, or longer than `LONGEST`.
    """
    if len(text) > LONGEST:
        raise ValueError(f"a text of {len(text)} characters is no literal here")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # backslashes that mean nothing
            return ast.literal_eval(text.strip())
    except _NO_LITERAL as error:
        raise ValueError(f"{text!r:.80} is no literal") from error


def first_list(text: str) -> Any:
    """Read the JSON list that a text begins with; of any other text return the first line."""
    try:
        value, _ = json.JSONDecoder().raw_decode(text[:LONGEST])
        if isinstance(value, list):
            return value
    except (ValueError, RecursionError):
        pass
    return text.partition("\n")[0].strip()


def classic(answer: Any, labels: Sequence[str], faithful: bool = True) -> bool:
    """Compare as the first generation: numbers or texts that are equal, or equal sets.

    Published, the text of an answer is evaluated as Python. Here literals of Python are read, and no other
    expressions.

    Args:
        answer: The answer, text or a list.
        labels: The right values.
        faithful: Otherwise the text may be JSON as well, blanks around it don't count, and the values are
            compared as text (published, a number is never equal to a text where there are several).
    """
    values = _items(answer, faithful)
    if len(values) == 1 and len(labels) == 1:
        try:
            return float(values[0]) == float(labels[0])
        except (ValueError, TypeError, OverflowError):
            return bool(values[0] == labels[0])
    try:
        return set(values) == set(labels)
    except TypeError:  # a list within the list
        return False


def _items(answer: Any, faithful: bool) -> list[Any]:
    if isinstance(answer, (list, tuple)):
        return list(answer) if faithful else [_text(item) for item in answer]
    raw = answer if isinstance(answer, str) else str(answer)
    if not faithful:
        return [_text(item) for item in _listed(raw.strip())]
    try:
        return list(literal(raw))
    except (ValueError, TypeError):
        return [raw]


def _listed(text: str) -> Iterable[Any]:
    if text.startswith("["):
        for read in (json.loads, literal):
            try:
                value = read(text[: LONGEST + 1])
            except (ValueError, RecursionError):
                continue
            if isinstance(value, list):
                return value
    return [text]


def _text(item: Any) -> str:
    return str(item).strip()


def fc(answer: Any, labels: Sequence[str], faithful: bool = False) -> bool:
    """Compare as the second generation, with function calls: normalised values, numbers with a tolerance.

    Args:
        answer: The answer, text or a list.
        labels: The right values.
        faithful: Otherwise the hole is closed that no value, an empty text and infinity equal zero: the first
            two are equal to each other alone.
    """
    given = _cleaned(answer, faithful)
    wanted = _cleaned(list(labels), faithful)
    if len(given) == 1 and len(wanted) == 1:
        return _close(given[0], wanted[0]) if _floats(given + wanted) else given == wanted
    if _floats(given + wanted):
        return len(given) == len(wanted) and _one_to_one(given, wanted)
    return set(given) == set(wanted)


def _one_to_one(given: list[str], wanted: list[str]) -> bool:
    """Match each value with the first that is left and close to it."""
    left = list(wanted)
    for value in given:
        match = next((index for index, other in enumerate(left) if _close(value, other)), None)
        if match is None:
            return False
        del left[match]
    return not left


def _floats(values: Iterable[str]) -> bool:
    try:
        for value in values:
            float(value)
    except ValueError:
        return False
    return True


def _close(one: str, other: str) -> bool:
    return abs(float(one) - float(other)) <= TOLERANCE


def _cleaned(answer: Any, faithful: bool) -> list[str]:
    """Bring an answer into the form in which answers are compared: a list of normalised texts."""
    if answer is None:
        return [_normal(None, faithful)]
    if isinstance(answer, str):
        items: Iterable[Any] = _of_text(answer)
    elif isinstance(answer, (list, tuple)):
        items = [item[0] if isinstance(item, tuple) and len(item) == 1 else item for item in answer]
    else:
        items = [answer]
    return [_normal(str(item).strip().strip("'\""), faithful) for item in items]


def _of_text(text: str) -> Iterable[Any]:
    """Find the values in a text: a list, or rows as a result shows them, or a single value."""
    if text.startswith("[") and text.endswith("]"):
        rows = _rows(text)
        if rows is not None:
            return rows
    text = text.strip()
    if not (text.startswith("[") and text.endswith("]")):
        return [text]
    try:
        value = literal(text)
    except ValueError:
        return _split(text[1:-1])
    if not isinstance(value, list):
        return [text]
    return [item[0] if isinstance(item, tuple) and len(item) == 1 else item for item in value]


def _rows(text: str) -> list[Any] | None:
    """Read `[(value,), …]`; rows of several values count for nothing, as published."""
    try:
        value = literal(text)
    except ValueError:
        single = _SINGLE_ROW.fullmatch(text)
        return [single[1]] if single else None
    if isinstance(value, list) and all(isinstance(row, tuple) for row in value):
        return [row[0] for row in value if len(row) == 1]
    return None


def _split(text: str) -> list[str]:
    """Cut at commas outside of quotes, which are of one kind and are dropped."""
    parts, current, quoted = [], "", False
    for character in text:
        if character in "'\"":
            quoted = not quoted
        elif character == "," and not quoted:
            parts.append(current)
            current = ""
        else:
            current += character
    return [part for part in (*parts, current) if part]


def _normal(value: str | None, faithful: bool) -> str:
    """Normalise one value: no percent sign at its end, no commas, one word for what is no value."""
    text = "" if value is None else value.strip()
    if text.endswith("%"):
        return text[:-1].strip()
    if "," in text and not text.startswith("[") and not text.endswith("]"):
        text = text.replace(",", "")
    word = text.lower()
    if faithful:
        return "0" if word in _NULLS or word in _INFINITIES else text
    return "null" if word in _NULLS else text
