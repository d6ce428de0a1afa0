# ruff: noqa: RUF001 - letters of many scripts
"""The order and equality of text: case and accents don't count, and nothing is padded.

This is the first level of the Unicode Collation Algorithm with its default table, as
`utf8mb4_unicode_520_nopad_ci` has it and, but for a few symbols, `utf8mb4_0900_ai_ci`: punctuation, symbols,
currencies, digits, then letters by script. What has no place in the lists below comes by its code point.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache

PUNCTUATION = (
    "\t\n\v\f\r\x85\u2028\u2029 `´^¯‾¨¸_‗-‐‒–—―⁓〜〰,、;⁏:!¡?¿‽.。·⁕⁖'‘’‚‛‹›\"“”„‟〝〞〟"
    "«»()[]{}⁅⁆〈〉《》「」『』【】〔〕〖〗〘〙§¶⁋©®@*⁎⁑/⁄\\&⅋⁊#%‰‱⁒†‡•‣‧⁃⁌⁍′‵〃〽‸※‿⁔⁀⁐⁁⁂ʹ͵°҂℄℈℔℗℘℞℟℣℥℧℩℮℺⅁⅂⅃⅄⅊⅌⅍⅏"
)
AMONG_SYMBOLS = {char: (0x2211, place) for place, char in enumerate("+±÷×<=>¬|¦~", 1)}
"""Signs of ASCII and Latin-1, which come after a sign of mathematics."""
CURRENCIES = "¤¢$£¥₠₡₢₣₤₥₦₧₩₪₫€₭₮₯₰₱₲₳₴₵₶₷₸"
LATIN = (
    "aⱥbƀɓƃcȼƈↄdɖɗƌȡẟeɇǝəɛfⅎgǥɠɣƣhƕiıɨɩjȷɉkƙlƚȴƛmnɲƞȵŋoɔɵȣpqɋĸrʀɍsȿẜẝʃƪtŧⱦƫƭʈȶuʉɯʊvʋỽʌwxyɏƴỿzƶȥɀʒƹƺȝþƿƻƨƽƅɂ"
)
CYRILLIC = "аәӕбвгѓдђеєжзѕиіїйјклљмнњопрстћќуўфхцчџшщъыьэюя"
"""Letters in their order; those that differ from one of these by a mark alone are the same letter."""
SAME_AS = {
    "ß": "ss", "ẞ": "ss", "ſ": "s", "æ": "ae", "Æ": "ae", "œ": "oe", "Œ": "oe", "ð": "d", "Ð": "d", "đ": "d",
    "Đ": "d", "ħ": "h",
    "Ħ": "h", "ł": "l", "Ł": "l", "ø": "o", "Ø": "o", "ƒ": "f", "ѐ": "е", "ё": "е", "ѝ": "и", "ӂ": "ж",
    "ӯ": "у",
}  # fmt: skip
"""What decomposition does not say."""

_PLACES = {char: chr(1 + place) for place, char in enumerate(PUNCTUATION)}
_PLACES.update(
    (char, chr(0x1000 + ((code - 0x2190) << 4) + place)) for char, (code, place) in AMONG_SYMBOLS.items()
)
_PLACES.update((char, chr(0x20000 + place)) for place, char in enumerate(CURRENCIES))
_PLACES.update((char, chr(0x21100 + place)) for place, char in enumerate(LATIN))
_PLACES.update((char, chr(0x22430 + place)) for place, char in enumerate(CYRILLIC))
_SYMBOLS = range(0x2190, 0x2800)
_DECOMPOSED_LETTERS = range(0x400, 0x530)
"""Cyrillic letters with marks are letters of their own."""


@lru_cache(maxsize=100_000)
def _weight(char: str) -> str:
    if char in _PLACES:
        return _PLACES[char]
    if char in SAME_AS:
        return "".join(map(_weight, SAME_AS[char]))
    folded = char.casefold()
    if folded != char:
        return "".join(map(_weight, folded))
    code = ord(char)
    parts = unicodedata.normalize("NFKD", char)
    if parts != char and code not in _DECOMPOSED_LETTERS:
        return "".join(_weight(part) for part in parts if not unicodedata.combining(part))
    category = unicodedata.category(char)
    if category in ("Cc", "Cf", "Mn", "Me"):
        return ""
    if category == "Nd":
        return chr(0x21000 + unicodedata.digit(char))
    if code in _SYMBOLS:
        return chr(0x1000 + ((code - 0x2190) << 4))
    return chr(min(0x22000 + code, 0x10FFFF))


_TABLE = {code: _weight(chr(code)) for code in range(128)}


def sort_key(text: str) -> str:
    """A text's place in the order: equal keys are equal text, and keys compare as the texts do."""
    return _kept_key(text) if len(text) <= 256 else _key(text)


def _key(text: str) -> str:
    if text.isascii():
        return text.translate(_TABLE)
    return "".join(map(_weight, text))


_kept_key = lru_cache(maxsize=20_000)(_key)


def compare(first: str, second: str) -> int:
    """-1, 0 or 1: SQLite's form of an order."""
    one, other = sort_key(first), sort_key(second)
    return (one > other) - (one < other)


@lru_cache(maxsize=100_000)
def _fold(char: str) -> str:
    weight = _weight(char)
    return weight if len(weight) == 1 else char.lower()[0]


_FOLDS = {code: _fold(chr(code)) for code in range(128)}


def fold(text: str) -> str:
    """Each character replaced by one that stands for all it equals, for patterns; the length stays."""
    return text.translate(_FOLDS) if text.isascii() else "".join(map(_fold, text))


def find(part: str, text: str, start: int) -> int:
    """Where a text holds another, or -1; as in MySQL, only what takes as many bytes can match."""
    if text.isascii() and part.isascii():
        return fold(text).find(fold(part), start)
    wanted, size = sort_key(part), len(part.encode())
    widths = [len(char.encode()) for char in text]
    for place in range(start, len(text) + 1):
        end, taken = place, 0
        while taken < size and end < len(text):
            taken += widths[end]
            end += 1
        if taken == size and sort_key(text[place:end]) == wanted:
            return place
    return -1
