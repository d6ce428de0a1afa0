"""The Porter stemmer for English.

M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with the three departures of the
author's own later programs (https://tartarus.org/martin/PorterStemmer/): words of one or two letters are left
alone, and step 2 has ``bli -> ble`` (for ``abli -> able``) and ``logi -> log``. Signs other than a-z count as
consonants.
"""

from __future__ import annotations

_STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble",
    "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate",
    "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive",
    "biliti": "ble", "logi": "log",
}  # fmt: skip
_STEP_3 = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
}  # fmt: skip
_STEP_4 = (
    "ement", "ance", "ence", "able", "ible", "ment", "ant", "ent", "ion", "ism", "ate", "iti", "ous", "ive",
    "ize", "al", "er", "ic", "ou",
)  # fmt: skip


def stem(word: str) -> str:
    """Return the stem of a lower-case word."""
    if len(word) < 3:
        return word
    word = _plural(word)
    word = _past(word)
    if word[-1] == "y" and "v" in _shape(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(word, _STEP_2)
    word = _replace(word, _STEP_3)
    word = _strip(word)
    return _tidy(word)


def _shape(word: str) -> str:
    """Return one letter for each of the word's: v for a vowel, c for a consonant."""
    shape: list[str] = []
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and bool(shape) and shape[-1] == "c")
        shape.append("v" if vowel else "c")
    return "".join(shape)


def _measure(word: str) -> int:
    """Return m of the form [C](VC){m}[V]."""
    return _shape(word).count("vc")


def _short_end(word: str) -> bool:
    """Tell whether the word ends consonant-vowel-consonant, the last one not w, x or y."""
    return _shape(word)[-3:] == "cvc" and word[-1] not in "wxy"


def _double_end(word: str) -> bool:
    """Tell whether the word ends with a double consonant."""
    return len(word) > 1 and word[-1] == word[-2] and _shape(word)[-1] == "c"


def _plural(word: str) -> str:
    """Step 1a."""
    if word.endswith(("sses", "ies")):
        return word[:-2]
    if word[-1] == "s" and word[-2] != "s":
        return word[:-1]
    return word


def _past(word: str) -> str:
    """Step 1b."""
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    base = word[:-2] if word.endswith("ed") else word[:-3] if word.endswith("ing") else ""
    if "v" not in _shape(base):
        return word
    if base.endswith(("at", "bl", "iz")):
        return base + "e"
    if _double_end(base):
        return base if base[-1] in "lsz" else base[:-1]
    return base + "e" if _measure(base) == 1 and _short_end(base) else base


def _replace(word: str, endings: dict[str, str]) -> str:
    """Steps 2 and 3: replace the longest ending found, where the rest measures more than 0."""
    for length in range(min(7, len(word)), 2, -1):
        ending = endings.get(word[-length:])
        if ending is not None:
            base = word[:-length]
            return base + ending if _measure(base) > 0 else word
    return word


def _strip(word: str) -> str:
    """Step 4: remove the longest ending found, where the rest measures more than 1."""
    for ending in _STEP_4:
        if word.endswith(ending) and (ending != "ion" or word[:-3].endswith(("s", "t"))):
            base = word[: -len(ending)]
            return base if _measure(base) > 1 else word
    return word


def _tidy(word: str) -> str:
    """Step 5: remove a last e, and one of two last l."""
    if word[-1] == "e":
        base = word[:-1]
        measure = _measure(base)
        if measure > 1 or (measure == 1 and not _short_end(base)):
            word = base
    if word.endswith("ll") and _measure(word) > 1:
        word = word[:-1]
    return word
