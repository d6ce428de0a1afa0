"""The first process inside a sandbox: starts the shell and helpers, reaps, and ends everything with itself.

It answers one socket, the worker's. When that closes, or the launcher dies, it ends, and with it its pid
namespace. It keeps all capabilities of its user namespace and can't be dumped, so that nothing inside may
look into it; a process inside can't signal it, since it handles no signal but SIGCHLD. After the root is
left it imports nothing: what lies on the module path inside is the agent's.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
from typing import Any, Callable, NoReturn

from . import child, kernel, messages, mounts, rest
from .helpers import Helpers
from .login import Login

REAPED_AT_ONCE = 64


class Init:
    """The loop of the first process."""

    def __init__(
        self,
        control: socket.socket,
        settings: dict[str, Any],
        kept: mounts.Kept | None,
        saved: int | None,
    ) -> None:
        self._control = control
        self._settings = settings
        self._saved = saved
        self._confined = kept is not None
        jailer = child.Jailer(self._confined)
        self._rest = rest.Rest(kept)
        self._login = Login(control, settings, jailer, self._confined)
        self._helpers = Helpers(control, settings, jailer, kept.base if kept else None, self._rest)
        self._wake, self._wake_up = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda signum, frame: None)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if not self._confined:
            signal.signal(signal.SIGTERM, lambda signum, frame: self._end())
        signal.set_wakeup_fd(self._wake_up, warn_on_full_buffer=False)
        self._operations: dict[str, Callable[[dict[str, Any], list[int]], None]] = {
            "exec": self._helpers.exec,
            "look": self._helpers.look,
            "seal": self._helpers.seal,
            "read": self._helpers.copy,
            "write": self._helpers.copy,
            "save": self._helpers.copy,
            "rest": self._tell_rest,
            "resumed": self._resumed,
            "number": self._number,
            "kill": self._helpers.kill,
            "release": self._helpers.release,
            "shell": self._login.start,
            "strike": self._login.strike,
            "idle": self._login.tell_idle,
        }

    def run(self) -> NoReturn:
        """Serves until the worker is gone."""
        os.makedirs(self._settings["cwd"], exist_ok=True)
        for path, text in self._settings["files"].items():
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(text)
        sys.path.clear()
        sys.meta_path.clear()
        null = os.open("/dev/null", os.O_RDWR)
        for number in (0, 1, 2):
            os.dup2(null, number)
        if self._saved is None:
            self._hide()
            self._login.start({}, [])
        else:
            self._resume(self._saved)
        while True:
            poll = select.poll()
            for source in (self._control.fileno(), self._wake, *self._helpers.drains):
                poll.register(source, select.POLLIN)
            for source, _ in poll.poll():
                if source == self._wake:
                    with contextlib.suppress(BlockingIOError):
                        os.read(self._wake, 4096)
                elif source == self._control.fileno():
                    self._order()
                else:
                    self._helpers.drain(source)
            self._reap()

    def _hide(self) -> None:
        if self._confined:
            mounts.hide_own_process()

    def _order(self) -> None:
        order, files = messages.receive(self._control)
        if order is None:
            self._end()
        self._operations[order["do"]](order, files)

    def _end(self) -> NoReturn:
        """The worker is gone. The end of a first process ends its pid namespace; elsewhere each is killed."""
        while not self._confined and (children := _children()):
            for pid in children:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)
        os._exit(0)

    def _say(self, **event: Any) -> None:
        messages.send(self._control, event)

    def _tell_rest(self, order: dict[str, Any], files: list[int]) -> None:
        """Says what speaks against taking all there is to know of the sandbox, and its process ids."""
        why = self._rest.objection(self._login.pid, self._login.front())
        self._say(event="rest", why=why, shell=self._login.pid, last=self._rest.last_pid)

    def _number(self, order: dict[str, Any], files: list[int]) -> None:
        """Says after which id the next process gets its own."""
        self._rest.last_pid = order["after"]
        self._say(event="numbered")

    def _resume(self, saved: int) -> None:
        """Starts a login shell that becomes another one before it shows a prompt."""
        told = self._settings["saved"]
        self._rest.cover(saved)
        self._rest.last_pid = told["shell"] - 1
        self._login.start({"env": rest.ENVIRONMENT, "size": told["size"]}, [])

    def _resumed(self, order: dict[str, Any], files: list[int]) -> None:
        """The shell is what the other one was."""
        self._rest.uncover()
        self._hide()
        self._rest.last_pid = self._settings["saved"]["last"]
        self._say(event="resumed")

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            for _ in range(REAPED_AT_ONCE):
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                code = os.waitstatus_to_exitcode(status)
                if pid == self._login.pid:
                    self._login.pid = -1
                    self._say(event="exited", code=code)
                self._helpers.ended(pid, code)
            os.write(self._wake_up, b"1")  # there may be more, but orders come in between


def _children() -> list[int]:
    """The processes whose parent this one is."""
    found = []
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            with open(f"/proc/{int(name)}/stat") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == os.getpid():
                    found.append(int(name))
    return found


def start(
    control: socket.socket,
    settings: dict[str, Any],
    kept: mounts.Kept | None = None,
    saved: int | None = None,
) -> NoReturn:
    """Becomes the first process's loop; the root has been entered.

    Args:
        control: The end of the worker's socket that it serves.
        settings: What the worker ordered.
        kept: What only the first process of a sandbox has; None where there is none around it.
        saved: What is left of the file with a saved sandbox: what its shell is to read.
    """
    kernel.rename("init")
    if kept is not None:
        kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    Init(control, settings, kept, saved).run()
