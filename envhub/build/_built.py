"""What was built: a complete environment, as its marker says."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from envhub.build._disk import MARKER
from envhub.build._lock import Kind

Stored = Kind | Literal["artifact"]
"""What a store keeps: environments, and folders that specs' own programs made."""
CONTENT = "content"
"""The folder in an artifact's own that holds what was made, and nothing of the store's."""


@dataclass(frozen=True, slots=True)
class Archive:
    """One archive that an environment was built from: the package, its version and the file's SHA-256."""

    name: str
    version: str
    manager: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Built:
    """A complete environment or artifact.

    Attributes:
        kind: Whether it is a conda prefix, a plain virtual environment or an artifact.
        digest: The digest of the locks, or inputs, it was built from, "sha256:…".
        spec: The name of the spec it was built for first.
        python_version: The version of its interpreter, such as "3.11.14"; empty for an artifact.
        platform: The conda platform.
        created: When, in seconds since 1970.
        size: The size of its files, in bytes.
        files: The SHA-256 of the list of its files.
        archives: What it was built from, by name.
        prefix: Its folder; an environment works nowhere else.
        artifact: The name of the artifact; empty for an environment.
    """

    kind: Stored
    digest: str
    spec: str
    python_version: str
    platform: str
    created: float
    size: int
    files: str
    archives: tuple[Archive, ...]
    prefix: Path
    artifact: str = ""

    @property
    def python(self) -> Path:
        """An environment's interpreter."""
        return self.prefix / "bin" / "python"

    @property
    def content(self) -> Path:
        """The folder that an artifact is."""
        return self.prefix / CONTENT

    @property
    def there(self) -> bool:
        """Whether what it is about is there still."""
        return self.content.is_dir() if self.kind == "artifact" else self.python.exists()


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
    """Read a folder's marker; None where there is none, one of another place, or nothing in it any more."""
    built = _parse_marker(folder)
    return built if built and built.prefix == folder and built.there else None


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
