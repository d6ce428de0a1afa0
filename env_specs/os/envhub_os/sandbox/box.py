"""The sandbox as the environment holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Optional

from .settings import Completed, Result, Settings


class Sandbox:
    """One sandbox; made by `start`."""

    @classmethod
    def start(cls, settings: Settings) -> Sandbox:
        """Makes a sandbox and its login shell.

        Raises:
            Refused: None can be made safely here.
        """
        raise NotImplementedError

    def run(self, command: str, *, timeout_s: float, limit_bytes: int) -> Result:
        """Types a script into the login shell and waits for its end."""
        raise NotImplementedError

    def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout_s: float = 30.0,
        env: Optional[Mapping[str, str]] = None,
        user: str = "root",
        limit_bytes: int = 1 << 20,
    ) -> Completed:
        """Runs a fresh process beside the shell, in `settings.cwd`; no `argv[0]` inside: exit code 127."""
        raise NotImplementedError

    def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Writes a file inside, its folders included."""
        raise NotImplementedError

    def read(self, path: str, *, limit_bytes: int = 1 << 20) -> bytes:
        """Reads a regular file inside, at most so many bytes; OSError as `open` raises it."""
        raise NotImplementedError

    def close(self) -> None:
        """Ends it; nothing of it runs or is mounted when this returns. A second call does nothing."""

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()
