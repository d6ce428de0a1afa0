"""The real `envhub serve`, as a process of its own, with everything it started under watch."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from ..hubs import END_S


class Command:
    """One `envhub serve` in a process group of its own, as a terminal gives it one."""

    def __init__(self, processes: Any, log: Path, *arguments: str, **environ: str) -> None:
        self._processes = processes
        self._log = log
        with log.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "envhub", "serve", *arguments],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                start_new_session=True,
                env={**os.environ, **environ},
            )
        self.pid = self.process.pid

    @property
    def errors(self) -> str:
        """What it wrote to standard error."""
        return self._log.read_text()

    def ready(self) -> dict[str, Any]:
        """Wait for the line that `--json` prints when it serves."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, f"it ended before it was ready: {self.errors}"
        said: dict[str, Any] = json.loads(line)
        return said

    def tree(self) -> set[int]:
        """The processes it started, and theirs."""
        found: set[int] = self._processes.descendants(self.pid)
        return found

    def interrupt(self) -> None:
        """What Ctrl-C does: the signal goes to the whole process group."""
        os.killpg(self.pid, signal.SIGINT)

    def end(self) -> int:
        """Its exit status, once it has ended by itself."""
        return self.process.wait(END_S)


Serve = Callable[..., Command]


@pytest.fixture
def serve(processes: Any, tmp_path: Path, wait_until: Any) -> Iterator[Serve]:
    """Run the command; at the end of the test nothing of it may be left."""
    running: list[Command] = []

    def start(*arguments: str, **environ: str) -> Command:
        log = tmp_path / f"errors-{len(running)}"
        running.append(Command(processes, log, *arguments, **environ))
        return running[-1]

    yield start
    for command in running:
        left = command.tree() | {command.pid}
        try:
            if command.process.poll() is None:
                command.interrupt()
                command.end()
            assert command.process.stdout is not None
            command.process.stdout.close()
            wait_until(lambda left=left: not any(map(processes.alive, left)))
        finally:
            for pid in filter(processes.alive, left):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


@pytest.fixture
def http() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=20) as client:
        yield client
