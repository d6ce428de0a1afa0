"""Writes what a shopper asks for, in many ways."""

from __future__ import annotations

import re
from random import Random
from typing import Any

from catalogue_maker.products import Draft
from catalogue_maker.words import Feature, split_list


class Phrasebook:
    """The sentences instructions are made of."""

    def __init__(self, phrases: dict[str, Any]) -> None:
        self.lines = split_list(phrases["lines"])
        self.upper = frozenset(split_list(phrases["upper"]))
        self._frames: list[str] = phrases["frames"]
        self._context_frames: list[str] = phrases["context_frames"]
        self._feature_clauses: list[str] = phrases["feature_clauses"]
        self._part_clauses: list[str] = phrases["part_clauses"]
        self._inline: dict[str, list[str]] = phrases["inline"]
        self._clause: dict[str, list[str]] = phrases["clause"]
        self._mass = frozenset(split_list(phrases["mass"]))
        self._containers = frozenset(split_list(phrases["containers"]))

    def instruction(self, draft: Draft, wanted: list[Feature], chosen: dict[str, str], rng: Random) -> str:
        """Write one request.

        Args:
            draft: The product it is about.
            wanted: The features to ask for; at least one.
            chosen: Option name to the value to ask for.
            rng: The source of all choices.
        """
        noun = rng.choice(draft.kind.asks)
        number = self._number(noun)
        apart = [] if len(wanted) == 1 or rng.random() < 0.55 else [wanted[-1]]
        inside = [feature for feature in wanted if feature not in apart]
        names = list(chosen)
        rng.shuffle(names)
        inline = [name for name in names if rng.random() < 0.5][:2]
        tail = [rng.choice(self._inline[self._key(draft, n)]).format(v=chosen[n]) for n in inline]
        phrase = self._noun_phrase(noun, number, inside, tail, rng)
        clauses = [self._about(feature, number, rng) for feature in apart]
        for name in names:
            if name not in inline:
                clauses.append(rng.choice(self._clause[self._key(draft, name)]).format(v=chosen[name]))
        if rng.random() < 0.35:
            frame = rng.choice(self._context_frames)
            text = frame.format(np=phrase, context=rng.choice(draft.kind.contexts))
        else:
            text = rng.choice(self._frames).format(np=phrase)
        return join_clauses(text, clauses, rng)

    def _number(self, noun: str) -> str:
        """Return ``one``, ``many`` or ``mass`` for what a shopper calls a product."""
        head = re.split(r" (?:for|to|i|that|of|without|behind)\b", noun)[0].split(" ")
        if head[0] in self._containers or noun.split(" ")[0] in self._containers:
            return "one"
        if head[-1] in self._mass:
            return "mass"
        return "many" if head[-1].endswith("s") and not head[-1].endswith("ss") else "one"

    def _key(self, draft: Draft, option: str) -> str:
        """Return the option's name in the phrase book: the size of clothes is spoken of in its own way."""
        return "worn size" if option == "size" and draft.kind.category == "fashion" else option

    def _noun_phrase(
        self, noun: str, number: str, features: list[Feature], tail: list[str], rng: Random
    ) -> str:
        before = [f for f in features if f.link == "is" or (f.is_material and rng.random() < 0.5)]
        merged = merge([f.phrase for f in features if f not in before])
        adjectives = [f.name.replace(" ", "-") if rng.random() < 0.15 else f.name for f in before]
        glue = rng.choice((", ", " and ")) if len(before) == 2 else ", "
        core = " ".join(part for part in (glue.join(adjectives), noun) if part)
        article = {"many": rng.choice(("", "some ")), "mass": rng.choice(("", "some "))}.get(number)
        if article is None:
            article = "an " if re.match(r"[aeio]|u(?!s)|hd", core) else "a "
        parts = [*merged, *tail] if rng.random() < 0.7 else [*tail, *merged]
        return article + " ".join(part for part in (core, *parts) if part)

    def _about(self, feature: Feature, number: str, rng: Random) -> str:
        if feature.link == "is":
            many = number == "many"
            return rng.choice(self._feature_clauses[: None if many else -1]).format(
                f=feature.name,
                they="they" if many else "it",
                are="are" if many else "is",
                have="have" if many else "has",
            )
        return rng.choice(self._part_clauses).format(f=feature.phrase)


def merge(phrases: list[str]) -> list[str]:
    """Join phrases that begin with the same word: ``with memory foam and a usb port``."""
    joined: dict[str, str] = {}
    for phrase in phrases:
        first, _, rest = phrase.partition(" ")
        joined[first] = f"{joined[first]} and {rest}" if first in joined else phrase
    return list(joined.values())


def join_clauses(text: str, clauses: list[str], rng: Random) -> str:
    """Append clauses to a request the way people type them; the text never ends in a dot."""
    for position, clause in enumerate(clauses):
        glue = rng.choice((". ", ", ", ", and ") if position == len(clauses) - 1 else (". ", ", "))
        text += glue + clause
    return text
