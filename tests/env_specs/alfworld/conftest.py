"""Puts the ALFWorld spec's folder on the path, as a worker does, and reads the golden games and traces."""

import gzip
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "env_specs" / "alfworld"))

from envhub_alfworld import AlfworldEnv
from envhub_alfworld.data import Library
from envhub_alfworld.game import Game


@pytest.fixture(scope="session")
def golden(shared_data: Path) -> Path:
    """The folder with recorded traces and the games that they were recorded on."""
    return shared_data / "alfworld"


@pytest.fixture(scope="session")
def traces(golden: Path) -> list[dict[str, Any]]:
    """All recorded traces."""
    with gzip.open(golden / "traces.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines][1:]


@pytest.fixture(scope="session")
def golden_games(golden: Path) -> list[Game]:
    """The games that traces were recorded on."""
    entries = json.loads((golden / "games.json").read_text(encoding="utf-8"))
    return [Game.load(golden / entry["path"]) for entry in entries]


@pytest.fixture(scope="session")
def library() -> Library:
    """The embedded games."""
    return AlfworldEnv.load_shared({"data_dir": "", "task_types": []})


@pytest.fixture(scope="session")
def original_python() -> str:
    """An interpreter that has the published packages."""
    python = os.environ.get("ENVHUB_ALFWORLD_PYTHON")
    if not python:
        pytest.skip("ENVHUB_ALFWORLD_PYTHON names no interpreter that has alfworld and textworld")
    return python
