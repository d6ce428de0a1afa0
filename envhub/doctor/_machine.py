"""The machine itself: interpreter, open files, port, and what a sandbox would be."""

from __future__ import annotations

import json
import os
import platform
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator

from envhub.build import BuildError, host_platform
from envhub.doctor._finding import Finding
from envhub.spec import find

ENOUGH_FILES = 4096
"""Open files: a connection each, and a few for every worker."""
TRIAL_S = 60.0
"""How long a trial sandbox may take on a machine that is busy."""


def look_at_interpreter() -> Finding:
    """The hub's own interpreter, and whether environments can be built for this platform at all."""
    words = f"Python {platform.python_version()} ({sys.executable})"
    try:
        return Finding("interpreter", "", "ok", f"{words} on {host_platform()}")
    except BuildError as reason:
        return Finding("interpreter", "", "warning", f"{words}; {reason}", "serve with --isolation host")


def look_at_open_files() -> Finding:
    """How many files, and so connections, a process may have open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < ENOUGH_FILES:
        more = min(hard, 65536) if hard != resource.RLIM_INFINITY else 65536
        words = f"a process may have {soft} open: too few for thousands of clients"
        return Finding("open files", "", "warning", words, f"ulimit -n {more}")
    return Finding("open files", "", "ok", "no limit" if soft == resource.RLIM_INFINITY else f"up to {soft}")


def look_at_port(host: str, port: int) -> Finding:
    """Whether the hub could listen where it does unless told otherwise."""
    about = f"{host}:{port}"
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as a server does
        try:
            one.bind((host, port))
        except OSError as reason:
            words = f"cannot be listened on: {reason.strerror}"
            return Finding("port", about, "warning", words, "envhub serve --port 0")
    return Finding("port", about, "ok", "free")


def look_at_sandbox() -> Iterator[Finding]:
    """Whether the environment os, which runs what agents type, can make a sandbox, and what holds it."""
    variables = {**os.environ, "PYTHONPATH": str(find("os").path)}
    command = [sys.executable, "-m", "envhub_os.sandbox"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TRIAL_S, env=variables)
        found = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as reason:
        found = {"problem": f"the trial failed: {reason}", "lines": []}
    if found["problem"]:
        mend = "run the hub where that is allowed; other environments do without"
        yield Finding("sandbox", "os", "warning", found["problem"], mend)
        return
    for line in found["lines"]:
        yield Finding("sandbox", "os", "ok", line)
