"""ALFWorld's benchmark: its native half, and what it says of a bar that is missed."""

import importlib.util
import io
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from rich.console import Console

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "alfworld.py"


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    """The script, by its path: a package has the same name."""
    spec = importlib.util.spec_from_file_location("bench_alfworld", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def native(bench: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The native engine, measured on the largest game."""
    folder = bench.largest(tmp_path_factory.mktemp("game"))
    game = bench.Game.load(folder)
    assert len(game.facts["objecttype"]) + len(game.receptacles) > 70, "as large as a real scene"
    played = bench.commands(game, 12)
    measured: dict[str, Any] = bench.measure(sys.executable, "native", folder, played)
    state = bench.State(game)
    expected = [[state.introduction(), state.commands(), state.won]]
    expected += [[state.do(command), state.commands(), state.won] for command in played]
    assert measured["answers"] == expected
    return measured


def test_everything_is_measured(bench: ModuleType, native: dict[str, Any]) -> None:
    assert set(native["measured"]) == {row.key for row in bench.ROWS}
    assert len(native["measured"]["step"]) == 12


@pytest.mark.parametrize(("factor", "met"), [(1e6, True), (2, False)])
def test_a_missed_ratio_is_told(bench: ModuleType, native: dict[str, Any], factor: float, met: bool) -> None:
    ours = {key: [1e-6] for key in native["measured"]}
    theirs = {key: [1e-6 * factor] for key in ("load", "reset", "step", "first", "further")}
    said = io.StringIO()
    assert bench.report(Console(file=said, width=150), {"original": [theirs], "native": [ours]}) == met
    assert ("MISSED" in said.getvalue()) != met


def test_a_missed_bar_is_told(bench: ModuleType) -> None:
    slow = {row.key: [1.0] for row in bench.ROWS}
    theirs = {key: [1e9] for key in slow}
    assert not bench.report(Console(file=io.StringIO()), {"original": [theirs], "native": [slow]})
