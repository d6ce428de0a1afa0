"""The worker's end of the socket to a sandbox's first process (`jail.init`): orders, and what it says."""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import launcher
from .jail import messages
from .settings import SandboxError

ANSWER_S = 30.0
"""How long a first process may take to answer: the machine may be busy with others."""
GONE = "the sandbox is gone: its first process has ended"


class Ended(NamedTuple):
    """How a helper ended: with an exit code, or it could not be started, for lack of what `errno` says."""

    code: int | None
    errno: int = 0


class Control:
    """Orders to a first process, and what it has said so far.

    Args:
        backend: What makes the sandbox.

    Attributes:
        socket: This end.
        theirs: The first process's end, to be closed when that has it.
        exited: The exit code of the shell that is gone and not yet replaced.
        ended: How helpers ended, by their numbers, until somebody takes it.
    """

    def __init__(self, backend: str) -> None:
        self.socket, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.exited: int | None = None
        self.ended: dict[int, Ended] = {}
        self._backend = backend
        self._is_up = False
        self._terminal = -1
        self._answer: dict[str, Any] | None = None

    def close(self) -> None:
        """Tells the first process to end itself, and all with it."""
        self.socket.close()
        if self._terminal >= 0:
            os.close(self._terminal)
            self._terminal = -1

    def send(self, order: dict[str, Any], files: Sequence[int] = ()) -> None:
        """Sends an order.

        Raises:
            SandboxError: The first process is gone.
        """
        try:
            messages.send(self.socket, order, files)
        except OSError as error:
            raise SandboxError(GONE) from error

    def ask(self, **order: Any) -> dict[str, Any]:
        """Sends an order that is answered, and waits for that.

        Raises:
            SandboxError: The first process is gone, or does not answer.
        """
        self._answer = None
        self.send(order)
        while self._answer is None:
            self.hear_in_time()
        return self._answer

    def terminal(self) -> int:
        """Waits for the terminal of a new shell, which is the caller's to close.

        Raises:
            SandboxError: The first process is gone, or does not send it.
        """
        while self._terminal < 0:
            self.hear_in_time()
        taken, self._terminal = self._terminal, -1
        return taken

    def hear_in_time(self) -> None:
        """Takes the next event, for which it waits as long as a busy machine may need.

        Raises:
            SandboxError: None comes.
        """
        poll = select.poll()
        poll.register(self.socket, select.POLLIN)
        if not poll.poll(ANSWER_S * 1000):
            raise SandboxError("the first process of the sandbox does not answer")
        self.hear()

    def hear(self) -> None:
        """Takes one event and notes what it says.

        Raises:
            Refused: No sandbox can be made.
            SandboxError: The first process is gone.
        """
        try:
            event, files = messages.receive(self.socket)
        except OSError as error:
            raise SandboxError(GONE) from error
        if event is None:
            raise SandboxError(GONE)
        kind = event["event"]
        if kind == "broken":
            if self._is_up:
                raise SandboxError(f"{GONE}: {event['why']}")
            raise launcher.refusal(self._backend, event["why"])
        if kind == "shell":
            self._is_up = True
            self._terminal = files[0]
        elif kind == "exited":
            self.exited = event["code"]
        elif kind == "ended":
            self.ended[event["id"]] = Ended(event["code"])
        elif kind == "failed":
            self.ended[event["id"]] = Ended(None, event["errno"])
        else:
            self._answer = event
