"""Setup steps: what is run in an environment once its packages are there, read from `setup/setup.toml`.

A step makes files in the environment from files of the spec, whose hashes are part of the lock. It installs
nothing: what is installed is for the locks to say. It may be run again at any time.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from envhub.build._disk import sha256_of
from envhub.build._errors import HashMismatch, SetupFailed, SetupInvalid
from envhub.build._files import SpecFiles
from envhub.spec import Runtime, SpecError, Table, runtime_variables

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
        SetupInvalid: The file is not understood, or a step runs a file of the spec that is not an input.
    """
    if not files.setup.is_file():
        return ()
    try:
        root = Table.read(files.setup)
        steps = tuple(_step(table, files) for table in root.tables("step"))
        root.finish()
    except SpecError as error:
        raise SetupInvalid(str(error)) from error
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


def run_step(
    spec: str, step: SetupStep, files: SpecFiles, runtime: Runtime, scratch: Path, fd: int, again: str
) -> None:
    """Run a step in an environment, in the spec's folder.

    `$ENVHUB_PREFIX` is the environment's folder. The home folder is an empty one that is removed.

    Args:
        spec: The name of the spec.
        step: The step.
        files: The files of the spec.
        runtime: The environment.
        scratch: A folder for the home folder and other temporary files.
        fd: The lock that everything which writes to the prefix holds.
        again: The command that builds the environment again.

    Raises:
        HashMismatch: An input is not the one that was declared.
        SetupFailed: The command fails, or it installed or removed a package.
    """
    for one in step.inputs:
        file = files.folder / one.path
        found = sha256_of(file) if file.is_file() else "missing"
        if found != one.sha256:
            raise HashMismatch(
                f"{spec}: setup step {step.name!r}: its input {file} is not the declared one: its sha256 is "
                f"{found}, and {files.setup} says {one.sha256}; restore the file, or declare the new one"
            )
    prefix = runtime.python.parent.parent
    before = _installed(prefix)
    home = scratch / "home"
    home.mkdir(exist_ok=True)
    environ = runtime_variables(runtime, os.environ)
    environ |= {"ENVHUB_PREFIX": str(prefix), "HOME": str(home), "TMPDIR": str(home)}
    mend = (
        f"Mend the step in {files.setup} or what it runs, with the new sha256 of each input, and run: {again}"
    )
    environ |= {"PIP_NO_INDEX": "1", "UV_OFFLINE": "1", "CONDA_OFFLINE": "true"}
    try:
        done = subprocess.run(
            [_program(step.run[0], prefix), *step.run[1:]],
            cwd=files.folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            pass_fds=[fd],
        )
    except OSError as error:
        raise SetupFailed(
            f"{spec}: setup step {step.name!r} cannot be run: {step.run[0]}: {error.strerror}\n{mend}"
        ) from error
    if done.returncode:
        raise SetupFailed(
            f"{spec}: setup step {step.name!r} ({' '.join(step.run)}) failed with status {done.returncode}:\n"
            f"{done.stdout[-3000:].strip()}\n{mend}"
        )
    changed = sorted(before ^ _installed(prefix))
    if changed:
        raise SetupFailed(
            f"{spec}: setup step {step.name!r} installed or removed packages ({', '.join(changed)}); "
            "packages belong in environment.yml or requirements.in: add them there and run: "
            f"envhub lock {files.folder}"
        )


def _program(name: str, prefix: Path) -> str:
    """The environment's own program of that name, if it has one."""
    return str(prefix / "bin" / name) if (prefix / "bin" / name).is_file() else name


def _installed(prefix: Path) -> set[str]:
    """The records of all packages that pip or conda installed."""
    records = [*prefix.glob("lib/python3*/site-packages/*.dist-info"), *prefix.glob("conda-meta/*.json")]
    records += prefix.glob("lib/python3*/site-packages/*.egg-info")
    return {record.name for record in records}
