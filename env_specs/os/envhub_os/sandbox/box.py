"""The sandbox as the environment holds it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from types import TracebackType
from typing import Any

from . import launcher
from .control import Control
from .helpers import Helpers
from .saved import Saved
from .settings import AUTO, Completed, NotAtRest, Refused, Result, Settings
from .shell import Shell
from .terminal import prompt_command

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
_chosen: dict[bool, str] = {}
"""What `auto` is on this machine, in host mode and otherwise."""


class Sandbox:
    """One sandbox; made by `start`."""

    def __init__(self, settings: Settings, saved: Saved | None = None) -> None:
        self.settings = settings
        self._closed = False
        self._control = Control(settings.backend)
        self._helpers = Helpers(self._control)
        token, scripts = (saved.token, saved.scripts) if saved else (os.urandom(8).hex(), 0)
        self._shell = Shell(self._control, token, scripts)
        with self._control.theirs as theirs:
            try:
                if saved:
                    saved.send(self._control.socket)
                self.pid = launcher.start(_order(settings, token, saved), theirs)
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
        settings.check()
        if settings.backend == "auto":
            return cls._start_what_is_safe(settings, saved)
        box = cls(settings, saved)
        try:
            box._shell.greet()
            if saved:
                box._control.ask(do="resumed")
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
        ended, out, err = self._helpers.run(order, stdin, timeout_s, limit_bytes)
        if ended.errno:
            why = os.strerror(ended.errno)
            return Completed(126, b"", f"{argv[0]}: can't be started: {why}\n".encode())
        return Completed(ended.code, out, err)

    def look(self, questions: Sequence[Question], *, timeout_s: float = 30.0) -> list[Any] | None:
        """Answers questions about the machine (`jail.look` says which) without running a program of it.

        Returns:
            An answer for each, or None where the agent has left no process or memory for it, or its time was
            up.

        Raises:
            SandboxError: The sandbox is gone.
        """
        text = json.dumps(list(questions)).encode()
        ended, out, _ = self._helpers.run({"do": "look"}, text, timeout_s, LOOK_BYTES)
        try:
            found = json.loads(out)
        except ValueError:
            return None
        return found if ended.code == 0 and isinstance(found, list) and len(found) == len(questions) else None

    def seal(self) -> None:
        """Counts the programs and libraries that have been written so far to those that checks run.

        Call it when the machine is ready and before the agent comes.

        Raises:
            SandboxError: The sandbox is gone.
            OSError: There was no room for it.
        """
        self._helpers.do({"do": "seal"}, "the programs")

    def write(self, path: str, data: bytes, *, mode: int = 0o644) -> None:
        """Writes a file inside, its folders included; OSError as `open` raises it."""
        self._helpers.feed({"do": "write", "path": path, "mode": mode}, path, data)

    def read(self, path: str, *, limit_bytes: int = 1 << 20) -> bytes:
        """Reads a regular file inside, at most so many bytes; OSError as `open` raises it."""
        return self._helpers.fetch({"do": "read", "path": path}, path, limit_bytes)

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
            files = self._helpers.fetch({"do": "save"}, "what was written", MAX_FILES_BYTES)
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
        answer = self._control.ask(do="rest")
        if answer["why"]:
            raise NotAtRest(answer["why"])
        return answer["shell"], answer["last"]


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
