"""ALFWorld's package runs in an interpreter of its own: Python 3.9 and the standard library."""

import ast
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[3] / "env_specs" / "alfworld" / "envhub_alfworld"
ALLOWED = sys.stdlib_module_names
ORIGINAL = {"alfworld", "textworld"}
"""What the module imports that runs the original, in the original's own interpreter."""


@pytest.mark.parametrize("file", sorted(PACKAGE.glob("*.py")), ids=lambda file: file.name)
def test_it_is_python_3_9_and_imports_what_it_may(file: Path) -> None:
    tree = ast.parse(file.read_text("utf-8"), feature_version=(3, 9))
    assert not any(isinstance(node, ast.Match) for node in ast.walk(tree))
    imported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").partition(".")[0])
    assert imported <= ALLOWED | {PACKAGE.name} | (ORIGINAL if file.name == "original_process.py" else set())
