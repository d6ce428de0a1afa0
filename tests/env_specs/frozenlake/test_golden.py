"""The maps and tasks against the recorded ones of the original generator."""

import hashlib
import json
from pathlib import Path
from typing import Any

import gymnasium.utils.seeding
import pytest
from envhub_frozenlake.maps import draw_map, generator
from envhub_frozenlake.tasks import Tasks, rows

TASKS = Tasks()


@pytest.fixture(scope="module")
def golden(shared_data: Path) -> dict[str, Any]:
    text = (shared_data / "frozenlake" / "golden_maps.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@pytest.mark.parametrize(("split", "count"), [("train", 10000), ("test", 100)])
def test_every_map_of_a_split_is_the_originals(golden: dict[str, Any], split: str, count: int) -> None:
    tasks = TASKS.split(split)
    maps = ["/".join(draw_map(task["size"], task["p"], task["seed"], 8)) for task in tasks]
    assert len(maps) == count
    assert maps[:100] == ["/".join(row["map"]) for row in golden[split]]
    assert hashlib.sha256("\n".join(maps).encode()).hexdigest() == golden[f"{split}_sha256"]


@pytest.mark.parametrize("split", ["train", "test"])
def test_the_parameters_and_uids_are_the_originals(golden: dict[str, Any], split: str) -> None:
    columns = rows(TASKS.split(split))
    for key in ("seed", "size", "p", "index", "uid"):
        assert list(columns[key][:100]) == [row[key] for row in golden[split]]


@pytest.mark.parametrize(
    ("seed", "size", "p", "board"),
    [
        (12345, 5, 0.75, "FFHFF/FFFFH/GHFFS/HFFFF/FFFFF"),
        (42, 4, 0.8, "FFSF/FHFF/FFFH/GHFF"),
        (0, 6, 0.6, "HFGFFF/FHSHFH/HFHFFF/FHFFFF/FFFHFH/FFHHFH"),
        (7, 2, 0.85, "SG/FF"),
    ],
)
def test_published_examples(seed: int, size: int, p: float, board: str) -> None:
    assert "/".join(draw_map(size, p, seed, 8)) == board


@pytest.mark.parametrize("seed", [0, 1, 42, 99999, 2**63])
def test_the_generator_is_gymnasiums(seed: int) -> None:
    theirs, _ = gymnasium.utils.seeding.np_random(seed)
    ours = generator(seed)
    assert ours.bit_generator.state == theirs.bit_generator.state


def test_the_shortest_ways_are_distributed_as_measured_on_the_original(golden: dict[str, Any]) -> None:
    counts: dict[int, int] = {}
    for split in ("train", "test"):
        for task in TASKS.split(split):
            length = shortest_way(draw_map(task["size"], task["p"], task["seed"], 8))
            counts[length] = counts.get(length, 0) + 1
    assert counts == {1: 3684, 2: 2849, 3: 1550, 4: 1012, 5: 552, 6: 280, 7: 119, 8: 41, 9: 13}


def shortest_way(board: tuple[str, ...]) -> int:
    size = len(board)
    start = next((row, line.index("S")) for row, line in enumerate(board) if "S" in line)
    distances = {start: 0}
    queue = [start]
    for row, column in queue:
        for there in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
            if 0 <= there[0] < size and 0 <= there[1] < size and there not in distances:
                cell = board[there[0]][there[1]]
                if cell == "G":
                    return distances[row, column] + 1
                if cell != "H":
                    distances[there] = distances[row, column] + 1
                    queue.append(there)
    raise AssertionError(f"no way to the goal in {board}")
