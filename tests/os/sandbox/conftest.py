"""Sandboxes for the tests, of every backend that the machine can make some with; the others are skipped.

They are in host mode, or have the root file system that ENVHUB_OS_ROOTFS names.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "env_specs" / "os"))

from envhub_os.sandbox import Report, Result, Sandbox, Saved, Settings, report
from envhub_os.sandbox.settings import AUTO

ROOTFS = Path(os.environ["ENVHUB_OS_ROOTFS"]) if "ENVHUB_OS_ROOTFS" in os.environ else None
SMALL = Settings(ROOTFS, memory_mb=96, disk_mb=16, inodes=4000, pids=48, open_files=256)
PATIENCE_S = 60.0
PYTHON = "/usr/bin/python3"
REFUSED = {"EPERM", "EACCES", "ENOSYS", "EROFS", "ENOENT", "EINVAL", "ENODEV", "ENXIO"}
CALLS = """
import ctypes, errno, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    result = libc.syscall(ctypes.c_long(number), *map(ctypes.c_long, arguments))
    return errno.errorcode[ctypes.get_errno()] if result < 0 else "worked"
def attempt(function, *arguments):
    try:
        function(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]
    return "worked"
"""


def say(box: Sandbox, command: str, limit_bytes: int = 20_000) -> Result:
    """Runs a command that ends by itself."""
    result = box.run(command, timeout_s=PATIENCE_S, limit_bytes=limit_bytes)
    assert not result.timed_out
    return result


def inside(box: Sandbox, code: str) -> Any:
    """Runs Python in the agent's shell; what it prints last is JSON."""
    if not say(box, f"test -x {PYTHON}").exit_code == 0:
        pytest.skip(f"this machine has no {PYTHON} to attack with")
    box.write("/tmp/attack.py", (CALLS + code).encode())
    result = say(box, f"{PYTHON} /tmp/attack.py")
    assert result.exit_code == 0, result
    return json.loads(result.output.splitlines()[-1])


@pytest.fixture(scope="session", params=AUTO)
def held(request: pytest.FixtureRequest) -> Report:
    """What holds a sandbox of a backend here."""
    found = report(replace(SMALL, backend=request.param))
    if found.problem:
        pytest.skip(found.problem)
    return found


@pytest.fixture(scope="session")
def small(held: Report) -> Settings:
    """Small limits for the backend that is tried."""
    return replace(SMALL, backend=held.backend)


@pytest.fixture
def make(small: Settings) -> Iterator[Callable[..., Sandbox]]:
    """Makes sandboxes that end with the test."""
    made = []

    def one(settings: Settings = small, saved: Saved | None = None) -> Sandbox:
        made.append(Sandbox.start(settings, saved))
        return made[-1]

    yield one
    for box in made:
        box.close()


@pytest.fixture
def box(make: Callable[..., Sandbox]) -> Sandbox:
    """A sandbox of small limits."""
    return make()


@pytest.fixture
def root(make: Callable[..., Sandbox], held: Report) -> Sandbox:
    """A sandbox of the usual limits."""
    return make(Settings(ROOTFS, backend=held.backend))


@pytest.fixture
def users(held: Report) -> None:
    """Skips where only root exists inside."""
    if held.ids == "single":
        pytest.skip("a sandbox has one user id here: no other users, and a copy of /etc")


@pytest.fixture(scope="session")
def neighbour(small: Settings) -> Iterator[Sandbox]:
    """A sandbox that goes through all attacks on others."""
    with Sandbox.start(small) as box:
        yield box


@pytest.fixture
def neighbours(neighbour: Sandbox) -> Iterator[None]:
    """Makes sure that others go on as they did."""
    say(neighbour, "echo $$ > /tmp/kept")
    yield
    assert say(neighbour, "echo $(( $$ == $(< /tmp/kept) ))").output == "1\n"
    assert neighbour.exec(["true"]).exit_code == 0
