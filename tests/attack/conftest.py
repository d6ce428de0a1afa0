"""A real `envhub serve` to attack: a process whose memory, descriptors and log can be looked at."""

import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import ClientConnection, connect

from ..hubs import end


class HubProcess:
    """One hub, listening on a port of its own choice."""

    def __init__(self, log: Path, *arguments: str) -> None:
        self._log = log
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "envhub", "serve", "--port", "0", "--json", *arguments],
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        self.pid = self._process.pid
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"it ended before it was ready: {self.log}"
        self.url: str = json.loads(line)["url"]
        host, port = self.url.removeprefix("http://").split(":")
        self.address = (host, int(port))
        self.idle_descriptors = self.descriptors()

    @property
    def log(self) -> str:
        """What it wrote to standard error."""
        return self._log.read_text()

    def client(self, **options: Any) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=20, **options)

    def stream(self, **options: Any) -> ClientConnection:
        where = f"ws://{self.address[0]}:{self.address[1]}/v1/stream"
        return connect(where, compression=None, legacy=True, **options)

    def raw(self) -> socket.socket:
        """A plain connection to write half-truths into."""
        return socket.create_connection(self.address, timeout=20)

    def descriptors(self) -> int:
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def resident(self) -> int:
        """Bytes of memory it holds."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * resource.getpagesize()

    def stop(self) -> None:
        """Ends it and finds that it had lived until then."""
        lived = self._process.poll() is None
        status = end(self._process)
        assert lived, f"the hub had ended with status {status}: {self.log}"
        assert status == 0


@pytest.fixture(scope="module")
def start_hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., HubProcess]]:
    """Start hubs for a module's tests; whatever is done to one, it must be there to be told to stop."""
    folder = tmp_path_factory.mktemp("hubs")
    running: list[HubProcess] = []

    def start(*arguments: str) -> HubProcess:
        running.append(HubProcess(folder / f"{len(running)}.log", *arguments))
        return running[-1]

    yield start
    for hub in running:
        hub.stop()


@pytest.fixture(scope="module")
def hub(start_hub: Callable[..., HubProcess]) -> Iterator[HubProcess]:
    """A hub of echo and frozenlake for a module's tests; its log may tell of no defect."""
    envs = ("--env", "echo=8", "--env", "frozenlake=8", "--workers", "1")
    one = start_hub(*envs, "--max-body-bytes", "200000", "--log-format", "json")
    yield one
    assert "a defect" not in one.log
    assert "internal_error" not in one.log
