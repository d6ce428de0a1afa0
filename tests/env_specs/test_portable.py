"""Packages of environments run in interpreters of their own: Python 3.9 and what their locks have."""

import ast
import sys
from pathlib import Path

import pytest

SPECS = Path(__file__).resolve().parents[2] / "env_specs"
PACKAGES: dict[str, set[str]] = {
    "echo": set(),
    "frozenlake": {"numpy"},
    "alfworld": set(),
    "db": {"pymysql", "sqlglot"},
    "os": set(),
    "kg": {"pyoxigraph"},
    "webshop": {"numpy", "rapidfuzz"},
}
"""What each may import beside itself and the standard library."""
ORIGINAL = {"original_process.py": {"alfworld", "textworld"}}
"""What the module imports that runs the original ALFWorld, in the original's own interpreter."""
FILES = [file for name in PACKAGES for file in sorted((SPECS / name / f"envhub_{name}").rglob("*.py"))]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(SPECS)))
def test_it_is_python_3_9_and_imports_what_it_may(file: Path) -> None:
    tree = ast.parse(file.read_text("utf-8"), feature_version=(3, 9))
    assert not any(isinstance(node, ast.Match) for node in ast.walk(tree))
    imported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            imported.add((node.module or "").partition(".")[0])
    name = file.relative_to(SPECS).parts[0]
    own = {f"envhub_{name}"} | PACKAGES[name] | ORIGINAL.get(file.name, set())
    assert imported <= sys.stdlib_module_names | own
