"""The servers that are compared, and which loads each of them gets."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from load.drive import Measurement
from load.processes import first_line, running

OPENENV = "openenv==0.10.0"
READY_S = 60.0
INSTALL_S = 600.0
BENCHMARKS = Path(__file__).resolve().parent.parent
LOAD = BENCHMARKS / "load"


@dataclass(frozen=True)
class Server:
    """A running contestant."""

    url: str
    pid: int


@dataclass(frozen=True)
class Load:
    """One protocol of one server.

    Attributes:
        protocol: A key of `load.clients.CONNECT`.
        label: What the table calls it.
        server: Which server it is for: hub, openenv or bare.
        steps: Environment steps a request.
        python: The interpreter that drives it.
    """

    protocol: str
    label: str
    server: str
    steps: int = 1
    python: str = sys.executable

    def measure(self, server: Server, clients: int, seconds: float) -> Measurement:
        """Drives the load in a process of its own.

        Raises:
            RuntimeError: A step failed.
        """
        command = [self.python, "-m", "load.drive", self.protocol, server.url]
        command += [str(clients), str(seconds), str(server.pid)]
        done = subprocess.run(
            command, cwd=BENCHMARKS, capture_output=True, text=True, timeout=seconds + READY_S, check=False
        )
        if done.returncode:
            raise RuntimeError(f"the load {self.protocol} on {server.url} failed:\n{done.stderr[-4000:]}")
        return Measurement(**json.loads(done.stdout))


def install_openenv(folder: Path) -> str:
    """Installs OpenEnv into a virtual environment of its own; returns its interpreter."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, timeout=INSTALL_S)
    python = str(folder / "bin" / "python")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", OPENENV]
    done = subprocess.run(install, capture_output=True, text=True, timeout=INSTALL_S, check=False)
    if done.returncode:
        raise RuntimeError(f"{OPENENV} can't be installed:\n{done.stderr[-4000:]}")
    return python


def versions(python: str, packages: Sequence[str]) -> dict[str, str]:
    """The versions of an interpreter and of those packages that it has."""
    script = (
        "import importlib.metadata as m, json, platform, sys\n"
        "found = {d.name.lower(): d.version for d in m.distributions()}\n"
        "print(json.dumps({'python': platform.python_version(), "
        "**{n: found[n] for n in sys.argv[1:] if n in found}}))"
    )
    done = subprocess.run([python, "-c", script, *packages], capture_output=True, text=True, check=True)
    found: dict[str, str] = json.loads(done.stdout)
    return found


@contextlib.contextmanager
def serve_hub(*arguments: str) -> Iterator[Server]:
    """The hub, by its real command."""
    command = [sys.executable, "-m", "envhub", "serve", *arguments, "--port", "0", "--json"]
    with running(command, BENCHMARKS) as process:
        yield Server(json.loads(first_line(process, READY_S))["url"], process.pid)


@contextlib.contextmanager
def serve_bare() -> Iterator[Server]:
    """The bare handler."""
    with running([sys.executable, "-m", "load.bare_app"], BENCHMARKS) as process:
        yield Server(first_line(process, READY_S).strip(), process.pid)


@contextlib.contextmanager
def serve_openenv(python: str) -> Iterator[Server]:
    """OpenEnv's echo, by plain uvicorn as its documentation says; its access log goes nowhere."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [python, "-m", "uvicorn", "openenv_app:app", "--host", "127.0.0.1", "--port", str(port)]
    with running(command, LOAD, speaks=False) as process:
        deadline = time.monotonic() + READY_S
        while not _answers(url + "/health"):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{' '.join(command)} in {LOAD} did not get ready")
            time.sleep(0.2)
        yield Server(url, process.pid)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False
