"""Reading a move out of what a model wrote."""

from __future__ import annotations

import re

ACTIONS = ("left", "down", "right", "up")

_FENCED = re.compile(r"```(.*?)```", re.DOTALL)


def parse(text: str) -> str | None:
    """Return the move a text asks for: "left", "down", "right" or "up", or None where it is no move.

    The last block between triple backticks counts, whatever surrounds it, and it must hold nothing but the
    word (in any case). A text without such a block may be the bare word: that is for people and scripted
    policies; the original knows the backticks only.
    """
    blocks = _FENCED.findall(text)
    word = (blocks[-1] if blocks else text).strip().lower()
    return word if word in ACTIONS else None
