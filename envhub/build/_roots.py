"""Notes of a store: which spec's folder uses which environment, and what that was built from."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from envhub.build._built import Stored
from envhub.build._disk import write_whole


@dataclass(frozen=True, slots=True)
class Root:
    """One use of an environment.

    Attributes:
        folder: The spec's folder.
        kind: The kind of the environment.
        digest: The digest of the locks it was built from, "sha256:…".
        archives: The SHA-256 of what it was built from: enough to build it again without a network.
        artifact: The name of the artifact it is; empty for an environment.
    """

    folder: Path
    kind: Stored
    digest: str
    archives: tuple[str, ...]
    artifact: str = ""

    @property
    def alive(self) -> bool:
        """Whether the spec is still there."""
        return (self.folder / "envhub.toml").is_file()

    def write(self, parent: Path) -> None:
        """Write the note, in place of the one that the spec's folder had before for this kind, or artifact.

        Nothing is noted where the folder of the notes cannot be written to.
        """
        whose = os.fsencode(self.folder) + (f"\0{self.artifact}".encode() if self.artifact else b"")
        name = hashlib.sha256(whose).hexdigest()[:32]
        file = parent / f"{self.kind}-{name}.json"
        content = json.dumps(asdict(self), default=str)
        with contextlib.suppress(OSError):
            if not file.is_file() or file.read_bytes() != content.encode():
                parent.mkdir(parents=True, exist_ok=True)
                write_whole(file, content)


def read_root(file: Path) -> Root | None:
    """Read a note; None where it is not understood."""
    try:
        noted = json.loads(file.read_bytes())
        return Root(
            Path(noted["folder"]),
            noted["kind"],
            noted["digest"],
            tuple(noted["archives"]),
            noted.get("artifact", ""),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None
