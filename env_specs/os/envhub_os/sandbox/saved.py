"""All there is of a sandbox at rest, to make it again."""

from __future__ import annotations

import base64
import os
import socket
import zlib
from dataclasses import asdict, dataclass
from typing import Any

from .bash import Held
from .jail import messages
from .shell import Shell


@dataclass(frozen=True)
class Saved:
    """What `Sandbox.save` returns.

    Attributes:
        files: What was written in it, as `jail.packing` does it, compressed.
        shell: What its shell holds.
        mode: How its terminal is set, without a size.
        size: Of its terminal: rows, columns, and both in pixels.
        token: What the marks of its shell have in common.
        scripts: How many scripts were typed.
        pids: The process ids of the shell and of the process started last; 0 where that can't be known.
    """

    files: bytes
    shell: Held
    mode: list[Any]
    size: list[int]
    token: str
    scripts: int
    pids: tuple[int, int]

    @classmethod
    def of(cls, files: bytes, held: Held, shell: Shell, pids: tuple[int, int]) -> Saved:
        """Puts together what was taken."""
        packed = zlib.compress(files, 1)
        return cls(packed, held, shell.mode(), shell.size(), shell.token, shell.scripts, pids)

    def told(self) -> dict[str, Any]:
        """What the first process of another sandbox must know besides."""
        return {"shell": self.pids[0], "last": self.pids[1], "size": self.size}

    def send(self, control: socket.socket) -> None:
        """Sends it to what will be the first process of another sandbox, as a file without a name."""
        with open(os.memfd_create("saved"), "w+b") as file:
            file.write(zlib.decompress(self.files))
            file.write(self.shell.script())
            file.seek(0)
            messages.send(control, {}, [file.fileno()])

    def to_json(self) -> dict[str, Any]:
        """As a JSON value."""
        return {**asdict(self), "files": base64.b64encode(self.files).decode()}

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Saved:
        """From what `to_json` has returned."""
        files, pids = base64.b64decode(value["files"]), value["pids"]
        return cls(**{**value, "files": files, "shell": Held(**value["shell"]), "pids": (pids[0], pids[1])})
