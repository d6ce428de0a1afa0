"""What the backends have in common: what they make a sandbox from, what they hand back, and how they talk.

A backend is a module with `start(order) -> Held`. It raises OSError where it can make no sandbox.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Sequence
from typing import Any, NamedTuple

from . import limits, messages, mounts


class Order(NamedTuple):
    """A sandbox to be made.

    Attributes:
        number: One that no other of this launcher's has.
        settings: The worker's, as JSON.
        box: The sandbox's end of the worker's socket.
        control: The launcher's own socket, which no sandbox may hold.
        groups: Makes its control groups.
        source: Where its user ids come from, see `namespaces`.
        secrets: Paths of `/etc` that it is not to see in host mode.
    """

    number: int
    settings: dict[str, Any]
    box: socket.socket
    control: socket.socket
    groups: limits.Groups
    source: str
    secrets: list[str]


class Held(NamedTuple):
    """A sandbox that was made.

    Attributes:
        pids: Its first process, then others that end with it.
        folders: Its control groups.
        end: The signal that ends the first process, and with it all.
    """

    pids: list[int]
    folders: Sequence[str] = ()
    end: int = signal.SIGKILL

    def close(self) -> None:
        """Ends it; nothing of it is left when this returns."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pids[0], self.end)
        for pid in self.pids:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)  # for a first process returns when the whole pid namespace is gone
        limits.remove(self.folders)

    def ended(self) -> bool:
        """Whether it has ended by itself."""
        for pid in self.pids:
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(pid, os.WNOHANG)[0]:
                    return True
        return False


def tell(to: socket.socket, message: dict[str, Any], files: list[int] | None = None) -> None:
    """Sends what may find nobody."""
    with contextlib.suppress(BrokenPipeError):
        messages.send(to, message, files or [])


def hear(of: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Waits for what the process at the other end says.

    Raises:
        OSError: It has ended, or says what went wrong.
    """
    answer, files = messages.receive(of)
    if answer is None:
        raise OSError(0, "the process that makes the sandbox ended early")
    if "error" in answer:
        raise OSError(0, answer["error"])
    return answer, files


def give_up(child: int, folders: Sequence[str]) -> None:
    """Ends what was begun."""
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    limits.remove(folders)


def limit(order: Order, folders: list[str]) -> None:
    """Limits this process, by its control groups and apart from them, and all it becomes.

    What root writes into `oom_score_adj` is also the least that an agent may write there: where the machine
    is out of memory, sandboxes go before the hub, and in a sandbox the agent's programs before the first one.
    """
    order.groups.join(folders)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("300")
    limits.set_rlimits(order.settings, order.groups.controllers)


def send_trees(to: socket.socket, member: int, order: Order) -> None:
    """Gives the first process what it is to be built on.

    As root that is opened here, since only root may shift owners to those of the user namespace that `member`
    is in; else it is opened inside.
    """
    rootfs = order.settings["rootfs"]
    trees: list[tuple[int, str]] = []
    if order.source == "root":
        owner = os.stat(rootfs or "/").st_uid
        if owner:
            raise OSError(0, f"{rootfs} belongs to user {owner}: a hub that runs as root needs one of root's")
        namespace = os.open(f"/proc/{member}/ns/user", os.O_RDONLY)
        try:
            trees = mounts.open_trees(rootfs, namespace)
        finally:
            os.close(namespace)
    files = [tree for tree, _ in trees]
    places = [place for _, place in trees]
    tell(to, {"places": places, "settings": order.settings, "secrets": order.secrets}, files)
    for file in files:
        os.close(file)
