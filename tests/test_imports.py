"""Who may import whom: the rules of docs/architecture.md, read off the source of every file."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
OURS = {"envhub", "envhub_sdk", "envhub_trainers"}
SPECS = {package.name for package in (ROOT / "env_specs").glob("*/envhub_*") if package.is_dir()}

WIRE = "envhub_sdk._wire"
PROTOCOL = {"envhub.worker.frames", "envhub.worker.times"}
"""What hub and worker tell each other, and how."""
MAY_IMPORT = {
    "envhub.worker": set(),
    "envhub.spec": set(),
    "envhub.build": {"envhub.spec"},
    "envhub.pool": {"envhub.spec", *PROTOCOL},
    "envhub.session": {"envhub.record", "envhub.pool", "envhub.spec", *PROTOCOL, WIRE},
    "envhub.server": {
        "envhub.record",
        "envhub.session",
        "envhub.pool",
        "envhub.spec",
        *PROTOCOL,
        WIRE,
    },
    "envhub.record": set(),
    "envhub.check": {"envhub.pool", "envhub.spec", "envhub.worker.frames", "envhub_sdk"},
    "envhub.doctor": {"envhub.build", "envhub.spec"},
    "envhub.cli": {
        "envhub.doctor",
        "envhub.build",
        "envhub.check",
        "envhub.record",
        "envhub.server",
        "envhub.session",
        "envhub.pool",
        "envhub.spec",
        "envhub_sdk",
        "envhub_trainers",
    },
    "envhub_sdk": set(),
    "envhub_trainers": {"envhub_sdk"},
}
"""What each room may import of ours, beside itself and the package's own version."""


def modules(folder: Path, package: str) -> list[tuple[str, Path]]:
    """The dotted name and the file of every module below a folder."""
    found = []
    for file in sorted(folder.rglob("*.py")):
        parts = file.relative_to(folder).with_suffix("").parts
        name = ".".join([package, *parts])
        found.append((name.removesuffix(".__init__"), file))
    return found


def imports(name: str, file: Path) -> set[str]:
    """Every module that a file imports, as absolute names; `from a import b` gives `a.b`."""
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parents = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parents, *([node.module] if node.module else [])])
            found |= {f"{base}.{alias.name}" for alias in node.names}
    return found


def within(name: str, room: str) -> bool:
    return name == room or name.startswith(room + ".")


HUB = [
    *modules(ROOT / "envhub", "envhub"),
    *modules(ROOT / "sdk" / "envhub_sdk", "envhub_sdk"),
    *modules(ROOT / "trainers" / "envhub_trainers", "envhub_trainers"),
]


def room_of(name: str) -> str | None:
    return next((room for room in MAY_IMPORT if within(name, room)), None)


def test_every_folder_of_the_hub_is_a_room_with_rules() -> None:
    rooms = {
        f"envhub.{folder.name}" for folder in (ROOT / "envhub").iterdir() if (folder / "__init__.py").exists()
    }
    assert rooms == {room for room in MAY_IMPORT if within(room, "envhub")}


@pytest.mark.parametrize(("name", "file"), HUB, ids=[name for name, _ in HUB])
def test_each_module_imports_only_what_its_room_may(name: str, file: Path) -> None:
    room = room_of(name)
    ours = {one for one in imports(name, file) if one.partition(".")[0] in OURS | SPECS}
    if room is None:  # envhub itself and its __main__
        assert ours <= {"envhub.cli.main"}
        return
    allowed = {room, *MAY_IMPORT[room], "envhub.__version__"}
    wrong = {one for one in ours if one != "envhub" and not any(within(one, target) for target in allowed)}
    assert not wrong, f"{name} may not import {', '.join(sorted(wrong))}"
    if "envhub" in ours:
        assert room in ("envhub.cli", "envhub.spec"), (
            "only for the version and the place of the bundled specs"
        )


def test_within_the_worker_every_import_is_relative_or_of_the_standard_library() -> None:
    for name, file in modules(ROOT / "envhub" / "worker", "envhub.worker"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert node.level or (node.module or "").partition(".")[0] in sys.stdlib_module_names, name
    # It runs under another name (see `envhub/worker/__main__.py`), so an absolute import would load it twice.


OTHER_ENGINE_OF = {"envhub_alfworld_original": "envhub_alfworld"}
"""A spec that is another one with another engine, and locks of its own for that."""
ENVIRONMENTS = [
    (name, file)
    for package in sorted(SPECS)
    for folder in (ROOT / "env_specs").glob(f"*/{package}")
    for name, file in modules(folder, package)
]


@pytest.mark.parametrize(("name", "file"), ENVIRONMENTS, ids=[name for name, _ in ENVIRONMENTS])
def test_environments_import_nothing_of_ours_but_themselves(name: str, file: Path) -> None:
    own = name.partition(".")[0]
    tops = {one.partition(".")[0] for one in imports(name, file)}
    assert not tops & ((OURS | SPECS) - {own, OTHER_ENGINE_OF.get(own)})


def test_the_client_does_not_pull_in_the_server() -> None:
    """The base install has neither the hub's dependencies nor, at run time, a need of them."""
    script = (
        "import sys\n"
        "server = ('envhub', 'fastapi', 'starlette', 'uvicorn', 'uvloop', 'typer')\n"
        "sys.modules.update(dict.fromkeys(server))\n"
        "import envhub_sdk\n"
        "assert envhub_sdk.Hub and envhub_sdk.AsyncHub\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_trainers_do_not_pull_in_what_only_training_needs() -> None:
    script = (
        "import sys\n"
        "heavy = ('deepspeed', 'openrlhf', 'ray', 'torch', 'transformers', 'vllm')\n"
        "sys.modules.update(dict.fromkeys(heavy))\n"
        "import envhub_trainers\n"
        "from envhub_trainers import _sampler\n"
        "assert _sampler.Sampler\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
