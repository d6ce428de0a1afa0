"""The hub's side of a template process: start it, have it fork workers, learn how they ended."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import logging
import os
import signal
import socket
from collections import deque
from collections.abc import Callable
from typing import Annotated, Any

import msgspec

from envhub.pool import _launch
from envhub.pool._errors import LoadFailed
from envhub.spec import ServedSpec
from envhub.worker.frames import FAILURE_MARK

MAX_MESSAGE = 1 << 17
STDERR_LINES = 80
logging.getLogger("envhub.worker").addHandler(logging.NullHandler())  # quiet where nobody set up logging
NO_INTERPRETER = (errno.ENOENT, errno.EACCES, errno.ENOEXEC, errno.ENOTDIR)
"""What the system says of an interpreter that is missing or none."""
LAST_WORDS_S = 0.2
"""How long to wait for what a process wrote before its end."""
LOOKS = 4
"""In so many parts a short time is waited: a hub that stood still for all of it has not looked even once."""


log = logging.getLogger("envhub.pool")

_Process = Annotated[int, msgspec.Meta(ge=2)]


class _Report(msgspec.Struct):
    loaded: int | None = None
    failed: str | None = None
    forked: int | None = None
    pid: _Process | None = None
    exited: _Process | None = None
    status: int | None = None


_reports = msgspec.json.Decoder(_Report)


async def _within(seconds: float, future: asyncio.Future[Any]) -> bool:
    """Waits a short time for something; whether it came."""
    for _ in range(LOOKS):
        done, _ = await asyncio.wait([future], timeout=seconds / LOOKS)
        if done:
            return True
    return False


class Template:
    """One template process.

    Args:
        served: The spec and its settings.
        on_lost: Called once when the template itself is gone without having been stopped.
    """

    def __init__(self, served: ServedSpec, on_lost: Callable[[], None]) -> None:
        self._served = served
        self._on_lost = on_lost
        self._log = logging.getLogger(f"envhub.worker.{served.spec.name}")
        self._tail: deque[str] = deque(maxlen=STDERR_LINES)
        self._process: asyncio.subprocess.Process | None = None
        self._control: socket.socket | None = None
        self._loaded: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._forked: dict[int, asyncio.Future[int]] = {}
        self._ends: dict[int, asyncio.Future[int | None]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._exited = asyncio.Event()
        self.alive = False

    @property
    def name(self) -> str:
        """The name of the spec."""
        return self._served.spec.name

    @property
    def pid(self) -> int:
        """The template's process id; its workers share its process group."""
        assert self._process is not None
        return self._process.pid

    @property
    def listening(self) -> bool:
        """Whether it takes orders, as far as is known."""
        return self.alive and self._control is not None

    @property
    def finished(self) -> bool:
        """Whether the process and every worker that shared its standard error are gone."""
        return bool(self._tasks) and all(task.done() for task in self._tasks)

    async def start(self) -> None:
        """Starts the process and waits until the environment is loaded.

        Raises:
            LoadFailed: The environment could not be imported or loaded, or took too long.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        ours.setblocking(False)
        runtime = self._served.runtime
        try:
            with theirs:
                self._process = await asyncio.create_subprocess_exec(
                    *_launch.command(runtime, theirs.fileno()),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=asyncio.subprocess.DEVNULL,
                    stderr=asyncio.subprocess.PIPE,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                    env=_launch.variables(runtime),
                )
        except BaseException as error:
            ours.close()
            if runtime.isolated and isinstance(error, OSError) and error.errno in NO_INTERPRETER:
                raise LoadFailed(self._without_interpreter(error)) from error
            raise
        self._control, self.alive = ours, True
        self._watch_exit()
        self._tasks = [asyncio.create_task(self._read_stderr()), asyncio.create_task(self._watch())]
        asyncio.get_running_loop().add_reader(ours, self._read_control)
        ours.send(json.dumps({"load": self._order()}).encode())
        limit = self._served.limits.load_timeout_s
        try:
            async with asyncio.timeout(limit):  # wait_for of Python 3.11 may lose a cancellation
                await asyncio.shield(self._loaded)
        except TimeoutError:
            self.kill()
            raise LoadFailed(
                f"{self.name}: loading took longer than load_timeout_s = {limit:g} s; "
                f"raise it with --set {self.name}.load_timeout_s=SECONDS"
            ) from None
        except LoadFailed:
            self.kill()
            raise

    def _without_interpreter(self, error: OSError) -> str:
        runtime = self._served.runtime
        reason = os.strerror(error.errno or 0)
        return f"{self.name}: its interpreter {runtime.python} can't be started: {reason}; {runtime.mend}"

    def _order(self) -> dict[str, Any]:
        spec, limits = self._served.spec, self._served.limits
        return {
            "entry_point": spec.entry_point,
            "path": None if spec.path is None else str(spec.path),
            "config": dict(self._served.config),
            "limits": {name: getattr(limits, name) for name in limits.__slots__},
            "action": None if spec.action.space is None else dict(spec.action.space),
            "observation": None if spec.observation.space is None else dict(spec.observation.space),
            "splits": list(spec.splits),
        }

    async def fork(self, number: int, channel: socket.socket) -> int:
        """Has the template fork a worker that talks over `channel`; returns its process id.

        Raises:
            LoadFailed: The template is gone, or it does not answer and was killed; its workers live on.
        """
        self._send({"fork": number}, channel)
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._forked[number] = future
        limit = self._served.limits.load_timeout_s
        try:
            async with asyncio.timeout(limit):
                return await future
        except TimeoutError:
            self.alive = False
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            raise LoadFailed(
                f"{self.name}: the template process was killed: it had not forked a worker within "
                f"load_timeout_s = {limit:g} s"
            ) from None

    def serve(self, number: int, channel: socket.socket) -> int:
        """Has the template become a worker itself; returns its process id."""
        self._send({"serve": number}, channel)
        return self.pid

    def _send(self, message: dict[str, Any], channel: socket.socket) -> None:
        try:
            if self._control is None:
                raise BrokenPipeError("it closed its control socket")
            socket.send_fds(self._control, [json.dumps(message).encode()], [channel.fileno()])
        except OSError as error:
            raise LoadFailed(f"{self.name}: the template process is gone ({error})") from error

    # -- what the template says ---------------------------------------------------------------------

    def _read_control(self) -> None:
        assert self._control is not None
        try:
            message = self._control.recv(MAX_MESSAGE)
        except BlockingIOError:
            return
        except OSError:
            message = b""
        if not message:
            self._drop_control()
            return
        try:
            report = _reports.decode(message)
        except (msgspec.MsgspecError, RecursionError) as error:  # an environment wrote into its socket
            log.error("%s: its template said what is no report (%s); it is given up", self.name, error)
            if not self._loaded.done():
                self._loaded.set_exception(LoadFailed(self._explain(f"its process said nonsense: {error}")))
            self._drop_control()
            return
        if report.loaded is not None and not self._loaded.done():
            self._loaded.set_result(None)
        elif report.failed is not None and not self._loaded.done():
            self._loaded.set_exception(LoadFailed(self._explain(report.failed)))
        elif report.forked is not None and report.pid is not None:
            forked = self._forked.pop(report.forked, None)
            if forked is not None and not forked.done():  # whoever asked may have been told to stop
                forked.set_result(report.pid)
        elif report.exited is not None:
            self._ended(report.exited, report.status)

    async def end_of(self, pid: int, timeout_s: float = 3 * LAST_WORDS_S) -> int | None:
        """Waits a moment for how one of its workers ended: the exit status, or None if nobody knows."""
        future = self._end_of(pid)
        try:
            if not future.done() and self._control is None and pid != self.pid:
                return None
            return future.result() if await _within(timeout_s, future) else None
        finally:
            self._ends.pop(pid, None)

    def _end_of(self, pid: int) -> asyncio.Future[int | None]:
        return self._ends.setdefault(pid, asyncio.get_running_loop().create_future())

    def _ended(self, pid: int, status: int | None) -> None:
        future = self._end_of(pid)
        if not future.done():
            future.set_result(status)

    def last_words(self) -> str:
        """The last lines that the template and its workers wrote to their standard error."""
        return "\n".join(self._tail)

    def _drop_control(self) -> None:
        if self._control is not None:
            asyncio.get_running_loop().remove_reader(self._control)
            self._control.close()
            self._control = None
            for pid in self._ends:
                if pid != self.pid:
                    self._ended(pid, None)

    def _explain(self, reason: str) -> str:
        runtime = self._served.runtime
        mend = f"\nIt runs in {runtime.python.parent.parent}: {runtime.mend}" if runtime.mend else ""
        return f"{self.name} could not be loaded: {reason.rstrip()}{mend}"

    async def _read_stderr(self) -> None:
        assert self._process is not None and self._process.stderr is not None
        while True:
            try:
                line = await self._process.stderr.readline()
            except ValueError:  # a line longer than the reader's buffer: skip it
                continue
            if not line:
                return
            text = line.decode(errors="replace").rstrip()
            self._tail.append(text)
            level = logging.WARNING if text.startswith(FAILURE_MARK) else logging.INFO
            self._log.log(level, "%s", text.removeprefix(FAILURE_MARK))

    def _watch_exit(self) -> None:
        """Sets `_exited` when the process ends, whoever else may still hold its standard error."""
        loop = asyncio.get_running_loop()
        try:
            descriptor = os.pidfd_open(self.pid)
        except ProcessLookupError:
            self._exited.set()
            return

        def exited() -> None:
            loop.remove_reader(descriptor)
            os.close(descriptor)
            self._exited.set()

        loop.add_reader(descriptor, exited)

    async def _watch(self) -> None:
        """Notices the end of the template process."""
        assert self._process is not None
        await self._exited.wait()
        unexpected, self.alive = self.alive, False
        await _within(LAST_WORDS_S, self._tasks[0])  # its workers may keep the pipe open
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS_S):
                await self._process.wait()
        status = self._process.returncode
        self._ended(self.pid, status)
        reason = "\n".join([f"the process ended with status {status}", *self._tail])
        failure = LoadFailed(self._explain(reason))
        if not self._loaded.done():
            self._loaded.set_exception(failure)
        for future in self._forked.values():
            if not future.done():
                future.set_exception(failure)
        self._forked.clear()
        if unexpected:
            self._on_lost()

    # -- the end ------------------------------------------------------------------------------------

    def release(self) -> None:
        """Tells the template to end: it gives its workers a moment, then ends them and itself."""
        self.alive = False
        self._drop_control()

    def kill(self) -> None:
        """Kills the template and everything in its process group."""
        self.release()
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    async def wait(self, timeout_s: float) -> bool:
        """Waits for the end of the process; False when it is still there."""
        if self._process is None:
            return True
        exited = asyncio.ensure_future(self._exited.wait())
        try:
            return await _within(timeout_s, exited)
        finally:
            exited.cancel()

    async def cleanup(self) -> None:
        """Ends the tasks that read the process's words and its end."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=2 * LAST_WORDS_S)
            for task in self._tasks:  # who left the process group may hold the pipe for ever
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._loaded.done() and not self._loaded.cancelled():
            self._loaded.exception()  # seen by `start`, or of no interest any more
