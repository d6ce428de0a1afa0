"""The worker runs in an environment's own interpreter: Python 3.9, the standard library, nothing else."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

WORKER = Path(__file__).resolve().parents[2] / "envhub" / "worker"
FILES = sorted(WORKER.glob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_it_is_python_3_9(file: Path) -> None:
    tree = ast.parse(file.read_text(), feature_version=(3, 9))
    assert not any(isinstance(node, ast.Match) for node in ast.walk(tree))


def top_imports(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add((node.module or "").partition(".")[0])
    return found


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_it_imports_the_standard_library_alone(file: Path) -> None:
    # NumPy is imported only for spaces that are made of NumPy arrays, which an environment then has.
    allowed = sys.stdlib_module_names | ({"numpy"} if file.name == "codec.py" else set())
    assert top_imports(ast.parse(file.read_text())) <= allowed


def test_annotations_that_python_3_9_cannot_evaluate_are_never_evaluated() -> None:
    for file in FILES:
        tree = ast.parse(file.read_text())
        annotated = any(isinstance(node, ast.FunctionDef) and node.returns for node in ast.walk(tree))
        postponed = any(
            isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body
        )
        assert postponed or not annotated or file.name == "__main__.py", file.name


def test_it_loads_without_site_packages_and_without_the_hub() -> None:
    """As `__main__` loads it, in an interpreter that can import nothing but the standard library."""
    script = (
        "import runpy, sys\n"
        f"space = runpy.run_path({str(WORKER / '__main__.py')!r}, run_name='probe')\n"
        "space['_load_package']()\n"
        "import importlib\n"
        "importlib.import_module('envhub_worker.template')\n"
        "ours = sorted(name for name in sys.modules if name.startswith('envhub'))\n"
        "print(*ours)\n"
        "assert 'numpy' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert all(name.startswith("envhub_worker") for name in done.stdout.split())
