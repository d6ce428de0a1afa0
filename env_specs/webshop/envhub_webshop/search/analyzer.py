"""Turns a text into the terms of the search index, as Lucene's English analysis of Anserini does."""

from __future__ import annotations

from envhub_webshop.search.porter import stem
from envhub_webshop.search.words import is_word, words

STOP_WORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these"
    " they this to was will with".split()
)
_APOSTROPHES = "'\u2019\uff07"
_CACHE_SIZE = 200_000


class _Terms(dict[str, str]):
    """Word, as written, to its term; an empty string for those that are not indexed."""

    def __missing__(self, word: str) -> str:
        if len(self) >= _CACHE_SIZE:
            self.clear()
        term = self[word] = _term(word)
        return term


_TERMS = _Terms()


def analyze(text: str) -> list[str]:
    """Return the terms of a text in order, with repeats.

    Words as in Unicode Annex 29, a possessive ``'s`` removed, lower case, without the 33 classic stop words,
    stemmed by Porter's algorithm.
    """
    terms = _TERMS
    return [term for term in [terms[word] for word in words(text)] if term]


def _term(word: str) -> str:
    if not is_word(word):
        return ""
    if len(word) > 1 and word[-1] in "sS" and word[-2] in _APOSTROPHES:
        word = word[:-2]
    lower = "".join("i" if letter == "\u0130" else letter.lower() for letter in word)
    return "" if lower in STOP_WORDS else stem(lower)
