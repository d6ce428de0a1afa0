"""The embedded engine against a real MariaDB, on a sample of what `benchmarks/db_parity.py` runs in full."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import db_parity
import pytest
from envhub_db.engine import Table

BARS = {"developed": 0.99, "held": 0.97}
"""The corpus was written in two halves before the engine; the second was looked at when that was done."""
Sample = Callable[[str, Sequence[Table], int], tuple[float, list[str]]]


@pytest.fixture(scope="module")
def sample(url: str) -> Iterator[Sample]:
    """Run every so-many-th script of a half, each on one table; the share that agrees, and what does not."""
    socket = Path(parse_qs(urlsplit(url).query)["unix_socket"][0])
    with db_parity.comparison(socket) as both:

        def run(half: str, tables: Sequence[Table], step: int) -> tuple[float, list[str]]:
            counts: Counter[str] = Counter()
            differing = []
            for at, script in enumerate(db_parity.scripts(half)[::step]):
                verdict, statements, ours, theirs = both.compare(script, tables[at % len(tables)], at)
                counts[verdict] += 1
                if verdict == "differs":
                    differing.append(f"{statements}: {ours.texts} and {theirs.texts}")
            judged = counts.total() - counts["open"]
            return (judged - counts["differs"]) / judged, differing

        yield run


@pytest.mark.parametrize("half", BARS)
def test_they_agree_on_the_tables_of_the_embedded_tasks(sample: Sample, half: str) -> None:
    tables = db_parity.own_tables()
    share, differing = sample(half, tables[:: len(tables) // 3], 2)
    assert share >= BARS[half], "\n".join(differing)


@pytest.mark.parametrize("half", BARS)
def test_they_agree_on_the_tables_of_dbbench(sample: Sample, half: str, shared_data: Path) -> None:
    tables = db_parity.dbbench_tables(shared_data / "agentbench" / "data" / "dbbench" / "dev.jsonl")
    share, differing = sample(half, tables, 3)
    assert share >= BARS[half], "\n".join(differing)


def test_the_corpus_is_as_large_as_it_says() -> None:
    halves = [db_parity.scripts(half) for half in db_parity.HALVES]
    assert min(map(len, halves)) >= 200
    assert len({script for half in halves for script in half}) >= 400
