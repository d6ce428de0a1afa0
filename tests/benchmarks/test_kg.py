"""The KG benchmark, with a small graph: it measures all that it has bars for."""

import importlib.util
import io
import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from rich.console import Console

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "kg.py"


@pytest.fixture(scope="module")
def bench() -> ModuleType:
    """The script, by its path."""
    spec = importlib.util.spec_from_file_location("bench_kg", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_it_measures_what_it_has_bars_for(bench: ModuleType, tmp_path: Path) -> None:
    numbers = tmp_path / "numbers.json"
    small = ["--triples", "5000", "--questions", "12", "--replicas", "3", "--json", str(numbers)]
    done = subprocess.run([sys.executable, str(SCRIPT), *small], capture_output=True, text=True, timeout=300)
    assert done.returncode in (0, 1), done.stderr  # whether a bar is missed hangs on the machine
    found = json.loads(numbers.read_text())
    assert found["triples a second"] > 0
    for which, name in bench.BARS:
        assert found[which][name] is not None
    assert {"get_relations", "get_neighbors", "count", "final answer"} <= set(found["on disk"]["times"])


def test_a_bar_that_is_missed_is_said_and_ends_it_with_1(bench: ModuleType) -> None:
    for value, status, said in ((0.5, 0, "below 2"), (3.0, 1, "MISSED 2")):
        out = io.StringIO()
        found = {"embedded": {"tool call, median, ms": value, "times": {"count": [0.001, 0.002]}}}
        assert bench.report(found, 1000.0, 10, Console(file=out, width=110)) == status
        assert said in out.getvalue() and "1.00  2.00" in out.getvalue()
