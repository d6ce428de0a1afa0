"""Helpers: processes beside the shell that run a program for a check, look, or copy, and end."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import signal
import socket
import stat
from typing import Any, Callable, NoReturn

from . import child, look, messages, packing, view
from .rest import Rest


class Helpers:
    """Starts helpers, and keeps what children of theirs need.

    Args:
        control: The worker's socket, which is told how they end.
        settings: What the worker ordered.
        jailer: Confines them.
        base: What checks run; None where there is no sandbox around this.
        rest: Saves what was written.

    Attributes:
        drains: Outputs of helpers that have ended.
    """

    def __init__(
        self,
        control: socket.socket,
        settings: dict[str, Any],
        jailer: child.Jailer,
        base: view.Base | None,
        rest: Rest,
    ) -> None:
        self.drains: set[int] = set()
        self._control = control
        self._cwd = settings["cwd"]
        self._jailer = jailer
        self._base = base
        self._rest = rest
        self._capabilities = child.HELPER_BESIDE_EQUALS if settings["backend"] == "bwrap" else child.HELPER
        self._numbers: dict[int, int] = {}  # pid: the worker's number for it
        self._outputs: dict[int, list[int]] = {}  # number: outputs to drain when it ends

    def exec(self, order: dict[str, Any], files: list[int]) -> None:
        """Starts a helper on the given files: stdin, stdout, stderr, and the read ends of the last two."""
        argv, env, user, cwd = order["argv"], order["env"], order["user"], self._cwd
        streams = self._streams(order, files)

        def work() -> None:
            if order["checks"] and self._base is not None:
                try:
                    self._base.enter()
                except OSError as error:
                    os.write(streams[2], f"{argv[0]}: no view of the machine: {error}\n".encode())
                    return
                env.update(view.ENVIRONMENT)
            if order["alone"]:
                resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
            self._jailer.run(argv, env, cwd, user, streams, self._capabilities)

        self._fork(order["id"], work)
        for file in streams:
            os.close(file)

    def look(self, order: dict[str, Any], files: list[int]) -> None:
        """Answers questions about the machine in a process that runs none of its programs."""
        base, streams = self._base, self._streams(order, files)

        def work() -> None:
            before = {path: base.read(path) for path in (look.PASSWD, look.GROUP)} if base else {}
            self._jailer.confine("root", self._capabilities)
            look.serve(streams[0], streams[1], before)
            os._exit(0)

        self._fork(order["id"], work)
        for file in streams:
            os.close(file)

    def seal(self, order: dict[str, Any], files: list[int]) -> None:
        """Counts what has been written so far to what checks run."""

        def work() -> None:
            if self._base is not None:
                self._base.seal()

        self._fork(order["id"], lambda: _end_with_errno(work))

    def copy(self, order: dict[str, Any], files: list[int]) -> None:
        """Reads a file into a pipe, or writes one from it, in a process whose exit code is an errno."""
        copy = {"read": _read_file, "write": _write_file, "save": self._rest.save}[order["do"]]
        last = self._rest.last_pid

        def work() -> None:
            self._jailer.confine("root", self._capabilities)
            copy(order, files[0])

        self._fork(order["id"], lambda: _end_with_errno(work))
        if order["do"] == "save":
            self._rest.last_pid = last
        os.close(files[0])

    def _streams(self, order: dict[str, Any], files: list[int]) -> tuple[int, int, int]:
        stdin, stdout, stderr, *outputs = files
        self._outputs[order["id"]] = outputs
        return stdin, stdout, stderr

    def _fork(self, number: int, work: Callable[[], None]) -> None:
        try:
            pid = os.fork()
        except OSError as error:  # no processes or no memory left
            messages.send(self._control, {"event": "failed", "id": number, "errno": error.errno})
            for output in self._outputs.pop(number, ()):
                os.close(output)
            return
        if pid == 0:
            try:
                work()
            finally:
                os._exit(126)
        self._numbers[pid] = number

    def kill(self, order: dict[str, Any], files: list[int]) -> None:
        """Kills a helper and its process group: its time is up."""
        for pid, number in self._numbers.items():
            if number == order["id"]:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(OSError):
                    os.killpg(pid, signal.SIGKILL)

    def ended(self, pid: int, code: int) -> None:
        """Tells the worker, where this was a helper."""
        number = self._numbers.pop(pid, None)
        if number is not None:
            messages.send(self._control, {"event": "ended", "id": number, "code": code})

    def release(self, order: dict[str, Any], files: list[int]) -> None:
        """The worker has read what a helper that has ended wrote."""
        for output in self._outputs.pop(order["id"], ()):
            os.set_blocking(output, False)
            self.drains.add(output)

    def drain(self, output: int) -> None:
        """Reads away what children of an ended helper still say, so that they live on."""
        try:
            if os.read(output, 1 << 16):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self.drains.discard(output)
        os.close(output)


def _end_with_errno(work: Callable[[], None]) -> NoReturn:
    """Does some work and ends this process; its exit code says how that went."""
    status = errno.EIO
    try:
        work()
        status = 0
    except OSError as error:
        status = error.errno or errno.EIO
    finally:
        os._exit(status)


def _read_file(order: dict[str, Any], pipe: int) -> None:
    file = os.open(order["path"], os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    mode = os.fstat(file).st_mode
    if not stat.S_ISREG(mode):
        raise OSError(errno.EISDIR if stat.S_ISDIR(mode) else errno.EINVAL, "not a regular file")
    left = order["limit"]
    while left > 0:
        chunk = os.read(file, min(left, 1 << 16))
        if not chunk:
            return
        left -= len(chunk)
        packing.write(pipe, chunk)


def _write_file(order: dict[str, Any], pipe: int) -> None:
    os.makedirs(os.path.dirname(order["path"]) or "/", exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_NOCTTY
    file = os.open(order["path"], flags, order["mode"])
    os.fchmod(file, order["mode"])
    while chunk := os.read(pipe, 1 << 16):
        packing.write(file, chunk)
