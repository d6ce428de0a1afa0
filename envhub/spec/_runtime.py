"""What a spec's workers run in."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Isolation = Literal["conda", "venv", "host"]
Wanted = Literal["auto", "conda", "venv", "host"]
"""An isolation that is asked for; `auto` leaves the choice open."""
HUB_TOKEN = "ENVHUB_TOKEN"
"""The hub's secret in its own environment variables; none of an environment's business."""
_HUBS_OWN = ("PYTHON", "CONDA_", "_CE_", "MAMBA_", "VIRTUAL_ENV")
"""How the names begin of variables that tell an interpreter, or a tool, where the hub's packages are."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """The interpreter of a spec's workers.

    Attributes:
        isolation: `conda`: a prefix built from the spec's locks. `venv`: a virtual environment with the
            spec's locked PyPI packages on some interpreter, so not conda-locked. `host`: the hub's own.
        python: The interpreter.
        lock_digest: Digest of the lock it was built from (`sha256:…`); None on the host, which has none.
        mend: What to do where what was built may be damaged, in words; empty on the host.
    """

    isolation: Isolation
    python: Path
    lock_digest: str | None = None
    mend: str = field(default="", compare=False)

    @property
    def isolated(self) -> bool:
        """Whether it has packages of its own, apart from the hub's."""
        return self.isolation != "host"

    @property
    def conda_locked(self) -> bool:
        """Whether every package, the interpreter and native ones too, is the locked one."""
        return self.isolation == "conda"

    def __str__(self) -> str:
        """In words, for people: `conda, lock sha256:…`."""
        return runtime_words(self.isolation, self.lock_digest)


def runtime_words(isolation: str, lock_digest: str | None) -> str:
    """Say in words what an environment runs in."""
    if isolation == "host":
        return "host (the hub's own Python environment, not conda-locked)"
    note = "" if isolation == "conda" else " (not conda-locked)"
    return f"{isolation}{note}, lock {lock_digest}"


HOST = Runtime("host", Path(sys.executable))
"""The hub's own interpreter, with whatever is installed there."""


def runtime_variables(runtime: Runtime, ours: Mapping[str, str]) -> dict[str, str]:
    """Return the environment variables of what runs in a runtime.

    They are the hub's, less its secret and, where the runtime has packages of its own, whatever leads to
    the hub's packages.

    Args:
        runtime: The runtime.
        ours: The hub's variables.
    """
    given = {name: value for name, value in ours.items() if name != HUB_TOKEN}
    if not runtime.isolated:
        return given
    home = runtime.python.parent.parent
    cleaned = {name: value for name, value in given.items() if not name.startswith(_HUBS_OWN)}
    if "LD_LIBRARY_PATH" in ours:
        cleaned["LD_LIBRARY_PATH"] = os.pathsep.join(_not_the_hubs(ours["LD_LIBRARY_PATH"], ours))
    return {
        **cleaned,
        "PATH": os.pathsep.join([str(home / "bin"), *_not_the_hubs(ours.get("PATH", os.defpath), ours)]),
        "CONDA_PREFIX" if runtime.isolation == "conda" else "VIRTUAL_ENV": str(home),
        "PYTHONNOUSERSITE": "1",  # for interpreters that are started in turn
    }


def _not_the_hubs(path: str, ours: Mapping[str, str]) -> list[str]:
    """Return the folders of a search path that lie in no conda or virtual environment of the hub's."""
    hubs = [ours[name] for name in ("CONDA_PREFIX", "VIRTUAL_ENV") if ours.get(name)]
    if sys.prefix != sys.base_prefix:
        hubs.append(sys.prefix)
    return [folder for folder in path.split(os.pathsep) if not any(_within(folder, hub) for hub in hubs)]


def _within(folder: str, hub: str) -> bool:
    return os.path.normpath(folder).startswith(os.path.normpath(hub) + os.sep)
