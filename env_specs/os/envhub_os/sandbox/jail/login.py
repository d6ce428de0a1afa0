"""The login shell, from the side that starts it: its terminal, and what runs in front there."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import struct
import termios
from typing import Any

from . import child, messages

ROWS, COLUMNS = 24, 80
PROBES = 8
"""Processes that a shell needs at once while it starts; bash waits 15 s for one that it can't have."""
_READ = {"x86_64": "0", "aarch64": "63"}


class Login:
    """A login shell, or the place of one.

    Args:
        control: The worker's socket, which the terminal is sent to.
        settings: What the worker ordered.
        jailer: Confines the shell.
        confined: Whether this is in a sandbox.

    Attributes:
        pid: Its process, -1 where it is gone.
    """

    def __init__(
        self, control: socket.socket, settings: dict[str, Any], jailer: child.Jailer, confined: bool
    ) -> None:
        self.pid = -1
        self._control = control
        self._settings = settings
        self._jailer = jailer
        self._read = _READ.get(os.uname().machine, "")
        self._master = self._terminal = -1
        self._terminals = os.open("/dev/pts", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._multiplexer = "ptmx" if confined else "/dev/ptmx"  # what is in /dev the agent may change

    def start(self, order: dict[str, Any], files: list[int]) -> None:
        """Starts the login shell on a new terminal and sends the worker the terminal's other end.

        `order` may have variables for it, and the terminal's size.
        """
        if self._master >= 0:
            os.close(self._master)
            self._make_room()
        self._master = os.open(self._multiplexer, os.O_RDWR | os.O_NOCTTY, dir_fd=self._terminals)
        fcntl.ioctl(self._master, 0x40045431, struct.pack("i", 0))  # TIOCSPTLCK: unlock
        self._terminal = struct.unpack("I", fcntl.ioctl(self._master, 0x80045430, b"\0" * 4))[0]  # TIOCGPTN
        slave = os.open(str(self._terminal), os.O_RDWR | os.O_NOCTTY, dir_fd=self._terminals)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", *order.get("size", (ROWS, COLUMNS, 0, 0))))
        self.pid = self._fork_in_any_case()
        if self.pid == 0:
            argv = ["bash", "--login", "--noediting", "-i"]
            env, cwd = {**self._settings["env"], **order.get("env", {})}, self._settings["cwd"]
            self._jailer.run(argv, env, cwd, "root", (slave, slave, slave), child.AGENT, terminal=True)
        os.close(slave)
        messages.send(self._control, {"event": "shell"}, [self._master])

    def _make_room(self) -> None:
        """Kills all of the agent's where it has left too few processes for a shell to start with."""
        probes: list[int] = []
        for _ in range(PROBES):
            pid = self._fork_in_any_case()
            if pid == 0:
                os._exit(0)
            probes.append(pid)
        for pid in probes:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)  # the agent may have stopped it
                os.waitpid(pid, 0)

    def _fork_in_any_case(self) -> int:
        """Forks; where the agent has used up all processes or memory, once all of its are killed."""
        while True:
            try:
                return os.fork()
            except OSError:
                os.kill(-1, signal.SIGKILL)
                with contextlib.suppress(ChildProcessError):
                    while True:
                        os.waitpid(-1, 0)

    def strike(self, order: dict[str, Any], files: list[int]) -> None:
        """Kills what runs in front on the terminal; the shell itself only when told so."""
        group = self.front()
        if order["shell"]:
            group = self.pid
        if group > 1 and (order["shell"] or group != self.pid):
            with contextlib.suppress(OSError):
                os.killpg(group, signal.SIGKILL)

    def front(self) -> int:
        """The process group in front on the terminal."""
        try:
            return int(struct.unpack("i", fcntl.ioctl(self._master, termios.TIOCGPGRP, b"\0" * 4))[0])
        except OSError:
            return -1

    def tell_idle(self, order: dict[str, Any], files: list[int]) -> None:
        """Says whether what runs in front waits for input from the terminal, with none left to read."""
        idle, front = self._waits_for_input(), self.front() == self.pid
        messages.send(self._control, {"event": "idle", "idle": idle, "front": front})

    def _waits_for_input(self) -> bool:
        group = self.front()
        if self._typed_ahead():
            return False
        for name in os.listdir("/proc"):
            with contextlib.suppress(OSError, ValueError, IndexError):
                pid = int(name)
                if pid == 1 or os.getpgid(pid) != group:
                    continue
                with open(f"/proc/{pid}/syscall") as file:
                    words = file.read().split()
                if words[0] == self._read and os.readlink(f"/proc/{pid}/fd/{int(words[1], 16)}").startswith(
                    ("/dev/pts/", "/dev/tty")
                ):
                    return True
        return False

    def _typed_ahead(self) -> bool:
        """Whether input lies on the terminal that nobody has read."""
        with contextlib.suppress(OSError):
            slave = os.open(str(self._terminal), os.O_RDWR | os.O_NOCTTY, dir_fd=self._terminals)
            try:
                return bool(struct.unpack("i", fcntl.ioctl(slave, termios.FIONREAD, b"\0" * 4))[0])
            finally:
                os.close(slave)
        return False
