"""Real hubs, each in a process of its own, for the tests of whatever talks to one."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

END_S = 60.0
"""How long a process may take to end that was told to; a test that waits this long has failed."""

SERVE = (sys.executable, "-m", "envhub", "serve", "--json")


def end(process: subprocess.Popen[Any], number: int = signal.SIGTERM) -> int:
    """Tell a process to end and return its status; one that does not obey is killed, and fails the test."""
    try:
        process.send_signal(number)
        return process.wait(END_S)
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


@contextlib.contextmanager
def serving(*arguments: str) -> Iterator[str]:
    """Run the real command on a free port while the context lasts; gives its URL."""
    command = [*SERVE, *arguments, "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())["url"]
    finally:
        end(process)


class Mortal:
    """A real hub that can be killed and started again at its address."""

    def __init__(self, *arguments: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self._port}"
        self.arguments = arguments
        self.start()
        self.wait()

    def start(self) -> None:
        """Start it, with its arguments, and do not wait for it."""
        command = [*SERVE, *self.arguments, "--port", str(self._port)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)

    def wait(self) -> None:
        """Wait until it is ready."""
        assert self._process.stdout is not None
        assert json.loads(self._process.stdout.readline())["url"] == self.url

    @property
    def pid(self) -> int:
        return self._process.pid

    def kill(self) -> None:
        end(self._process, signal.SIGKILL)

    def restart(self) -> None:
        self.kill()
        self.start()
