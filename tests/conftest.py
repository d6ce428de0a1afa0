"""Fixtures every test may use."""

import asyncio
import contextlib
import functools
import logging
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import hypothesis
import pytest

from envhub.spec import Spec, load

from .hubs import Mortal, serving

hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis.settings.load_profile("repeatable")

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_S = 60.0
"""How long something may take that has to happen; a test that waits this long has failed."""


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of official-format data and golden traces, which lives beside the project."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no golden data at {folder}: it is kept outside the repository")
    return folder


@pytest.fixture(scope="session", autouse=True)
def empty_store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The store of every test that names none: what the developer has built changes no test."""
    folder = tmp_path_factory.mktemp("store")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ENVHUB_STORE", str(folder))
        yield folder


@pytest.fixture(autouse=True)
def same_log_handlers() -> Iterator[None]:
    """A command that runs in this process sets up a log; the next test is not to write to its stream."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield
    root.handlers[:], root.level = handlers, level


# -- waiting ----------------------------------------------------------------------------------------


def _wait_until(condition: Callable[[], object], seconds: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.01)


async def _eventually(condition: Callable[[], object], seconds: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        await asyncio.sleep(0.01)


@pytest.fixture(scope="session")
def wait_until() -> Callable[..., None]:
    """Wait until a condition holds; fail when it does not come to."""
    return _wait_until


@pytest.fixture(scope="session")
def eventually() -> Callable[..., Awaitable[None]]:
    """The same without blocking the event loop."""
    return _eventually


# -- processes --------------------------------------------------------------------------------------


class Processes:
    """What the system knows of processes; a zombie counts as gone."""

    @staticmethod
    def _stat(pid: int | str) -> list[str]:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return ["Z", "0", "0"]

    def alive(self, pid: int) -> bool:
        return self._stat(pid)[0] not in "ZX"

    def group(self, pgid: int) -> set[int]:
        """The living processes of a process group."""
        stats = {int(name): self._stat(name) for name in os.listdir("/proc") if name.isdigit()}
        return {
            pid for pid, (state, _, group, *_) in stats.items() if int(group) == pgid and state not in "ZX"
        }

    def children(self, pid: int) -> set[int]:
        """The living children of a process."""
        stats = {int(name): self._stat(name) for name in os.listdir("/proc") if name.isdigit()}
        return {
            child for child, (state, parent, *_) in stats.items() if int(parent) == pid and state not in "ZX"
        }

    def descendants(self, pid: int) -> set[int]:
        """The living children of a process, their children, and so on."""
        parents = {
            int(name): int(stat[1])
            for name in os.listdir("/proc")
            if name.isdigit() and (stat := self._stat(name))[0] not in "ZX"
        }
        found: set[int] = set()
        level = {pid}
        while level:
            level = {child for child, parent in parents.items() if parent in level}
            found |= level
        return found


@pytest.fixture(scope="session")
def processes() -> Processes:
    return Processes()


# -- interpreters -----------------------------------------------------------------------------------


@functools.cache
def _interpreter(version: str) -> Path | None:
    """A CPython of a version like "3.12": this one, one on PATH, or where pyenv and uv keep theirs."""
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return Path(sys.executable)
    homes = [Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"]
    homes.append(Path.home() / ".local" / "share" / "uv" / "python")
    found = [python for home in homes for python in sorted(home.glob(f"*{version}.*/bin/python{version}"))]
    on_path = shutil.which(f"python{version}")
    says = "import sys, venv; print(sys.implementation.name, *sys.version_info[:2])"
    for candidate in [*found, *([Path(on_path)] if on_path else [])]:
        done = subprocess.run([candidate, "-I", "-c", says], capture_output=True, text=True, timeout=60)
        if done.stdout.split() == ["cpython", *version.split(".")]:
            return candidate
    return None


@pytest.fixture(scope="session")
def empty_venv(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A virtual environment of a version of Python, with nothing installed, by its interpreter's path."""

    @functools.cache
    def make(version: str) -> Path:
        python = _interpreter(version)
        if python is None:
            pytest.skip(f"no CPython {version} on PATH or in pyenv's or uv's folder")
        folder = tmp_path_factory.mktemp("venv") / version
        subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True, timeout=120)
        return folder / "bin" / "python"

    return make


# -- specs ------------------------------------------------------------------------------------------


@pytest.fixture
def write_spec(tmp_path: Path) -> Callable[..., Spec]:
    """Write a spec folder around a module that defines a class `Env`, and load it."""

    def write(source: str, toml: str = "", name: str = "probe") -> Spec:
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{name}_env.py").write_text(source)
        head = f'name = "{name}"\nversion = "1"\nsummary = "a test"\nentry_point = "{name}_env:Env"\n'
        channels = '[action]\ndescription = "any"\n[observation]\ndescription = "any"\n'
        (folder / "envhub.toml").write_text(head + toml + channels)
        return load(folder)

    return write


# -- hubs -------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def serve_hub() -> Callable[..., contextlib.AbstractContextManager[str]]:
    """Run a hub: `with serve_hub("--env", …) as url`."""
    return serving


@pytest.fixture
def mortal() -> Iterator[Callable[..., Mortal]]:
    """Start real hubs that can be killed: `mortal("--env", …)`."""
    with contextlib.ExitStack() as hubs:

        def make(*arguments: str) -> Mortal:
            hub = Mortal(*arguments)
            hubs.callback(hub.kill)
            return hub

        yield make
