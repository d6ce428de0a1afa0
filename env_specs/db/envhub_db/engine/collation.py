"""The order and equality of text: case and accents don't count, as in `utf8mb4_0900_ai_ci` (no padding).

The order of the Unicode Collation Algorithm's first level: punctuation, symbols, digits, letters by script. Letters are
compared without their marks. What has no place in the lists below comes after all, by code point.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

IGNORED = (
    "".join(map(chr, [*range(9), *range(14, 32), *range(127, 133), *range(134, 160)]))
    + "\u00ad\u200b\u200c\u200d\u200e\u200f\ufeff"
)
"""Characters that count for nothing."""
PUNCTUATION = (
    "\t\n\v\f\r\x85\u2028\u2029 _\u203f\u2040-\u2010\u2011\u2012\u2013\u2014\u2015\u30fb,;:!\u00a1?\u00bf.\u2024\u2025\u00b7"
    "'\u2018\u2019\u201a\u201b\u2039\u203a\"\u201c\u201d\u201e\u201f\u00ab\u00bb()[]{}\u300c\u300d\u00a7\u00b6@*/\\&#%\u2030\u2031"
    "\u2020\u2021\u2022\u2023\u2032\u2033\u2034\u203b"
)
SYMBOLS = (
    "`\u00b4\u02dc^\u00af\u02d8\u02d9\u00a8\u02da\u02dd\u00b8\u02db\u00b0\u00a9\u00ae+\u00b1\u00f7\u00d7<=>|\u00a6~"
    "\u2212\u2190\u2191\u2192\u2193\u2194\u2260\u2264\u2265\u221e\u221a\u25a0\u25cf\u2605\u2606\u2713\u00a4\u00a2$\u00a3\u00a5\u20a9\u20ac"
)
EXPANSIONS = {
    "ß": "ss",
    "ẞ": "ss",
    "ſ": "s",
    "œ": "oe",
    "Œ": "oe",
    "ĳ": "ij",
    "™": "tm",
    "№": "no",
    "…": "...",
    "ø": "o",
    "Ø": "o",
    "ł": "l",
    "Ł": "l",
    "đ": "d",
    "Đ": "d",
    "ħ": "h",
    "Ħ": "h",
}
"""What decomposition does not say."""
LETTERS_APART = {
    "æ": "a\uffff",
    "Æ": "a\uffff",
    "ð": "d\uffff",
    "Ð": "d\uffff",
    "þ": "z\uffff",
    "Þ": "z\uffff",
    "ı": "i\uffff",
    "ŋ": "n\uffff",
    "Ŋ": "n\uffff",
}
"""Letters of their own, which come right after another."""

_PLACES = {char: chr(1 + place) for place, char in enumerate(PUNCTUATION + SYMBOLS)}


@lru_cache(maxsize=None)
def _weight(char: str) -> str:
    if char in IGNORED:
        return ""
    if char in _PLACES:
        return _PLACES[char]
    if char in LETTERS_APART:
        return "".join(map(_weight, LETTERS_APART[char][:-1])) + "\uffff"
    if char in EXPANSIONS:
        return "".join(map(_weight, EXPANSIONS[char]))
    parts = unicodedata.normalize("NFKD", char)
    if parts != char:
        return "".join(map(_weight, parts))
    if unicodedata.combining(char):
        return ""
    folded = char.casefold()
    if folded != char:
        return "".join(map(_weight, folded))
    if char.isdigit():
        return chr(0x400 + unicodedata.digit(char))
    return char if ord(char) >= 0x500 else chr(0x500 + ord(char))


_TABLE = {code: _weight(chr(code)) for code in range(128)}


@lru_cache(maxsize=20_000)
def sort_key(text: str) -> str:
    """A text's place in the order: equal keys are equal text, and keys compare as the texts do."""
    if text.isascii():
        return text.translate(_TABLE)
    return "".join(map(_weight, text))


def compare(first: str, second: str) -> int:
    """-1, 0 or 1: SQLite's form of an order."""
    one, other = sort_key(first), sort_key(second)
    return (one > other) - (one < other)


def fold(text: str) -> str:
    """A text with each character replaced by one that stands for all it equals: for patterns and positions."""
    return text.translate(_ASCII_FOLD) if text.isascii() else "".join(map(_fold, text))


@lru_cache(maxsize=None)
def _fold(char: str) -> str:
    weight = _weight(char)
    if len(weight) == 1:
        return weight
    base = unicodedata.normalize("NFKD", char)[:1].casefold()
    return _weight(base) if len(_weight(base)) == 1 and len(weight) < 2 else char


_ASCII_FOLD = {code: _fold(chr(code)) or chr(code) for code in range(128)}
