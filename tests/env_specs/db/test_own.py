"""The embedded tasks: solvable, the same everywhere, apart by split, and none to be guessed."""

import json
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest
from envhub_db import digests, own
from envhub_db.engine import Engine
from envhub_db.library import Entry, Library
from envhub_db.own.making import label
from envhub_db.own.tables import fill
from envhub_db.task import CHANGES, Answer, Change

SPLITS = ("train", "validation", "test")


def some(library: Library, share: int = 12) -> list[Entry]:
    """One in so many of all tasks; of each kind some, from each split."""
    entries = [entry for split in SPLITS for entry in library.split(split)]
    return entries[:: share + (share % 2 == 0)]  # odd: in step with no number of kinds


def test_there_are_enough_of_each_kind(library: Library) -> None:
    assert {split: len(library.split(split)) for split in SPLITS} == {
        "train": 840,
        "validation": 420,
        "test": 700,
    }
    for split in SPLITS:
        entries = library.split(split)
        assert {entry.level for entry in entries} == {1, 2, 3}
        assert {entry.type for entry in entries} >= {
            "other",
            "counting",
            "comparison",
            "ranking",
            "join",
            *CHANGES,
        }
        assert {entry.type for entry in entries} >= {
            f"aggregation-{name}" for name in ("SUM", "AVG", "MIN", "MAX")
        }


def test_no_table_is_in_two_splits(library: Library) -> None:
    tables: dict[str, set[str]] = defaultdict(set)
    for split in SPLITS:
        for name, variant in {tuple(entry.id.split("-")[:2]) for entry in library.split(split)}:
            for table in fill(own._BY_NAME[name], int(variant)).tables():
                tables[split].add(json.dumps(table.rows))
    assert sum(map(len, tables.values())) == len(set.union(*tables.values())) == 140
    domains = {split: {entry.id.split("-")[0] for entry in library.split(split)} for split in SPLITS}
    assert len(domains["test"] - domains["train"] - domains["validation"]) == 5


def test_levels_and_numbers_choose(library: Library) -> None:
    easy = own.library(2, {1})
    assert 0 < len(easy) < len(library) and {
        entry.level for split in SPLITS for entry in easy.split(split)
    } == {1}
    more = own.library(3, {1, 2, 3})
    ids = [[entry.id for entry in one.split("train")] for one in (library, more)]
    assert len(ids[1]) == 1260 and set(ids[0]) < set(ids[1])
    assert [entry.id for entry in more.split("test")] == [entry.id for entry in library.split("test")]
    assert len({easy.digest, more.digest, library.digest}) == 3


def test_the_reference_gives_the_answer(library: Library, engine: Engine) -> None:
    """On each engine; the labels were computed on the embedded one, so that both say the same."""
    for entry in some(library):
        task = entry.make()
        database = engine.open(task.tables, "dbbench")
        before = digests.of_tables(database, task.tables)
        results = [database.execute(sql) for sql in task.reference]
        after = digests.of_tables(database, task.tables)
        if isinstance(task.goal, Answer):
            found = sorted(label(value) for row in results[-1].rows for value in row)
            assert found == sorted(task.goal.labels), entry.id
            assert before == after, entry.id
        else:
            assert task.goal == Change(None) and before != after, entry.id
        database.close()


def test_both_engines_hold_the_same_after_a_change(library: Library, url: str) -> None:
    from envhub_db.engine import EmbeddedEngine
    from envhub_db.judge import digest_after
    from envhub_db.server import ServerEngine

    server, embedded = ServerEngine(url), EmbeddedEngine()
    for entry in some(library, 6):
        if entry.type in CHANGES:
            task = entry.make()
            assert digest_after(task, server) == digest_after(task, embedded), entry.id
    server.close()


def test_no_answer_is_told_or_can_be_guessed(library: Library) -> None:
    answers: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
    for entry in some(library, 4):
        task = entry.make()
        told = f"{task.question} {task.about} {json.dumps(entry.listed())}".lower()
        if isinstance(task.goal, Answer):
            assert all(one.lower() not in task.question.lower() for one in task.goal.labels), entry.id
            assert 1 <= len(task.goal.labels) <= 8
            answers[entry.id.split("-", 2)[2]][task.goal.labels] += 1
        assert all(sql.lower() not in told for sql in task.reference)
    assert len(answers) == 20
    for kind, given in answers.items():
        ((_, most),) = given.most_common(1)
        assert sum(given.values()) >= 10 and most / sum(given.values()) < 0.34, kind
    together = sum(answers.values(), Counter())
    assert together.most_common(1)[0][1] / together.total() < 0.03


def test_questions_are_worded_in_many_ways(library: Library) -> None:
    openings = Counter(entry.make().question.split()[0] for entry in some(library, 8))
    assert len(openings) > 20 and openings.most_common(1)[0][1] / openings.total() < 0.3


def test_another_process_makes_the_same() -> None:
    script = (
        "import hashlib, sys\n"
        f"sys.path.insert(0, {str(Path(own.__file__).parents[2])!r})\n"
        "from envhub_db import own\n"
        "entries = own.library(1, {1, 2, 3}).split('test')[::25]\n"
        "print(hashlib.sha256(repr([entry.make() for entry in entries]).encode()).hexdigest())\n"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


@pytest.mark.parametrize("texts", [False, True])
def test_both_styles_of_columns_occur(texts: bool, library: Library) -> None:
    styles = {domain.name: fill(domain, variant).many.texts for domain in own.DOMAINS for variant in range(4)}
    assert texts in styles.values()
