"""The locks of the bundled specs: fresh, complete, and assembled from the facts that they claim."""

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

from envhub.build import (
    SpecFiles,
    check_fresh,
    lock_conda,
    own_solver,
    read_inputs,
    read_lock,
)
from envhub.spec import Spec, bundled, python_suits

ROOT = Path(__file__).resolve().parents[2]
SPECS = [spec for spec in bundled() if SpecFiles.of(spec).environment.is_file()]

every_spec = pytest.mark.parametrize("spec", SPECS, ids=[spec.name for spec in SPECS])


def test_every_bundled_spec_is_locked() -> None:
    assert SPECS == bundled()


@every_spec
def test_its_locks_are_fresh(spec: Spec) -> None:
    assert check_fresh(spec, thorough=True).reasons == ()


@every_spec
def test_its_locks_are_complete(spec: Spec) -> None:
    lock = read_lock(spec, "linux-64")
    assert python_suits(spec.requires_python, next(one.version for one in lock.conda if one.name == "python"))
    assert all(one.url.startswith("https://conda.anaconda.org/conda-forge/") for one in lock.conda)
    assert all(one.md5 for one in lock.conda)
    inputs = read_inputs(spec)
    assert {one.name for one in lock.pypi} >= {one.name for one in inputs.requirements or ()}


@every_spec
def test_no_file_of_the_pypi_part_names_an_address(spec: Spec) -> None:
    files = SpecFiles.of(spec)
    for file in (files.requirements, files.requirements_lock):
        assert not file.is_file() or not re.search(r"://|--(extra-)?index|--find-links", file.read_text())


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    """The script that locks from facts."""
    found = importlib.util.spec_from_file_location("lock_from_facts", ROOT / "tools" / "lock_from_facts.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@every_spec
def test_conda_lock_writes_the_same_from_the_facts(
    spec: Spec, tool: ModuleType, shared_data: Path, tmp_path: Path
) -> None:
    mirrors = tool.mirrors_of(shared_data / "conda_lock_facts.json", tool.SOURCE, tmp_path)
    text = lock_conda(spec, read_inputs(spec), own_solver(mirrors))
    assert text == SpecFiles.of(spec).conda_lock.read_text(encoding="utf-8")


@every_spec
def test_its_provenance_says_what_only_one_source_has(
    spec: Spec, tool: ModuleType, shared_data: Path
) -> None:
    facts = json.loads((shared_data / "conda_lock_facts.json").read_text(encoding="utf-8"))
    (source,) = (found for found in facts["sets"] if found["repo"] == tool.SOURCE)
    corroborated = {one["sha256"]: one["corroborated_by"] for one in source["packages"]}
    lock = read_lock(spec, "linux-64")
    alone = sorted(one.name for one in lock.conda if not corroborated[one.sha256])
    text = SpecFiles.of(spec).provenance.read_text(encoding="utf-8")
    assert f"{len(lock.conda) - len(alone)} of {len(lock.conda)}" in text
    assert all(f"`{name}`" in text for name in alone)
    assert source["repo"] in text and source["commit"] in text
