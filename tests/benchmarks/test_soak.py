"""The soak notices what grows; its short version finds nothing that does."""

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest
from soak import REPLICAS, Weight, judge

SOAK = Path(__file__).resolve().parents[2] / "benchmarks" / "soak.py"
FREE = {"echo": REPLICAS, "frozenlake": REPLICAS}
EVEN = [Weight(10_000 + at, 100_000 + at % 3, 70, 9, 7) for at in range(20)]


def test_what_stays_even_passes() -> None:
    assert all(verdict.passed for verdict in judge(EVEN, FREE))


@pytest.mark.parametrize(
    ("name", "growth"), [("memory_kib", 6000), ("descriptors", 1), ("threads", 1), ("processes", 1)]
)
def test_whatever_grows_is_named(name: str, growth: int) -> None:
    grown = [dataclasses.replace(weight, **{name: getattr(weight, name) + growth}) for weight in EVEN[10:]]
    failed = [verdict.what for verdict in judge(EVEN[:10] + grown, FREE) if not verdict.passed]
    assert failed == [name]


def test_a_replica_that_is_not_free_is_named() -> None:
    failed = [verdict for verdict in judge(EVEN, {**FREE, "echo": REPLICAS - 1}) if not verdict.passed]
    assert [(verdict.what, verdict.after) for verdict in failed] == [("echo replicas not free", 1)]


def test_too_few_weighings_are_no_verdict() -> None:
    with pytest.raises(ValueError, match="too few"):
        judge(EVEN[:3], FREE)


@pytest.mark.soak
def test_nothing_grows(tmp_path: Path) -> None:
    command = [sys.executable, str(SOAK), "--minutes", "1.7", "--json", str(tmp_path / "found")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-2000:]
    assert json.loads((tmp_path / "found").read_text())["abandoned"] > 1000
