"""The sandbox as the environment holds it."""

from __future__ import annotations

import json
import os
import select
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from types import TracebackType
from typing import Any

from . import launcher
from .jail import messages
from .saved import Saved
from .settings import AUTO, BACKENDS, Completed, NotAtRest, Refused, Result, SandboxError, Settings
from .shell import Shell
from .terminal import prompt_command

START_S = 30.0
"""How long a sandbox may take to come up on a machine that is busy with others."""
PATH = launcher.ENVIRONMENT["PATH"]
ENVIRONMENT = {
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "LOGNAME": "root",
    "PATH": PATH,
    "SHELL": "/bin/bash",
    "TERM": "dumb",
    "USER": "root",
}
PROFILE = "/etc/profile.d/zz-prompt.sh"
"""Gives the shells of `su - user`, too, prompts that are marks."""
MAX_WORDS = 120_000
"""Characters of arguments and variables; Linux takes 131,072 bytes in one argument."""
MAX_FILES_BYTES = 16 << 20
"""What may have been written in a sandbox that is saved."""
LOOK_BYTES = 1 << 22
"""Of answers about the machine; of more, none counts."""
Question = tuple[str, dict[str, Any]]
"""A kind, and its arguments."""
NOT_STARTED = 1 << 16
"""Stands for an exit code where there was no process."""
GONE = "the sandbox is gone: its first process has ended"
_chosen: dict[bool, str] = {}
"""What `auto` is on this machine, in host mode and otherwise."""


class Sandbox:
    """One sandbox; made by `start`."""

    def __init__(self, settings: Settings, saved: Saved | None = None) -> None:
        self.settings = settings
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._closed = False
        self._is_up = False
        self._made = 0
        self._not_started = 0
        self._ended: dict[int, int] = {}
        self._shell = Shell(self, saved.token, saved.scripts) if saved else Shell(self, os.urandom(8).hex())
        self.exited: int | None = None
        """The exit code of the shell that is gone and not yet replaced."""
        self.waits: bool | None = None
        """What the last question answered: whether the program in front waits for input."""
        self.shell_in_front = False
        """And whether it is the shell itself."""
        self._said: dict[str, Any] | None = None
        with theirs:
            try:
                if saved:
                    saved.send(self.control)
                self.pid = launcher.start(_order(settings, self._shell.token, saved), theirs)
                """The first process's id outside."""
            except BaseException:
                self._control.close()
                raise

    @classmethod
    def start(cls, settings: Settings, saved: Saved | None = None) -> Sandbox:
        """Makes a sandbox and its login shell, or what `save` has returned of another one.

        Raises:
            Refused: None can be made safely here.
            SandboxError: What was saved can't be made again here.
        """
        _check(settings)
        if settings.backend == "auto":
            return cls._start_what_is_safe(settings, saved)
        box = cls(settings, saved)
        try:
            box._shell.greet(START_S)
            if saved:
                box.send({"do": "resumed"})
                while box._said is None:
                    box.hear_in_time()
                box._shell.check(saved.shell, saved.mode)
        except BaseException:
            box.close()
            raise
        return box

    @classmethod
    def _start_what_is_safe(cls, settings: Settings, saved: Saved | None) -> Sandbox:
        """Takes the first of `AUTO` that can make a sandbox here, and stays with it."""
        kind = settings.rootfs is None
        problems = []
        for backend in [_chosen[kind]] if kind in _chosen else AUTO:
            try:
                box = cls.start(replace(settings, backend=backend), saved)
            except Refused as error:
                problems.append(str(error))
            else:
                _chosen[kind] = backend
                return box
        raise Refused("\n".join(problems))

    def run(self, command: str, *, timeout_s: float, limit_bytes: int) -> Result:
        """Types a script into the login shell and waits for its end.

        Raises:
            SandboxError: The sandbox is gone.
        """
        return self._shell.run(command, timeout_s, limit_bytes)

    def exec(
        self,
        argv: Sequence[str],
        *,
        stdin: bytes = b"",
        timeout_s: float = 30.0,
        env: Mapping[str, str] | None = None,
        user: str = "root",
        limit_bytes: int = 1 << 20,
        checks: bool = False,
        alone: bool = False,
    ) -> Completed:
        """Runs a fresh process beside the shell, in `settings.cwd`.

        Its children may outlive it. `env` is added to a plain environment of root's. Its exit code is 127
        where there is no such program, 126 where the agent has left no process or memory for it.

        Where `checks` is set it judges the agent: it sees the agent's files, but finds programs and libraries
        as they were when it was sealed (`jail.view`). A sandbox without a base of its own, "none", has but
        the agent's. Where `alone` is set it can start no other process, whatever the agent's files ask it to
        run.

        Raises:
            SandboxError: The sandbox is gone.
            ValueError: Arguments and environment are too long (120,000 characters as JSON), or contain NUL.
        """
        order = {
            "do": "exec",
            "argv": list(argv),
            "env": {**ENVIRONMENT, **(env or {})},
            "user": user,
            "checks": checks,
            "alone": alone,
        }
        words = [*argv, *(env or {}), *(env or {}).values()]
        if any("\0" in word for word in words):
            raise ValueError("an argument or a variable contains NUL")
        if len(json.dumps(words)) > MAX_WORDS:
            raise ValueError(
                f"arguments and variables are longer than {MAX_WORDS} characters: use `write` or stdin"
            )
        code, out, err = self._help(order, stdin, timeout_s, limit_bytes)
        if code == NOT_STARTED:
            why = os.strerror(self._not_started)
            return Completed(126, b"", f"{argv[0]}: can't be started: {why}\n".encode())
        return Completed(code, out, err)

    def look(self, questions: Sequence[Question], *, timeout_s: float = 30.0) -> list[Any] | None:
        """Answers questions about the machine (`jail.look` says which) without running a program of it.

        Returns:
            An answer for each, or None where the agent has left no process or memory for it, or its time was
            up.

        Raises:
            SandboxError: The sandbox is gone.
        """
        text = json.dumps(list(questions)).encode()
        code, out, _ = self._help({"do": "look"}, text, timeout_s, LOOK_BYTES)
        try:
            found = json.loads(out)
        except ValueError:
            return None
        return found if code == 0 and isinstance(found, list) and len(found) == len(questions) else None

    def _help(
        self, order: dict[str, Any], stdin: bytes, timeout_s: float, limit_bytes: int
    ) -> tuple[int | None, bytes, bytes]:
        """Has a helper work on an input; its exit code, None when its time was up, and what it wrote."""
        source, sink = os.pipe()
        out, out_end = os.pipe()
        err, err_end = os.pipe()
        try:
            number = self._begin(order, [source, out_end, err_end, out, err])
            for theirs in (source, out_end, err_end):
                os.close(theirs)
            source = out_end = err_end = -1
            texts = {out: bytearray(), err: bytearray()}
            sinks = {sink: memoryview(stdin)}
            sink = -1
            code = self._follow(number, texts, sinks, timeout_s, limit_bytes)
            if code != NOT_STARTED:
                self.send({"do": "release", "id": number})
            return code, bytes(texts[out][:limit_bytes]), bytes(texts[err][:limit_bytes])
        finally:
            for end in (source, sink, out, out_end, err, err_end):
                if end >= 0:
                    os.close(end)

    def seal(self) -> None:
        """Counts the programs and libraries that have been written so far to those that checks run.

        Call it when the machine is ready and before the agent comes.

        Raises:
            SandboxError: The sandbox is gone.
            OSError: There was no room for it.
        """
        self._finish(self._begin({"do": "seal"}, []), "the programs", {}, {}, 0)

    def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Writes a file inside, its folders included; OSError as `open` raises it."""
        source, sink = os.pipe()
        try:
            number = self._begin({"do": "write", "path": path, "mode": mode}, [source])
        except BaseException:
            os.close(sink)
            raise
        finally:
            os.close(source)
        self._finish(number, path, {}, {sink: memoryview(data)}, 0)

    def read(self, path: str, *, limit_bytes: int = 1 << 20) -> bytes:
        """Reads a regular file inside, at most so many bytes; OSError as `open` raises it."""
        return self._fetched({"do": "read", "path": path}, path, limit_bytes)

    def save(self) -> Saved:
        """Takes all there is of it; it goes on as if nothing had been.

        Raises:
            NotAtRest: There is more than files and a shell at its prompt; the message says what.
            SandboxError: The sandbox is gone.
        """
        self._check_rest()
        held = self._shell.ask()
        pids = self._check_rest()
        try:
            files = self._fetched({"do": "save"}, "what was written", MAX_FILES_BYTES)
        except OSError as error:
            raise NotAtRest(str(error)) from error
        return Saved.of(files, held, self._shell, pids)

    def close(self) -> None:
        """Ends it; nothing of it runs or is mounted when this returns. A second call does nothing."""
        if not self._closed:
            self._closed = True
            self._control.close()
            self._shell.close()
            launcher.end(self.pid)

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _check_rest(self) -> tuple[int, int]:
        """Makes sure that it is at rest; returns the process ids of the shell and of the last process."""
        self._said = None
        self.send({"do": "rest"})
        while self._said is None:
            self.hear_in_time()
        if self._said["why"]:
            raise NotAtRest(self._said["why"])
        return self._said["shell"], self._said["last"]

    # -- the first process inside -----------------------------------------------------------------------

    @property
    def control(self) -> socket.socket:
        """The socket to the first process inside."""
        return self._control

    def send(self, order: dict[str, Any], files: Sequence[int] = ()) -> None:
        """Sends the first process an order."""
        try:
            messages.send(self._control, order, files)
        except OSError as error:
            raise SandboxError(GONE) from error

    def hear(self) -> None:
        """Takes one event of the first process and notes what it says."""
        try:
            event, files = messages.receive(self._control)
        except OSError as error:
            raise SandboxError(GONE) from error
        if event is None:
            raise SandboxError(GONE)
        kind = event["event"]
        if kind == "broken":
            if self._is_up:
                raise SandboxError(f"{GONE}: {event['why']}")
            raise launcher.refusal(self.settings.backend, event["why"])
        if kind == "shell":
            self._is_up = True
            self._shell.attach(files[0])
        elif kind == "exited":
            self.exited = event["code"]
        elif kind == "idle":
            self.waits, self.shell_in_front = event["idle"], event["front"]
        elif kind in ("rest", "resumed", "numbered"):
            self._said = event
        elif kind == "ended":
            self._ended[event["id"]] = event["code"]
        elif kind == "failed":
            self._ended[event["id"]] = NOT_STARTED
            self._not_started = event["errno"]

    def number_processes(self, after: int) -> None:
        """Gives the next process inside the first free id after this one, where the kernel can do that."""
        self._said = None
        self.send({"do": "number", "after": after})
        while self._said is None:
            self.hear_in_time()

    def hear_in_time(self) -> None:
        """Takes the next event, for which it waits as long as a busy machine may need.

        Raises:
            SandboxError: None comes.
        """
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        if not poll.poll(START_S * 1000):
            raise SandboxError("the first process of the sandbox does not answer")
        self.hear()

    def _begin(self, order: dict[str, Any], files: Sequence[int]) -> int:
        self._made += 1
        self.send({**order, "id": self._made}, files)
        return self._made

    def _fetched(self, order: dict[str, Any], what: str, limit_bytes: int) -> bytes:
        """What a process inside writes into a pipe, up to a limit that it is told."""
        source, sink = os.pipe()
        try:
            try:
                number = self._begin({**order, "limit": limit_bytes}, [sink])
            finally:
                os.close(sink)
            texts = {source: bytearray()}
            self._finish(number, what, texts, {}, limit_bytes)
            return bytes(texts[source])
        finally:
            os.close(source)

    def _finish(
        self, number: int, path: str, texts: dict[int, bytearray], sinks: dict[int, memoryview], limit: int
    ) -> None:
        code = self._follow(number, texts, sinks, START_S, limit)
        if code is None or code < 0:
            raise SandboxError(f"{path}: what copies it was killed, or its time was up")
        code = self._not_started if code == NOT_STARTED else code
        if code:
            raise OSError(code, os.strerror(code), path)

    def _follow(
        self,
        number: int,
        texts: dict[int, bytearray],
        sinks: dict[int, memoryview],
        timeout_s: float,
        limit_bytes: int,
    ) -> int | None:
        """Feeds a helper and gathers what it writes until it ends; None when it had to be killed."""
        deadline, killed = time.monotonic() + timeout_s, False
        for file in (*texts, *sinks):
            os.set_blocking(file, False)
        open_texts = set(texts)
        try:
            while number not in self._ended:
                poll = select.poll()
                poll.register(self._control, select.POLLIN)
                for file in open_texts:
                    poll.register(file, select.POLLIN)
                for file, rest in list(sinks.items()):
                    if rest:
                        poll.register(file, select.POLLOUT)
                    else:
                        os.close(file)
                        del sinks[file]
                left = deadline - time.monotonic()
                if left <= 0 and not killed:
                    killed, deadline = True, time.monotonic() + START_S
                    self.send({"do": "kill", "id": number})
                elif left <= 0:
                    raise SandboxError("a process in the sandbox can't be killed")
                for file, _ in poll.poll(max(left, 0) * 1000):
                    if file == self._control.fileno():
                        self.hear()
                    elif file in sinks:
                        sinks[file] = _feed(file, sinks[file])
                    elif not _gather(file, texts[file], limit_bytes):
                        open_texts.discard(file)
            code = self._ended.pop(number)
            for file in open_texts:
                while _gather(file, texts[file], limit_bytes):
                    pass
        finally:
            for file in sinks:
                os.close(file)
        return None if killed else code


def _feed(file: int, rest: memoryview) -> memoryview:
    try:
        return rest[os.write(file, rest) :]
    except BlockingIOError:
        return rest
    except OSError:  # nobody reads it
        return rest[:0]


def _gather(file: int, text: bytearray, limit: int) -> bool:
    """Reads what is there; False when nothing is, or at the end."""
    try:
        chunk = os.read(file, 1 << 16)
    except BlockingIOError:
        return False
    text += chunk[: max(limit - len(text), 0)]
    return bool(chunk)


def _check(settings: Settings) -> None:
    if settings.backend not in BACKENDS:
        raise Refused(f"sandbox backend {settings.backend!r}: choose one of {', '.join(BACKENDS)}")
    if settings.backend == "none" and (not settings.i_know or settings.rootfs):
        raise Refused(
            'sandbox "none" gives the agent this machine itself, as the user that runs the hub: only on a '
            "machine that may be destroyed, without a root file system (rootfs=host), and when you say that "
            "you know (i_know)"
        )
    for name in ("memory_mb", "disk_mb", "inodes", "pids", "open_files", "cpus"):
        if getattr(settings, name) <= 0:
            raise Refused(f"{name} is {getattr(settings, name)}: it must be more than 0")
    if settings.rootfs is not None and not (settings.rootfs / "bin" / "bash").exists():
        raise Refused(f"{settings.rootfs} is no root file system: it has no /bin/bash")


def _order(settings: Settings, token: str, saved: Saved | None) -> dict[str, Any]:
    command = prompt_command(token)
    quoted = command.replace("'", "'\\''")
    return {
        **asdict(settings),
        "rootfs": str(settings.rootfs.resolve()) if settings.rootfs else None,
        "env": {**ENVIRONMENT, "PROMPT_COMMAND": command},
        "files": {} if saved or settings.backend == "none" else {PROFILE: f"PROMPT_COMMAND='{quoted}'\n"},
        "saved": saved.told() if saved else None,
    }
