"""Which solver conda-lock runs: the user's conda, mamba or micromamba, or our own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from envhub.build._errors import LockFailed
from envhub.build._mirrors import Mirrors, config_file
from envhub.build._solver import write_solver

_CONDA = ("conda", "mamba", "micromamba")
_MAMBA_BELOW = (2, 6)
"""conda-lock cannot read what newer ones answer (conda-lock#907)."""


@dataclass(frozen=True, slots=True)
class Solver:
    """What conda-lock asks for a solution.

    Attributes:
        name: What it is called in messages, with its version.
        path: The conda executable; None for our own solver.
        mirrors: The mirrors our own solver applies.
    """

    name: str
    path: Path | None
    mirrors: Mirrors

    def executable(self, folder: Path) -> Path:
        """Return the executable for conda-lock; our own is written to the folder."""
        return self.path or write_solver(folder, self.mirrors)


def own_solver(mirrors: Mirrors) -> Solver:
    """Return our own solver."""
    return Solver(f"py-rattler {version('py-rattler')}", None, mirrors)


def choose_solver(conda: str | None, channels: Sequence[str], mirrors: Mirrors) -> Solver:
    """Choose a solver: the named conda, else one that is found, else our own.

    Mirrors are applied by our own solver alone, so where one stands in for a channel no conda is looked for.

    Raises:
        LockFailed: the named conda is not there, is a mamba that conda-lock cannot read, or would have to
            apply a mirror; or our own solver is not installed.
    """
    mirrored = any(mirrors.concern(channel_url(channel)) for channel in channels)
    if conda is not None:
        found = shutil.which(conda)
        if found is None:
            raise LockFailed(
                f"--conda {conda}: there is no such executable; leave it out to use the built-in solver"
            )
        if mirrored:
            raise LockFailed(
                f"--conda {conda}: a mirror in {config_file()} stands in for a channel, and {conda} would "
                "not use it; leave --conda out to use the built-in solver, or take the mirror out"
            )
        name, complaint = _judged(Path(found))
        if complaint:
            raise LockFailed(f"--conda {conda}: {complaint}; leave it out to use the built-in solver")
        return Solver(name, Path(found), mirrors)
    for candidate in () if mirrored else (os.environ.get("CONDA_EXE"), *_CONDA):
        found = shutil.which(candidate) if candidate else None
        if found:
            name, complaint = _judged(Path(found))
            if not complaint:
                return Solver(name, Path(found), mirrors)
    try:
        return own_solver(mirrors)
    except ModuleNotFoundError:
        raise LockFailed(
            "locking needs a solver: name a conda, mamba or micromamba with --conda, or install ours: "
            "pip install '.[build]' in a clone of EnvHub, pip install 'envhub[build]' anywhere else"
        ) from None


def channel_url(channel: str) -> str:
    """Return the address of a channel that may be given by its name, as conda reads names."""
    return channel if "://" in channel else f"https://conda.anaconda.org/{channel}"


def _judged(executable: Path) -> tuple[str, str | None]:
    """Return an executable's name and version, and what speaks against it."""
    try:
        done = subprocess.run([executable, "--version"], capture_output=True, text=True, timeout=60)
        numbers = re.findall(r"\d+(?:\.\d+)+", done.stdout)
    except (OSError, subprocess.TimeoutExpired):
        numbers = []
    if not numbers:
        return executable.name, f"{executable} --version does not answer with a version"
    name = f"{executable.name} {numbers[0]}"
    if "mamba" in executable.name and tuple(map(int, numbers[0].split(".")[:2])) >= _MAMBA_BELOW:
        return name, f"conda-lock cannot use {name}, only mamba and micromamba below 2.6"
    return name, None
