"""What settings mean: which backend makes a sandbox where none was chosen, and what is refused."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest
from envhub_os.sandbox import Refused, Report, Sandbox, Settings, launcher, report
from envhub_os.sandbox.settings import AUTO

from .conftest import PYTHON, SMALL, say

PROGRAM = """
import sys
sys.path.insert(0, "/tmp")
from envhub_os.sandbox import Refused, Sandbox, Settings
try:
    Sandbox.start(Settings())
except Refused as error:
    print(error)
"""


def test_it_is_the_first_that_works_here() -> None:
    works = [backend for backend in AUTO if report(replace(SMALL, backend=backend)).problem is None]
    found = report(SMALL)
    assert found.backend == (works[0] if works else "auto")
    assert (found.problem is None) == bool(works)


def test_where_none_is_safe_it_is_refused_and_each_says_why_and_what_to_do(box: Sandbox) -> None:
    if say(box, f"{PYTHON} -c 'import sys; sys.exit(sys.version_info < (3, 9))'").exit_code:
        pytest.skip(f"there is no {PYTHON} of 3.9 or newer here")
    source, packed = Path(launcher.__file__).parent, io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        archive.add(
            source,
            "envhub_os/sandbox",
            filter=lambda member: None if "__pycache__" in member.name else member,
        )
        archive.addfile(tarfile.TarInfo("envhub_os/__init__.py"))
    box.exec(["tar", "-x", "-C", "/tmp"], stdin=packed.getvalue())
    said = box.exec([PYTHON, "-c", PROGRAM])
    lines = said.stdout.decode().splitlines()
    assert len(lines) == len(AUTO), said
    for backend, line in zip(AUTO, lines, strict=True):
        assert line.startswith(f"no sandbox can be made on this machine by {backend}: ")
        assert launcher.NEEDS[backend] in line


def test_what_is_found_is_told_of_each(held: Report) -> None:
    command = [sys.executable, "-m", "envhub_os.sandbox"]
    spec = Path(launcher.__file__).parents[2]
    done = subprocess.run(command, cwd=spec, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["problem"] is None and found["lines"][0].startswith("auto is ")
    assert {backend for backend in AUTO for line in found["lines"] if backend in line} == set(AUTO)


def test_settings_that_make_no_sense_are_refused() -> None:
    for settings in (
        Settings(backend="docker"),
        Settings(backend="none"),
        Settings(backend="none", i_know=True, rootfs=Path("/")),
        Settings(memory_mb=0),
        Settings(rootfs=Path("/nonexistent")),
    ):
        with pytest.raises(Refused):
            Sandbox.start(settings)
