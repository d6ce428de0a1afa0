"""The package runs in interpreters of its own: Python 3.9, and nothing but the standard library."""

import ast
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "env_specs" / "os" / "envhub_os"
FILES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.relative_to(PACKAGE)))
def test_it_is_python_3_9_and_imports_the_standard_library_alone(file: Path) -> None:
    tree = ast.parse(file.read_text("utf-8"), feature_version=(3, 9))
    imported: set[str] = set()
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Match)
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            imported.add((node.module or "").partition(".")[0])
    assert imported <= sys.stdlib_module_names | {PACKAGE.name}
