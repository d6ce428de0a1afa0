"""All there is of a sandbox at rest, to make it again."""

from __future__ import annotations

import base64
import os
import zlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from .bash import Held

if TYPE_CHECKING:
    from .shell import Shell


@dataclass(frozen=True)
class Saved:
    """What `Sandbox.save` returns.

    Attributes:
        files: What was written in it, as `jail.packing` does it, compressed.
        shell: What its shell holds.
        mode: How its terminal is set.
        token: What the marks of its shell have in common.
        scripts: How many scripts were typed.
        pids: The process ids of the shell and of the process started last; 0 where that can't be known.
    """

    files: bytes
    shell: Held
    mode: list[Any]
    token: str
    scripts: int
    pids: tuple[int, int]

    @classmethod
    def of(cls, files: bytes, held: Held, shell: Shell, pids: tuple[int, int]) -> Saved:
        """Puts together what was taken."""
        return cls(zlib.compress(files, 1), held, shell.mode(), shell.token, shell.scripts, pids)

    def open(self) -> int:
        """Writes it, for the first process of another sandbox, to a file without a name."""
        file = os.memfd_create("saved")
        for part in (zlib.decompress(self.files), self.shell.script()):
            view = memoryview(part)
            while view:
                view = view[os.write(file, view) :]
        os.lseek(file, 0, os.SEEK_SET)
        return file

    def to_json(self) -> dict[str, Any]:
        """As a JSON value."""
        return {**asdict(self), "files": base64.b64encode(self.files).decode()}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Saved:
        """From what `to_json` has returned."""
        files, pids = base64.b64decode(value["files"]), value["pids"]
        return cls(**{**value, "files": files, "shell": Held(**value["shell"]), "pids": (pids[0], pids[1])})
