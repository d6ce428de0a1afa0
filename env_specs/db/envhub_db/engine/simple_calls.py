"""Calls of functions that depend on nothing but values."""

from __future__ import annotations

from typing import Callable

from sqlglot import exp

from .compiling import (
    Compiler,
    Place,
    Typed,
    number,
    text,
)
from .functions import FUNCTIONS

Call = Callable[[Compiler, list[Typed], exp.Anonymous, Place], Typed]


def plain(name: str, arguments: list[Typed]) -> Typed:
    """A call of a function that depends on nothing but values."""
    function = FUNCTIONS[name]
    letters = function.signature.replace("?", "")
    last = letters.rstrip("*")[-1:] or "d"
    parts = []
    for place, one in enumerate(arguments):
        letter = (letters[place] if place < len(letters) and letters[place] != "*" else last).lower()
        parts.append(text(one) if letter == "s" else number(one) if letter in "in" else one.sql)
    return Typed(f"f_{name.lower()}({', '.join(parts)})", function.result)
