"""What was built: a complete environment, as its marker says."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path

from envhub.build._disk import MARKER
from envhub.build._lock import Kind


@dataclass(frozen=True, slots=True)
class Archive:
    """One archive that an environment was built from: the package, its version and the file's SHA-256."""

    name: str
    version: str
    manager: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Built:
    """A complete environment.

    Attributes:
        kind: Whether it is a conda prefix or a plain virtual environment.
        digest: The digest of the locks it was built from, "sha256:…".
        spec: The name of the spec it was built for first.
        python_version: The version of its interpreter, such as "3.11.14".
        platform: The conda platform.
        created: When, in seconds since 1970.
        size: The size of its files, in bytes.
        files: The SHA-256 of the list of its files.
        archives: What it was built from, by name.
        prefix: Its folder; an environment works nowhere else.
    """

    kind: Kind
    digest: str
    spec: str
    python_version: str
    platform: str
    created: float
    size: int
    files: str
    archives: tuple[Archive, ...]
    prefix: Path

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.prefix / "bin" / "python"


@dataclass(frozen=True, slots=True)
class Moved:
    """An environment that lies elsewhere than where it was built, and does not work there.

    Attributes:
        built: It, with its folder as it is now.
        origin: Where it was built.
    """

    built: Built
    origin: Path


def read_marker(folder: Path) -> Built | None:
    """Read a folder's marker; None where there is none, one of another place, or no interpreter any more."""
    built = _parse_marker(folder)
    return built if built and built.prefix == folder and built.python.exists() else None


def read_moved(folder: Path) -> Moved | None:
    """Read a folder's marker if it is one of another place."""
    built = _parse_marker(folder)
    return Moved(replace(built, prefix=folder), built.prefix) if built and built.prefix != folder else None


def _parse_marker(folder: Path) -> Built | None:
    try:
        noted = json.loads((folder / MARKER).read_bytes())
        noted["archives"] = tuple(Archive(**one) for one in noted["archives"])
        noted["prefix"] = Path(noted["prefix"])
        return Built(**noted)
    except (OSError, ValueError, KeyError, TypeError):
        return None
