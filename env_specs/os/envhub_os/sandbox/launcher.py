"""The worker's end of its launcher process (`jail.launcher`), started when the first sandbox is."""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
import sys
from pathlib import Path
from typing import Any

from .jail import messages
from .settings import Refused

JAIL = str(Path(__file__).parent / "jail" / "__main__.py")
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}


NEEDS = {
    "namespaces": "It takes user namespaces with overlay and tmpfs mounts inside (Linux 5.12; 5.19 as root). "
    "Containers often forbid them: run the hub outside, or with CAP_SYS_ADMIN and no seccomp profile. "
    "On Ubuntu 24.04 and newer a user other than root needs kernel.apparmor_restrict_unprivileged_userns=0",
    "bwrap": "It takes bubblewrap (apt install bubblewrap), not setuid, that may make user namespaces, and "
    "what it starts may mount in them: where AppArmor allows them by program, with a profile for bwrap like "
    "`profile bwrap /usr/bin/bwrap flags=(unconfined) { userns, }`",
}
"""What each backend takes, and what to do for it."""


class Launcher:
    """A launcher process of this process; it ends when this object's socket closes."""

    def __init__(self) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            theirs.set_inheritable(True)
            argv = [sys.executable, "-I", "-S", "-X", "utf8", JAIL, "launcher", str(theirs.fileno())]
            actions = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, 2, 1)]
            self.pid = os.posix_spawn(sys.executable, argv, ENVIRONMENT, file_actions=actions)

    def ask(self, order: dict[str, Any], attached: socket.socket | None = None) -> dict[str, Any]:
        """Sends an order and waits for its answer.

        Raises:
            OSError: The launcher is gone.
        """
        messages.send(self._control, order, [attached.fileno()] if attached else [])
        answer, _ = messages.receive(self._control)
        if answer is None:
            raise ConnectionResetError("the launcher of sandboxes has died")
        return answer

    def close(self) -> None:
        """Ends it and all its sandboxes, and waits for that."""
        self._control.close()
        with contextlib.suppress(ChildProcessError):  # a fork's copy, or somebody has waited for all children
            os.waitpid(self.pid, 0)


_launchers: dict[int, Launcher] = {}


def launcher() -> Launcher:
    """This process's launcher; a forked process gets one of its own."""
    found = _launchers.get(os.getpid())
    if found is None:
        found = _launchers[os.getpid()] = Launcher()
        atexit.register(found.close)
    return found


def forget(broken: Launcher) -> None:
    """The next sandbox gets a new launcher."""
    if _launchers.get(os.getpid()) is broken:
        del _launchers[os.getpid()]
        atexit.unregister(broken.close)
        broken.close()


def refusal(backend: str, why: str) -> Refused:
    """Says why no sandbox of a backend can be made on this machine, and what to do."""
    return Refused(
        f"no sandbox can be made on this machine by {backend}: {why}. {NEEDS.get(backend, '')}".strip()
    )


def start(settings: dict[str, Any], box: socket.socket) -> int:
    """Starts a sandbox whose first process serves `box`; returns its id.

    Raises:
        Refused: It can't be made here.
    """
    for last_try in (False, True):
        current = launcher()
        try:
            answer = current.ask({"start": settings}, box)
        except OSError as error:
            forget(current)
            if last_try:
                raise Refused(f"no sandbox: its launcher died twice: {error}") from error
            continue
        if "refused" in answer:
            raise refusal(settings["backend"], answer["refused"])
        return int(answer["started"])
    raise AssertionError("unreachable")


def end(number: int) -> None:
    """Ends a sandbox of this process and waits until nothing of it is left."""
    current = launcher()
    try:
        current.ask({"close": number})
    except OSError:
        forget(current)  # with the launcher, all its sandboxes have died
