"""The action text: ``search[keywords]`` or ``click[label]``."""

from __future__ import annotations

import re

_FAITHFUL = re.compile(r"(.+)\[(.+)\]")
_FIXED = re.compile(r"\s*(search|click)\s*\[(.*)\]", re.IGNORECASE | re.DOTALL)


def parse_faithful(action: str) -> tuple[str, str] | None:
    """Return verb and lower-cased argument, or None when the text is no action.

    The verb reaches to the last ``[`` that a ``]`` follows, on the first line; whatever comes after the last
    ``]`` is ignored. Blanks and the verb's case count.
    """
    match = _FAITHFUL.match(action)
    return (match[1], match[2].lower()) if match else None


def parse_fixed(action: str) -> tuple[str, str] | None:
    """Return verb (``search`` or ``click``) and lower-cased argument, or None when the text is no action.

    The argument reaches from the first ``[`` to the last ``]``. The verb's case, line breaks and the blanks
    around verb and argument don't matter; whatever comes after the last ``]`` is ignored.
    """
    match = _FIXED.match(action)
    return (match[1].lower(), match[2].strip().lower()) if match else None
