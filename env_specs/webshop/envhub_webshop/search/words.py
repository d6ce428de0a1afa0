"""Cuts text into words as Unicode Annex 29 and Lucene's StandardTokenizer do.

The rules are those of UAX #29 (https://unicode.org/reports/tr29/) with the choices of StandardTokenizer:
ideographs and hiragana are single tokens, scripts without blanks between words (Thai, Lao, Khmer, ...) are
kept in one piece, emoji and pictographs such as U+2605 are tokens, and everything else is no token. The
classes of characters follow Unicode 12.1, the version of the index that the original shop is searched with;
they are derived from `unicodedata` and the ranges below.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right

MAX_TOKEN = 255
"""Longer words are cut into pieces of this many characters."""

_ASCII_WORD = re.compile(
    r"[A-Za-z0-9_]+(?:(?:(?<=[A-Za-z])[:.'](?=[A-Za-z])|(?<=[0-9])[.,;'](?=[0-9]))[A-Za-z0-9_]+)*"
)


def words(text: str) -> list[str]:
    """Return the words of a text in order, as they are written.

    Of ASCII text the list may also hold runs of underscores; they are no words (see `is_word`).
    """
    if text.isascii():
        found = _ASCII_WORD.findall(text)
    else:
        classes = text.translate(_CLASSES)
        found = [text[match.start() : match.end()] for match in _WORD.finditer(classes) if not match[1]]
    if len(text) > MAX_TOKEN and found and max(map(len, found)) > MAX_TOKEN:
        return [piece for word in found for piece in _pieces(word)]
    return found


def is_word(token: str) -> bool:
    """Tell whether a token of `words` has anything but underscores."""
    return token[0] != "_" or token.strip("_") != ""


def _pieces(word: str) -> list[str]:
    """Cut a word as a scanner with a buffer of `MAX_TOKEN` characters does."""
    pieces = []
    while len(word) > MAX_TOKEN:
        head = words(word[:MAX_TOKEN])[:1]
        if head:
            pieces += head
            word = word[word.index(head[0]) + len(head[0]) :]
        else:  # only connectors: go on where the buffer reaches what they lead to
            core = _CORE.search(word.translate(_CLASSES))
            word = word[max(1, core.start() + 1 - MAX_TOKEN) :] if core else ""
    return pieces + words(word)


# One letter for each class of characters: a letter, h Hebrew letter, n digit, k Katakana, _ connector,
# : . , ' " what may stand inside words or numbers, e extending or formatting, z zero-width joiner, v emoji
# presentation selector, w text presentation selector, q enclosing keycap, c scripts without blanks,
# i ideograph, g hiragana, r regional indicator, p pictograph, m emoji modifier, # keycap base.
_ASCII_CLASSES = {**dict.fromkeys("#*", "#"), **dict.fromkeys(",;", ","), **{sign: sign for sign in "_:.'\""}}

_SIGNS = {
    **dict.fromkeys("\u00b7\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a", ":"),
    **dict.fromkeys("\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe10\ufe14\ufe50\ufe54\uff0c\uff1b", ","),
    **dict.fromkeys("\u2018\u2019\u2024\ufe52\uff07\uff0e", "."),
    **dict.fromkeys("\u202f\u203f\u2040\u2054\ufe33\ufe34\ufe4d\ufe4e\ufe4f\uff3f", "_"),
    **dict.fromkeys("\u066b", "n"),
    **dict.fromkeys("\u055a\u055b\u055c\u055e\u058a\u05f3\ua789\ua78a\uab5b", "a"),
    **dict.fromkeys("\u200c\uff9e\uff9f", "e"),
    "\u200b": " ",
    "\u200d": "z",
    "\ufe0e": "w",
    "\ufe0f": "v",
    "\u20e3": "q",
}


def _ranges(text: str) -> list[tuple[int, int]]:
    """Read ranges of code points written as ``1F 2A-2C``."""
    bounds = [part.split("-") for part in text.split()]
    return sorted((int(ends[0], 16), int(ends[-1], 16)) for ends in bounds)


_RANGES = sorted(
    (first, last, letter)
    for letter, text in {
        "k": "3031-3035 309B-309C 30A0-30FA 30FC-30FF 31F0-31FF 32D0-32FE 3300-3357 FF66-FF9D 1B000"
        " 1B164-1B167",
        "g": "3041-3096 309D-309F 1B001-1B11E 1B150-1B152 1F200",
        "h": "5D0-5EA 5EF-5F2 FB1D FB1F-FB28 FB2A-FB4F",
        "i": "2E80-2E99 2E9B-2EF3 2F00-2FD5 3007 3021-3029 3038-303A 3400-4DB5 4E00-9FEF F900-FA6D"
        " FA70-FAD9 20000-2A6D6 2A700-2EBE0 2F800-2FA1D",
        "c": "E01-E3A E40-E4E E81-EBD EC0-ECD EDC-EDF 1000-103F 1050-108F 109A-109F 1780-17D3 17D7"
        " 17DC-17DD 1950-19AB 19B0-19C9 19DE-19DF 1A20-1A7C 1AA0-1AAD A9E0-A9EF A9FA-A9FE"
        " AA60-AADF 11700-1172B 1173A-1173B 1173F",
        "a": "2C2-2C5 2D2-2D7 2DE-2DF 2E5-2EB 2ED 2EF-2FF A708-A716 A720-A721 24B6-24E9 1F130-1F149"
        " 1F150-1F169 1F170-1F189",
        "n": "11DA0-11DA9",
        "r": "1F1E6-1F1FF",
        " ": "3006 17000-18AFF 1B170-1B2FB",
        "m": "1F3FB-1F3FF",
        "e": "E0020-E007F",
        "p": "A9 AE 203C 2049 2122 2194-2199 21A9-21AA 231A-231B 2328 2388 23CF 23E9-23F3 23F8-23FA"
        " 25AA-25AB 25B6 25C0 25FB-25FE 2600-2605 2607-2612 2614-2685 2690-2705 2708-2712 2714"
        " 2716 271D 2721 2728 2733-2734 2744 2747 274C 274E 2753-2755 2757 2763-2767 2795-2797"
        " 27A1 27B0 27BF 2934-2935 2B05-2B07 2B1B-2B1C 2B50 2B55 3030 303D 3297 3299 1F000-1F0FF"
        " 1F10D-1F10F 1F12F 1F16C-1F16F 1F18E 1F191-1F19A 1F1AD-1F1E5 1F201-1F20F 1F21A 1F22F"
        " 1F232-1F23A 1F23C-1F23F 1F249-1F3FA 1F400-1F53D 1F546-1F64F 1F680-1F6FF 1F774-1F77F"
        " 1F7D5-1F7FF 1F80C-1F80F 1F848-1F84F 1F85A-1F85F 1F888-1F88F 1F8AE-1F8FF 1F90C-1F93A"
        " 1F93C-1F945 1F947-1FFFD",
    }.items()
    for first, last in _ranges(text)
)
_STARTS = [first for first, _, _ in _RANGES]


def _class_of(code: int) -> str:
    """Return the class letter of a character; a blank for those that are in no word."""
    char = chr(code)
    if code < 128:
        return "a" if char.isalpha() else "n" if char.isdigit() else _ASCII_CLASSES.get(char, " ")
    if char in _SIGNS:
        return _SIGNS[char]
    category = unicodedata.category(char)
    at = bisect_right(_STARTS, code) - 1
    if at >= 0 and code <= _RANGES[at][1]:
        return "e" if category[0] == "M" else _RANGES[at][2]
    if category[0] == "L" or category == "Nl":
        return "a"
    return {"Nd": "n", "Mn": "e", "Mc": "e", "Me": "e", "Cf": "e"}.get(category, " ")


class _Classes(dict):  # type: ignore[type-arg]
    """Code point to class letter, filled as characters are met."""

    def __missing__(self, code: int) -> str:
        letter = self[code] = _class_of(code)
        return letter


_CLASSES = _Classes()


def _word_pattern() -> re.Pattern[str]:
    """Build the pattern of one token over class letters; group 1 is a run of connectors, no token."""
    any_ext, ext = "[ezvwmq]*", "[ezmq]*"
    number, letter, hebrew, kana, link = (f"{s}{any_ext}" for s in ("n", "[ah]", "h", "k", "_"))
    numbers = f"{number}(?:(?:(?:{link})*|[,.']{any_ext}){number})*"
    letters = f"{letter}(?:(?:(?:{link})*|[:.']{any_ext}){letter})*"
    hebrews = f"{hebrew}(?:'{any_ext}|\"{any_ext}{hebrew})"
    kanas = f"{kana}(?:(?:{link})*{kana})*"
    core = f"(?:{kanas}|(?:{hebrews}|{numbers}|{letters})+)"
    word = f"(?:{link})*{core}(?:(?:{link})+{core})*(?:{link})*"
    picture = f"(?:z*p|m){ext}(?:(?:(?<=z)|vz+)p{ext})*v?"
    keycap = f"#{ext}v?q{ext}"
    flag = f"r{any_ext}r{any_ext}"
    single = f"(?:c{any_ext})+|[ig]{any_ext}"
    return re.compile(f"{word}|{picture}|{keycap}|{flag}|{single}|((?:_[evwq]*)+)")


_WORD = _word_pattern()
_CORE = re.compile("[ahnk]")
