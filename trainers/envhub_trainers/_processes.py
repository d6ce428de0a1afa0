"""The processes of a run, and their end: whatever was started, and whatever that started, is gone afterwards.

Ray and vLLM start processes that start processes, and a parent that is killed leaves its children to init. A
`Family` has them left to this process instead, so that they can be found and ended. Linux only, as is vLLM.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

__all__ = ["Family"]

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # <linux/prctl.h>

_libc = ctypes.CDLL(None, use_errno=True)


class Family:
    """Everything that is started with it, directly and indirectly. Leaving the context ends them all.

    One at a time in a process, used in its main thread.

    Args:
        patience_s: For how long each is given to end by itself, before it is killed.
    """

    def __init__(self, patience_s: float = 20.0) -> None:
        self._patience_s = patience_s
        self._children: list[subprocess.Popen[str]] = []

    def __enter__(self) -> Family:
        self._before = _descendants()
        _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        return self

    def start(
        self,
        command: Sequence[str],
        environment: Mapping[str, str] | None = None,
        *,
        stdout: int | IO[str] = subprocess.PIPE,
        stderr: int | IO[str] = subprocess.STDOUT,
    ) -> subprocess.Popen[str]:
        """Start a program in a process group of its own: a Ctrl-C in the terminal does not reach it."""
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            text=True,
            errors="replace",
            env={**os.environ, **(environment or {})},
            start_new_session=True,
            preexec_fn=_end_with_parent,
        )
        self._children.append(child)
        return child

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with _deaf_to_interrupts():
            for child in reversed(self._children):
                _ask_to_end(child, self._patience_s)
                if child.stdout is not None:
                    child.stdout.close()
            for number in (signal.SIGTERM, signal.SIGKILL):
                self._end_the_rest(number)
            _libc.prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)

    def _end_the_rest(self, number: signal.Signals) -> None:
        deadline = time.monotonic() + self._patience_s / 4
        while left := _descendants() - self._before:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            for pid in left:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            if time.monotonic() > deadline:
                return
            time.sleep(0.05)


def _end_with_parent() -> None:
    """In a new child: be ended when the parent is killed."""
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)


@contextlib.contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """A second Ctrl-C, of the impatient, must not leave half of it running."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _ask_to_end(child: subprocess.Popen[str], patience_s: float) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
        if child.poll() is not None:
            return
        child.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(patience_s if number == signal.SIGINT else patience_s / 4)


def _descendants() -> set[int]:
    """The children of this process, their children, and so on; also the dead that nobody has asked after."""
    parents: dict[int, int] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            parents[int(name)] = int(Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[1])
    found: set[int] = set()
    level = {os.getpid()}
    while level:
        level = {child for child, parent in parents.items() if parent in level}
        found |= level
    return found
