"""The template process: loads an environment once, then forks workers on the hub's word.

Its control socket keeps message boundaries. The hub sends `{"load": order}` first, then one message a
worker with the worker's end of a socket pair attached: `{"fork": number}` to fork one, or
`{"serve": number}` to become that worker itself (environments that can't be forked). The template
reports `loaded` or `failed`, `forked` with the pid, and `exited` with the wait status of each worker.
When the control socket closes, the hub is gone: the template ends its workers and itself.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import select
import signal
import socket
import sys
import time
import traceback
from typing import Any, NoReturn

from . import failures, host

MAX_MESSAGE = 1 << 17
PR_SET_PDEATHSIG = 1
GRACE_S = 1.0
"""How long workers get to close their environments once the hub is gone. Waited for in `LOOKS` parts: time in
which the whole machine stood still is none."""
LOOKS = 20


def main(control_fd: int) -> NoReturn:
    """Runs the template until the hub is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    control = socket.socket(fileno=control_fd)
    os.dup2(2, 1)  # what an environment prints is log, never protocol
    _die_with_parent(signal.SIGKILL)  # nobody else would notice a load that goes on after the hub is gone
    order = json.loads(control.recv(MAX_MESSAGE))["load"]
    try:
        environment = host.Environment(order)
    except BaseException as error:
        _report(control, {"failed": failures.load_failure(error)[:30_000]})
        os._exit(1)
    gc.collect()
    gc.freeze()  # what is loaded now is shared by all workers: keep the collector from touching it
    _die_with_parent(0)  # from here on the control socket tells, and workers get time to close
    _report(control, {"loaded": os.getpid()})
    Template(control, environment).run()


def _report(control: socket.socket, message: dict[str, Any]) -> None:
    with contextlib.suppress(OSError):  # the hub is gone; `run` will see it
        control.send(json.dumps(message).encode())


class Template:
    """Forks workers and tells the hub how they ended."""

    def __init__(self, control: socket.socket, environment: host.Environment) -> None:
        self._control = control
        self._environment = environment
        self._children: set[int] = set()
        self._wake_reader, self._wake_writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def run(self) -> NoReturn:
        """Serves the hub's orders until it is gone."""
        signal.signal(signal.SIGCHLD, lambda signum, frame: None)
        signal.set_wakeup_fd(self._wake_writer, warn_on_full_buffer=False)
        while True:
            control = self._control.fileno()
            ready, _, _ = select.select([control, self._wake_reader], [], [])
            if self._wake_reader in ready:
                self._reap()
            if control in ready and not self._order():
                self._end()

    def _order(self) -> bool:
        """Takes one order; False when the hub is gone."""
        try:
            message, fds, _, _ = socket.recv_fds(self._control, MAX_MESSAGE, 1)
        except OSError:
            return False
        if not message:
            return False
        order = json.loads(message)
        channel = socket.socket(fileno=fds[0])
        if "serve" in order:
            _die_with_parent(signal.SIGKILL)  # nobody else watches a worker without a template
            self._become_worker(channel)
        pid = os.fork()
        if pid == 0:
            self._become_worker(channel)
        channel.close()
        self._children.add(pid)
        _report(self._control, {"forked": order["fork"], "pid": pid})
        return True

    def _become_worker(self, channel: socket.socket) -> NoReturn:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._control.close()
        os.close(self._wake_reader)
        os.close(self._wake_writer)
        status = 0
        try:
            host.serve(self._environment, channel)
        except BaseException:
            traceback.print_exc()
            status = 1
        finally:
            sys.stderr.flush()
            os._exit(status)  # no atexit handlers of the template, no waiting for threads

    def _reap(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._wake_reader, 4096)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in self._children:
                self._children.discard(pid)
                _report(self._control, {"exited": pid, "status": os.waitstatus_to_exitcode(status)})

    def _end(self) -> NoReturn:
        """The hub is gone: workers notice by themselves; those that don't in time are killed."""
        for _ in range(LOOKS):
            if not self._children:
                break
            deadline = time.monotonic() + GRACE_S / LOOKS
            while self._children and (left := deadline - time.monotonic()) > 0:
                select.select([self._wake_reader], [], [], left)
                self._reap()
        for pid in self._children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        os._exit(0)


def _die_with_parent(signal_number: int) -> None:
    """Asks Linux to send this process a signal when the hub dies; 0 takes that back."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal_number)
