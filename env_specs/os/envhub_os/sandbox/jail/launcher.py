"""The process that makes a worker's sandboxes: a fresh interpreter that knows nothing of the worker's.

Sandboxes are forked from it, not from the worker, so that no memory of the worker's (tasks and their answers,
the hub's variables) is ever in one, and a fork is small. It takes one order at a time: `{"start": settings}`
with the sandbox's end of a socket pair, answered by `{"started": id}` or `{"refused": why}`, and
`{"close": id}`, answered when nothing of that sandbox is left. When the worker is gone, it ends them all.

A sandbox takes two forks. The first child joins the control group and unshares; its own child is the first
process of the pid namespace, is handed to this process (a subreaper), and asks to die with it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import struct
import warnings  # noqa: F401  os.execvpe imports it, and inside a sandbox nothing can be imported
from typing import Any, NoReturn

from . import init, kernel, limits, messages, mounts, namespaces, seccomp


class Launcher:
    """Makes and ends sandboxes.

    Args:
        control: The worker's socket.
    """

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._source = namespaces.id_source()
        self._groups = limits.Groups()
        self._secrets: list[str] | None = None
        self._sandboxes: dict[int, list[str]] = {}  # pid of the first process: folders of control groups
        self._unconfined: set[int] = set()
        self._made = 0

    def run(self) -> NoReturn:
        """Serves the worker until it is gone, then ends every sandbox."""
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        try:
            self._groups.prepare()
            while True:
                order, files = messages.receive(self._control)
                if order is None:
                    break
                self._reap()
                messages.send(self._control, self._obey(order, files))
        finally:
            for pid in list(self._sandboxes):
                self._close(pid)
            self._groups.close()
            os._exit(0)

    def _obey(self, order: dict[str, Any], files: list[int]) -> dict[str, Any]:
        if "start" in order:
            try:
                return {"started": self._start(order["start"], socket.socket(fileno=files[0]))}
            except OSError as error:
                return {"refused": str(error)}
        if "close" in order:
            self._close(order["close"])
            return {"closed": order["close"]}
        return {
            "ids": self._source,
            "groups": self._groups.version,
            "controllers": list(self._groups.controllers),
            "filter": seccomp.supported(),
        }

    def _close(self, pid: int) -> None:
        folders = self._sandboxes.pop(pid, None)
        if folders is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM if pid in self._unconfined else signal.SIGKILL)
        self._unconfined.discard(pid)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)  # returns when the whole pid namespace is gone
        limits.remove(folders)

    def _reap(self) -> None:
        """Forgets sandboxes that ended by themselves."""
        for pid in list(self._sandboxes):
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(pid, os.WNOHANG)[0]:
                    limits.remove(self._sandboxes.pop(pid))

    # -- making one -------------------------------------------------------------------------------------

    def _start(self, settings: dict[str, Any], box: socket.socket) -> int:
        if settings["backend"] == "none":
            return self._start_unconfined(settings, box)
        if settings["rootfs"] is None and self._secrets is None:
            self._secrets = mounts.host_secrets()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with box, ours, theirs:
            child = os.fork()
            if child == 0:
                ours.close()
                self._first_child(theirs, box, settings)
            theirs.close()
            self._made += 1
            folders: list[str] = []
            try:
                folders = self._groups.make(self._made, settings, child)
                _tell(ours, {})
                _hear(ours)  # it has unshared
                namespaces.map_ids(child, self._source)
                trees = self._trees(child, settings["rootfs"])
                places = [place for _, place in trees]
                files = [tree for tree, _ in trees]
                _tell(ours, {"places": places}, files)
                for file in files:
                    os.close(file)
                pid = int(_hear(ours)["pid"])
            except BaseException:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
                limits.remove(folders)
                raise
            os.waitpid(child, 0)
            self._sandboxes[pid] = folders
            _tell(ours, {})
            return pid

    def _start_unconfined(self, settings: dict[str, Any], box: socket.socket) -> int:
        """No sandbox at all: the same shell and helpers on the machine itself."""
        pid = os.fork()
        if pid == 0:
            self._control.close()
            kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGTERM)
            init.start(box, settings, None)
        box.close()
        self._sandboxes[pid] = []
        self._unconfined.add(pid)
        return pid

    def _trees(self, child: int, rootfs: str | None) -> list[tuple[int, str]]:
        """Opened here where this is root, since only root may shift owners; else inside."""
        if self._source != "root":
            return []
        owner = os.stat(rootfs or "/").st_uid
        if owner:
            raise OSError(0, f"{rootfs} belongs to user {owner}: a hub that runs as root needs one of root's")
        namespace = os.open(f"/proc/{child}/ns/user", os.O_RDONLY)
        try:
            return mounts.open_trees(rootfs, namespace)
        finally:
            os.close(namespace)

    def _first_child(self, setup: socket.socket, box: socket.socket, settings: dict[str, Any]) -> NoReturn:
        try:
            self._control.close()
            _hear(setup)  # it is in its control group
            with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
                file.write("-900")
            limits.set_rlimits(settings, self._groups.controllers)
            if settings["rootfs"] and self._source != "root":
                os.chdir(settings["rootfs"])  # the namespaces' root may not enter this user's
            kernel.unshare(namespaces.NAMESPACES)
            _tell(setup, {})
            order, files = _hear_files(setup)
            namespaces.become_root(self._source)
            trees = list(zip(files, order["places"]))
            pid = os.fork()
            if pid == 0:
                self._first_process(setup, box, settings, trees)
            _tell(setup, {"pid": pid})
        except BaseException as error:
            _tell(setup, {"error": str(error)})
        os._exit(0)

    def _first_process(
        self, setup: socket.socket, box: socket.socket, settings: dict[str, Any], trees: list[tuple[int, str]]
    ) -> NoReturn:
        try:
            _hear(setup)  # the launcher is the parent now
            kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
            setup.close()
            socket.sethostname(settings["hostname"])
            _loopback_up()
            signal.signal(
                signal.SIGTERM, signal.SIG_DFL
            )  # which the first process of a pid namespace never gets
            shifted = bool(trees)
            trees = trees or mounts.open_trees("." if settings["rootfs"] else None, None)
            base = mounts.build(trees, shifted, self._secrets or [], settings)
            init.start(box, settings, base)
        except BaseException as error:
            with contextlib.suppress(OSError):
                messages.send(box, {"event": "broken", "why": f"{type(error).__name__}: {error}"})
        os._exit(1)


def _tell(to: socket.socket, message: dict[str, Any], files: list[int] | None = None) -> None:
    with contextlib.suppress(BrokenPipeError):
        messages.send(to, message, files or [])


def _hear_files(of: socket.socket) -> tuple[dict[str, Any], list[int]]:
    answer, files = messages.receive(of)
    if answer is None:
        raise OSError(0, "the process that makes the sandbox ended early")
    if "error" in answer:
        raise OSError(0, answer["error"])
    return answer, files


def _hear(of: socket.socket) -> dict[str, Any]:
    return _hear_files(of)[0]


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(
            any_socket, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40)
        )  # SIOCSIFFLAGS: up, running


def main(control_fd: int) -> NoReturn:
    """Runs the launcher on its end of the worker's socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C in the terminal is the hub's to handle
    control = socket.socket(fileno=control_fd)

    def leave(signum: int, frame: object) -> None:
        with contextlib.suppress(OSError):
            control.shutdown(socket.SHUT_RDWR)  # as if the worker were gone

    signal.signal(signal.SIGTERM, leave)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGTERM)
    os.chdir("/")
    Launcher(control).run()
