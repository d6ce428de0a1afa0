"""Setup steps: what is run in an environment once its packages are there, read from `setup/setup.toml`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from envhub.build._errors import LockInvalid
from envhub.build._files import SpecFiles
from envhub.spec import SpecError, Table

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class SetupInput:
    """A file of the spec's folder that a step reads: its relative path and its SHA-256."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True)
class SetupStep:
    """One command that makes files in the environment from files of the spec.

    Attributes:
        name: What it is called in messages.
        run: The command and its arguments; "python" is the environment's own.
        inputs: Every file of the spec it reads, the script itself too.
    """

    name: str
    run: tuple[str, ...]
    inputs: tuple[SetupInput, ...]


def read_steps(files: SpecFiles) -> tuple[SetupStep, ...]:
    """Read a spec's setup steps; there are none where `setup/setup.toml` is not there.

    Raises:
        LockInvalid: The file is not understood, or a step runs a file of the spec that is not an input.
    """
    if not files.setup.is_file():
        return ()
    try:
        root = Table.read(files.setup)
        steps = tuple(_step(table, files) for table in root.tables("step"))
        root.finish()
    except SpecError as error:
        raise LockInvalid(str(error)) from error
    return steps


def _step(table: Table, files: SpecFiles) -> SetupStep:
    run = table.value("run", list)
    if not run or not all(isinstance(word, str) for word in run):
        raise table.fail(
            "run", 'must be a command as an array of strings, as in ["python", "setup/index.py"]'
        )
    inputs = tuple(_input(one) for one in table.tables("inputs"))
    declared = {one.path for one in inputs}
    for word in run:
        if word not in declared and (files.folder / word).is_file():
            raise table.fail(
                "run", f"{word!r} is a file of the spec: declare it under inputs with its sha256"
            )
    step = SetupStep(table.value("name", str), tuple(run), inputs)
    table.finish()
    return step


def _input(table: Table) -> SetupInput:
    path, sha256 = table.value("path", str), table.value("sha256", str)
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        raise table.fail("path", f"{path!r} must lie inside the spec's folder")
    if not _SHA256.fullmatch(sha256):
        raise table.fail("sha256", f"{sha256!r} must be 64 lower-case hexadecimal digits")
    table.finish()
    return SetupInput(path, sha256)
