"""The process that makes a worker's sandboxes: a fresh interpreter that knows nothing of the worker's.

Sandboxes are forked from it, not from the worker, so that no memory of the worker's (tasks and their answers,
the hub's variables) is ever in one, and a fork is small. It takes one order at a time: `{"start": settings}`
with the sandbox's end of a socket pair, answered by `{"started": id}` or `{"refused": why}`, and
`{"close": id}`, answered when nothing of that sandbox is left. When the worker is gone, it ends them all.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
from typing import Any, Callable, NoReturn

from . import bubblewrap, first, host, kernel, limits, messages, namespaces, own, seccomp, unconfined
from .making import Held, Order

BACKENDS: dict[str, Callable[[Order], Held]] = {
    "namespaces": own.start,
    "bwrap": bubblewrap.start,
    "none": unconfined.start,
}


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
        self._sandboxes: dict[int, Held] = {}  # by the pid of the first process
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
                return {"refused": error.strerror or str(error)}
        if "close" in order:
            self._close(order["close"])
            return {"closed": order["close"]}
        return {
            "ids": self._source,
            "groups": self._groups.version,
            "controllers": list(self._groups.controllers),
            "filter": seccomp.supported(),
        }

    def _start(self, settings: dict[str, Any], box: socket.socket) -> int:
        if settings["rootfs"] is None and self._secrets is None:
            self._secrets = host.secrets()
        self._made += 1
        with box:
            held = BACKENDS[settings["backend"]](
                Order(
                    number=self._made,
                    settings=settings,
                    box=box,
                    control=self._control,
                    groups=self._groups,
                    source=self._source,
                    secrets=self._secrets or [],
                )
            )
        self._sandboxes[held.pids[0]] = held
        return held.pids[0]

    def _close(self, pid: int) -> None:
        held = self._sandboxes.pop(pid, None)
        if held is not None:
            held.close()

    def _reap(self) -> None:
        """Forgets sandboxes that ended by themselves."""
        for pid, held in list(self._sandboxes.items()):
            if held.ended():
                self._close(pid)


def main(control_fd: int) -> NoReturn:
    """Runs the launcher on its end of the worker's socket."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C in the terminal is the hub's to handle
    first.close_files({0, 1, 2, control_fd})  # of the hub's, or of who started that
    control = socket.socket(fileno=control_fd)

    def leave(signum: int, frame: object) -> None:
        with contextlib.suppress(OSError):
            control.shutdown(socket.SHUT_RDWR)  # as if the worker were gone

    signal.signal(signal.SIGTERM, leave)
    kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGTERM)
    os.chdir("/")
    gc.freeze()  # what is loaded stays, and forks that collected it would copy all of its memory
    Launcher(control).run()
