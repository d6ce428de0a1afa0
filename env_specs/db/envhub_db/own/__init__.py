"""The embedded tasks: of our own making, from tables of our own, each made when it is played.

Of each domain, variant 0 of its tables is for testing, variant 1 for validation, from 2 on for training; all
of the domains that are held out are for testing. So no table is in two splits, and a task's name never
changes its meaning.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Collection
from pathlib import Path

from envhub_db.library import Entry, Library
from envhub_db.own import culture, making, orders, public, questions, trade, works
from envhub_db.own.domain import Domain
from envhub_db.own.tables import fill
from envhub_db.task import Task

LEVELS = (1, 2, 3)
DOMAINS = culture.DOMAINS + trade.DOMAINS + public.DOMAINS
HELD_OUT = works.DOMAINS
HELD_OUT_VARIANTS = 2
KINDS = questions.KINDS.all + orders.KINDS.all

_BY_NAME = {domain.name: domain for domain in DOMAINS + HELD_OUT}
_KINDS = {kind.name: kind for kind in KINDS}


def library(train_variants: int, levels: Collection[int]) -> Library:
    """Return the tasks of some levels, with so many sets of tables of each domain in the train split.

    Its digest is that of the source and of which tasks there are.
    """
    entries = [
        _entry(domain, variant, kind)
        for domain in DOMAINS
        for variant in range(2 + train_variants)
        for kind in KINDS
        if kind.level in levels
    ]
    entries += [
        _entry(domain, variant, kind)
        for domain in HELD_OUT
        for variant in range(HELD_OUT_VARIANTS)
        for kind in KINDS
        if kind.level in levels
    ]
    digest = hashlib.sha256("\n".join(entry.id for entry in entries).encode())
    for file in sorted(Path(__file__).parent.glob("*.[pj][ys]*")):
        digest.update(file.read_bytes())
    return Library("embedded", f"sha256:{digest.hexdigest()}", entries)


def _entry(domain: Domain, variant: int, kind: making.Kind) -> Entry:
    held_out = domain in HELD_OUT
    split = "test" if held_out or variant == 0 else "validation" if variant == 1 else "train"
    make = functools.partial(_task, domain.name, variant, kind.name)
    return Entry(f"{domain.name}-{variant}-{kind.name}", split, kind.type, kind.level, make)


@functools.lru_cache(maxsize=512)
def _task(domain: str, variant: int, kind: str) -> Task:
    return making.task(f"{domain}-{variant}-{kind}", _KINDS[kind], fill(_BY_NAME[domain], variant))
