"""The machine itself: interpreter, open files, port, and what sandboxes are made of."""

from __future__ import annotations

import platform
import resource
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from envhub.build import BuildError, host_platform
from envhub.doctor._finding import Finding

ENOUGH_FILES = 4096
"""Open files: a connection each, and a few for every worker."""
_NAMESPACES = ("--user", "--map-root-user", "--mount", "--pid", "--fork", "--net", "--ipc", "--uts")


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
    """What the sandbox of an environment that runs an agent's commands can be made of."""
    yield _namespaces()
    yield _cgroups()
    yield _overlay()
    actions = Path("/proc/sys/kernel/seccomp/actions_avail")
    yield _ability(
        "seccomp", actions.is_file(), "the kernel filters system calls", "the kernel has no filters"
    )
    found = [f"{name} ({path})" for name in ("bwrap", "runsc") if (path := shutil.which(name))]
    words = ", ".join(found) or "neither bwrap nor runsc is installed; namespaces of our own do without"
    yield Finding("sandbox", "programs", "ok" if found else "note", words)


def _namespaces() -> Finding:
    unshare = shutil.which("unshare")
    if unshare is None:
        words = "unshare is not installed, so it cannot be told"
        return Finding("sandbox", "namespaces", "note", words, "apt-get install util-linux")
    try:
        done = subprocess.run([unshare, *_NAMESPACES, "true"], capture_output=True, text=True, timeout=20)
        complaint = done.stderr.strip() if done.returncode else ""
    except (OSError, subprocess.TimeoutExpired) as reason:
        complaint = str(reason)
    if not complaint:
        return Finding(
            "sandbox", "namespaces", "ok", "user, mount, pid, net, ipc and uts namespaces can be made"
        )
    mend = "sysctl -w kernel.unprivileged_userns_clone=1 (and user.max_user_namespaces above 0)"
    return Finding("sandbox", "namespaces", "warning", f"cannot be made: {complaint}", mend)


def _cgroups() -> Finding:
    root = Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").is_file():
        return Finding("sandbox", "cgroups", "ok", "version 2")
    words = "version 1: limits are set there" if (root / "memory").is_dir() else "none: rlimits stand in"
    return Finding("sandbox", "cgroups", "note", words)


def _overlay() -> Finding:
    try:
        known = "overlay" in Path("/proc/filesystems").read_text(encoding="ascii").split()
    except OSError:
        known = False
    return _ability("overlay", known, "the kernel has overlay file systems", "the kernel has no overlay yet")


def _ability(about: str, there: bool, yes: str, no: str) -> Finding:
    if there:
        return Finding("sandbox", about, "ok", yes)
    return Finding("sandbox", about, "note", no, "modprobe overlay" if about == "overlay" else None)
