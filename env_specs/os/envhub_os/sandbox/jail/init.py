"""The first process inside a sandbox: starts the shell and helpers, reaps, and ends everything with itself.

It answers one socket, the worker's. When that closes, or the launcher dies, it ends, and with it its pid
namespace. It keeps all capabilities of its user namespace and can't be dumped, so that nothing inside may
look into it; a process inside can't signal it, since it handles no signal but SIGCHLD. After the root is
left it imports nothing: what lies on the module path inside is the agent's.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import resource
import select
import signal
import socket
import stat
import struct
import sys
import termios
from typing import Any, Callable, NoReturn

from . import child, kernel, look, messages, mounts, rest, view

ROWS, COLUMNS = 24, 80
REAPED_AT_ONCE = 64
PROBES = 8
"""Processes that a shell needs at once while it starts; bash waits 15 s for one that it can't have."""
_READ = {"x86_64": "0", "aarch64": "63"}


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
        self._base = None if kept is None else kept.base
        self._confined = kept is not None
        self._jailer = child.Jailer(self._confined)
        self._helper = child.HELPER_BESIDE_EQUALS if settings["backend"] == "bwrap" else child.HELPER
        self._rest = rest.Rest(kept)
        self._read = _READ.get(os.uname().machine, "")
        self._helpers: dict[int, int] = {}  # pid: the worker's number for it
        self._drains: set[int] = set()  # outputs of helpers that have ended
        self._outputs: dict[int, list[int]] = {}  # number: outputs to drain when it ends
        self._shell = self._master = self._terminal = -1
        self._terminals = os.open("/dev/pts", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._multiplexer = "ptmx" if self._confined else "/dev/ptmx"  # what is in /dev the agent may change
        self._wake, self._wake_up = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        signal.signal(signal.SIGCHLD, lambda signum, frame: None)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        if not self._confined:
            signal.signal(signal.SIGTERM, lambda signum, frame: self._end())
        signal.set_wakeup_fd(self._wake_up, warn_on_full_buffer=False)
        self._operations: dict[str, Callable[[dict[str, Any], list[int]], None]] = {
            "exec": self._exec,
            "look": self._look,
            "seal": self._seal,
            "read": self._copy,
            "write": self._copy,
            "save": self._copy,
            "rest": self._tell_rest,
            "resumed": self._resumed,
            "number": self._number,
            "kill": self._kill,
            "release": self._release,
            "shell": self._start_shell,
            "strike": self._strike,
            "idle": self._idle,
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
            self._start_shell({}, [])
        else:
            self._resume(self._saved)
        while True:
            poll = select.poll()
            for source in (self._control.fileno(), self._wake, *self._drains):
                poll.register(source, select.POLLIN)
            for source, _ in poll.poll():
                if source == self._wake:
                    with contextlib.suppress(BlockingIOError):
                        os.read(self._wake, 4096)
                elif source == self._control.fileno():
                    self._order()
                else:
                    self._drain(source)
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

    # -- the shell --------------------------------------------------------------------------------------

    def _start_shell(self, order: dict[str, Any], files: list[int]) -> None:
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
        self._shell = self._fork_in_any_case()
        if self._shell == 0:
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

    def _strike(self, order: dict[str, Any], files: list[int]) -> None:
        """Kills what runs in front on the terminal; the shell itself only when told so."""
        group = self._front()
        if order["shell"]:
            group = self._shell
        if group > 1 and (order["shell"] or group != self._shell):
            with contextlib.suppress(OSError):
                os.killpg(group, signal.SIGKILL)

    def _front(self) -> int:
        """The process group in front on the terminal."""
        try:
            return int(struct.unpack("i", fcntl.ioctl(self._master, termios.TIOCGPGRP, b"\0" * 4))[0])
        except OSError:
            return -1

    def _idle(self, order: dict[str, Any], files: list[int]) -> None:
        """Says whether what runs in front waits for input from the terminal, with none left to read."""
        self._say(event="idle", idle=self._waits_for_input(), front=self._front() == self._shell)

    def _waits_for_input(self) -> bool:
        group = self._front()
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

    # -- rest, and going on from it -----------------------------------------------------------------------

    def _tell_rest(self, order: dict[str, Any], files: list[int]) -> None:
        """Says what speaks against taking all there is to know of the sandbox, and its process ids."""
        why = self._rest.objection(self._shell, self._front())
        self._say(event="rest", why=why, shell=self._shell, last=self._rest.last_pid)

    def _number(self, order: dict[str, Any], files: list[int]) -> None:
        """Says after which id the next process gets its own."""
        self._rest.last_pid = order["after"]
        self._say(event="numbered")

    def _resume(self, saved: int) -> None:
        """Starts a login shell that becomes another one before it shows a prompt."""
        told = self._settings["saved"]
        self._rest.cover(saved)
        self._rest.last_pid = told["shell"] - 1
        self._start_shell({"env": rest.ENVIRONMENT, "size": told["size"]}, [])

    def _resumed(self, order: dict[str, Any], files: list[int]) -> None:
        """The shell is what the other one was."""
        self._rest.uncover()
        self._hide()
        self._rest.last_pid = self._settings["saved"]["last"]
        self._say(event="resumed")

    # -- helpers ----------------------------------------------------------------------------------------

    def _exec(self, order: dict[str, Any], files: list[int]) -> None:
        """Starts a helper on the given files: stdin, stdout, stderr, and the read ends of the last two."""
        argv, env, user, cwd = order["argv"], order["env"], order["user"], self._settings["cwd"]
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
            self._jailer.run(argv, env, cwd, user, streams, self._helper)

        self._fork(order["id"], work)
        for file in streams:
            os.close(file)

    def _look(self, order: dict[str, Any], files: list[int]) -> None:
        """Answers questions about the machine in a process that runs none of its programs."""
        streams = self._streams(order, files)

        def work() -> None:
            paths = (look.PASSWD, look.GROUP) if self._base is not None else ()
            before = {path: self._base.read(path) for path in paths}
            self._jailer.confine("root", self._helper)
            look.serve(streams[0], streams[1], before)
            os._exit(0)

        self._fork(order["id"], work)
        for file in streams:
            os.close(file)

    def _seal(self, order: dict[str, Any], files: list[int]) -> None:
        """Counts what has been written so far to what checks run."""

        def work() -> None:
            status = 0
            try:
                if self._base is not None:
                    self._base.seal()
            except OSError as error:
                status = error.errno or errno.EIO
            finally:
                os._exit(status)

        self._fork(order["id"], work)

    def _streams(self, order: dict[str, Any], files: list[int]) -> tuple[int, int, int]:
        stdin, stdout, stderr, *outputs = files
        self._outputs[order["id"]] = outputs
        return stdin, stdout, stderr

    def _copy(self, order: dict[str, Any], files: list[int]) -> None:
        """Reads a file into a pipe, or writes one from it, in a process whose exit code is an errno."""
        copy = {"read": _read_file, "write": _write_file, "save": self._rest.save}[order["do"]]
        last = self._rest.last_pid

        def work() -> None:
            status = errno.EIO
            try:
                self._jailer.confine("root", self._helper)
                copy(order, files[0])
                status = 0
            except OSError as error:
                status = error.errno or errno.EIO
            finally:
                os._exit(status)

        self._fork(order["id"], work)
        if order["do"] == "save":
            self._rest.last_pid = last
        os.close(files[0])

    def _fork(self, number: int, work: Callable[[], None]) -> None:
        try:
            pid = os.fork()
        except OSError as error:  # no processes or no memory left
            self._say(event="failed", id=number, errno=error.errno)
            for output in self._outputs.pop(number, ()):
                os.close(output)
            return
        if pid == 0:
            try:
                work()
            finally:
                os._exit(126)
        self._helpers[pid] = number

    def _kill(self, order: dict[str, Any], files: list[int]) -> None:
        for pid, number in self._helpers.items():
            if number == order["id"]:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(OSError):
                    os.killpg(pid, signal.SIGKILL)

    def _reap(self) -> None:
        with contextlib.suppress(ChildProcessError):
            for _ in range(REAPED_AT_ONCE):
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                code = os.waitstatus_to_exitcode(status)
                if pid == self._shell:
                    self._shell = -1
                    self._say(event="exited", code=code)
                number = self._helpers.pop(pid, None)
                if number is not None:
                    self._say(event="ended", id=number, code=code)
            os.write(self._wake_up, b"1")  # there may be more, but orders come in between

    def _release(self, order: dict[str, Any], files: list[int]) -> None:
        """The worker has read what a helper that has ended wrote."""
        for output in self._outputs.pop(order["id"], ()):
            os.set_blocking(output, False)
            self._drains.add(output)

    def _drain(self, output: int) -> None:
        """Reads away what children of an ended helper still say, so that they live on."""
        try:
            if os.read(output, 1 << 16):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self._drains.discard(output)
        os.close(output)


def _children() -> list[int]:
    """The processes whose parent this one is."""
    found = []
    for name in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            with open(f"/proc/{int(name)}/stat") as file:
                if int(file.read().rpartition(")")[2].split()[1]) == os.getpid():
                    found.append(int(name))
    return found


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
        view = memoryview(chunk)
        while view:
            view = view[os.write(pipe, view) :]


def _write_file(order: dict[str, Any], pipe: int) -> None:
    os.makedirs(os.path.dirname(order["path"]) or "/", exist_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_NOCTTY
    file = os.open(order["path"], flags, order["mode"])
    os.fchmod(file, order["mode"])
    while True:
        view = memoryview(os.read(pipe, 1 << 16))
        if not view:
            return
        while view:
            view = view[os.write(file, view) :]


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
