"""Templates of questions, and the tasks made from them."""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Callable

from envhub_kg.ontology import Ontology
from envhub_kg.own.facts import Facts
from envhub_kg.own.programs import actions, filled, operations, parts
from envhub_kg.own.speech import spoken
from envhub_kg.program import Program
from envhub_kg.task import Task

MOST_ANSWERS = 50
MOST_ACTIONS = 14
"""In 15 turns, with the final answer."""
LEAST_RANKED = 3
"""A superlative is among so many at the least."""

_DRAWS = 600
"""After so many that give no new question there are no more."""
_MARGINS = {
    "location.country.population": 0.05,
    "location.country.area": 0.03,
    "location.country.gdp_ppp": 0.1,
    "location.citytown.population": 0.15,
    "chemistry.isotope.half_life": 0.5,
    "chemistry.chemical_element.crust_abundance": 0.1,
    "chemistry.chemical_element.density": 0.02,
    "chemistry.chemical_element.melting_point": 0.01,
    "chemistry.chemical_element.boiling_point": 0.01,
    "chemistry.chemical_element.thermal_conductivity": 0.05,
}
"""How much better than the next the best must be, as a share: other sources would give the same order."""


class Nothing(Exception):
    """Nothing can be drawn there."""


class Draw:
    """Draws entities.

    Args:
        facts: From where.
        seed: The same seed draws the same.
    """

    def __init__(self, facts: Facts, seed: str) -> None:
        self._facts = facts
        self._random = random.Random(seed)

    def any(self, class_: str) -> str:
        """Draw an entity of a class."""
        return self._random.choice(self._facts.classes[class_])

    def of(self, entity: str, relation: str) -> str:
        """Draw one that a relation leads to.

        Raises:
            Nothing: It leads nowhere.
        """
        targets = self._facts.neighbors(entity, relation)
        if not targets:
            raise Nothing
        return self._random.choice(targets)

    def wording(self, wordings: Sequence[str]) -> str:
        """Draw a wording."""
        return self._random.choice(wordings)


Drawn = Callable[[Draw], "tuple[str, ...]"]


def one(class_: str) -> Drawn:
    """Draw an entity of a class."""
    return lambda draw: (draw.any(class_),)


def seen_from(class_: str, *relations: str) -> Drawn:
    """Draw an entity of a class, and from there one for each relation: they have something in common."""

    def drawn(draw: Draw) -> tuple[str, ...]:
        middle = draw.any(class_)
        return tuple(draw.of(middle, relation) for relation in relations)

    return drawn


@dataclass(frozen=True)
class Template:
    """A kind of question.

    Attributes:
        name: Its tasks' names begin with it.
        draw: Draws what a question speaks of.
        program: Computes the answer, of X and Y.
        wordings: Ways to ask, with {0} and {1} for what it speaks of.
        others: It asks for others than those that it speaks of.
        held_out: It gives test questions only.
    """

    name: str
    draw: Drawn
    program: Program
    wordings: tuple[str, ...]
    others: bool = False
    held_out: bool = False

    @property
    def level(self) -> int:
        """How hard: steps to the answer (hops, intersections, counts, superlatives), 3 for all above."""
        return min(len(operations(self.program)), 3)

    @property
    def kind(self) -> str:
        """What is asked for."""
        found = operations(self.program)
        kinds = [
            kind
            for kind, names in (
                ("intersection", ("AND",)),
                ("count", ("COUNT",)),
                ("superlative", ("ARGMAX", "ARGMIN")),
            )
            if any(name in names for name in found)
        ]
        return "combination" if len(kinds) > 1 else kinds[0] if kinds else f"{len(found)}-hop"

    def tasks(self, facts: Facts, ontology: Ontology, split: str) -> Iterator[Task]:
        """Make the tasks of a split, in an order that never changes.

        What a question speaks of decides on its split, so none is asked in two ways in two splits.
        """
        if self.held_out and split != "test":
            return
        seen: set[frozenset[str]] = set()
        misses = 0
        for number in itertools.count():
            draw = Draw(facts, f"{self.name} {number}")
            try:
                names = self.draw(draw)
            except Nothing:
                names = ()
            key = frozenset(names)
            if key and key not in seen and self._split(key) != split:
                seen.add(key)
                continue
            task = None
            if key and key not in seen and len(key) == len(names):
                seen.add(key)
                task = self._task(facts, ontology, names, draw, f"{self.name}-{number}", split)
            misses = misses + 1 if task is None else 0
            if task is not None:
                yield task
            elif misses == _DRAWS:
                return

    def _split(self, names: frozenset[str]) -> str:
        if self.held_out:
            return "test"
        part = hashlib.sha256(" ".join([self.name, *sorted(names)]).encode()).digest()[0]
        return "train" if part < 154 else "validation" if part < 192 else "test"

    def _task(
        self, facts: Facts, ontology: Ontology, names: tuple[str, ...], draw: Draw, id_: str, split: str
    ) -> Task | None:
        program = filled(self.program, names)
        assert not isinstance(program, str)
        answers = self._answers(facts, program, names)
        phrases = [spoken(facts, name) for name in names]
        mentions = {words: name for (_, words), name in zip(phrases, names)}
        if not answers or len(mentions) < len(names):
            return None
        text = draw.wording(self.wordings).format(*(phrase for phrase, _ in phrases))
        way = actions(program, ontology)
        if len(way) > MOST_ACTIONS:
            return None
        question = text[0].upper() + text[1:]
        return Task(id_, split, question, mentions, answers, way, self.level, self.kind)

    def _answers(self, facts: Facts, program: Program, names: tuple[str, ...]) -> frozenset[str]:
        """Return the answers; none if the question is not a good one."""
        if not all(_clear(facts, part) for part in parts(program, "ARGMAX", "ARGMIN")):
            return frozenset()
        if not all(_needed(facts, part) for part in parts(program, "AND")):
            return frozenset()
        counted = program[0] == "COUNT"
        found = facts.candidates(program[1] if counted else program)
        kept = [member for member in found if member not in names]
        if (len(kept) < len(found)) != self.others or not kept:
            return frozenset()
        if counted:
            return frozenset((str(len(kept)),)) if len(kept) > 1 else frozenset()
        told = {facts.labels[name] for name in names} & {facts.labels[member] for member in kept}
        return frozenset(kept) if len(kept) <= MOST_ANSWERS and not told else frozenset()


def _needed(facts: Facts, program: Program) -> bool:
    """Tell whether an intersection is less than each of the two."""
    found = facts.candidates(program)
    return all(len(found) < len(facts.candidates(part)) for part in program[1:])


def _clear(facts: Facts, program: Program) -> bool:
    """Tell whether there is one best, by a margin, of some that all have a value and aren't mentioned."""
    ranked = facts.ranking(program)
    if not LEAST_RANKED <= len(ranked) == len(facts.candidates(program[1])):
        return False
    best, second = ranked[0][0], ranked[1][0]
    if isinstance(best, Decimal) and isinstance(second, Decimal):
        least = _MARGINS.get(program[2], 0.0) * float(max(abs(best), abs(second)))
        return abs(float(best) - float(second)) > least
    return best != second
