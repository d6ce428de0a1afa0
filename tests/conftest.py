"""Fixtures every test may use."""

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import hypothesis
import pytest

from envhub.spec import Spec, load

hypothesis.settings.register_profile("repeatable", derandomize=True, deadline=None)
hypothesis.settings.load_profile("repeatable")

ROOT = Path(__file__).resolve().parent.parent
PATIENCE_S = 20.0
"""How long something may take that has to happen; a test that waits this long has failed."""


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of official-format data and golden traces, which lives beside the project."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"no golden data at {folder}: it is kept outside the repository")
    return folder


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
