"""The embedded questions: of our own making, from templates, about the embedded graph.

No file holds them. They are made when the graph is loaded, the same in any process.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from envhub_kg.ontology import Ontology
from envhub_kg.own import airports, cities, countries, elements, isotopes, languages, money, sky
from envhub_kg.own.facts import Facts
from envhub_kg.own.template import Template
from envhub_kg.task import Task

TEMPLATES: tuple[Template, ...] = tuple(
    template
    for module in (countries, languages, money, cities, airports, elements, isotopes, sky)
    for template in module.TEMPLATES
)
TRAIN_VARIANTS = 6
"""Train questions of each template, unless told otherwise."""

_VARIANTS: Mapping[str, int] = {"validation": 1, "test": 2}
_HELD_OUT_VARIANTS = 4
_SAME = 50
"""Of so many questions of a split, one more may have the same answer."""


def tasks(triples: bytes, ontology: Ontology, train_variants: int = TRAIN_VARIANTS) -> list[Task]:
    """Make the questions.

    Args:
        triples: The embedded graph.
        ontology: What it is made of.
        train_variants: Train questions of each template. More of them leave the others as they are. Where a
            template has no more to ask, it gives fewer.
    """
    facts = Facts(triples, ontology)
    variants = {"train": train_variants, **_VARIANTS}
    return [task for split, number in variants.items() for task in _split(facts, ontology, split, number)]


def _split(facts: Facts, ontology: Ontology, split: str, variants: int) -> Iterator[Task]:
    """Make a split's questions, a round of all templates after the other."""
    made = [(template, template.tasks(facts, ontology, split)) for template in TEMPLATES]
    given: Counter[frozenset[str]] = Counter()
    total = 0
    for variant in range(max(variants, _HELD_OUT_VARIANTS)):
        for template, questions in made:
            if variant < (_HELD_OUT_VARIANTS if template.held_out else variants):
                for task in questions:
                    if given[task.answers] <= total // _SAME:
                        given[task.answers] += 1
                        total += 1
                        yield task
                        break
