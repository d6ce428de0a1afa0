"""What a spec's workers run in."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Isolation = Literal["conda", "venv", "host"]
Wanted = Literal["auto", "conda", "venv", "host"]
"""An isolation that is asked for; `auto` leaves the choice open."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """The interpreter of a spec's workers.

    Attributes:
        isolation: `conda`: a prefix built from the spec's locks. `venv`: a virtual environment with the
            spec's locked PyPI packages on some interpreter, so not conda-locked. `host`: the hub's own.
        python: The interpreter.
        lock_digest: Digest of the lock it was built from (`sha256:…`); None on the host, which has none.
    """

    isolation: Isolation
    python: Path
    lock_digest: str | None = None

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
