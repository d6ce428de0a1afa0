"""How a process in new namespaces becomes the first process of a sandbox.

It is a fork of the launcher, or what bubblewrap starts: then a fresh interpreter,
`python -I -S -X utf8 __main__.py first SETUP_FD BOX_FD`, which is told by the launcher what the fork knows.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import socket
import struct
import warnings  # noqa: F401  os.execvpe imports it, and inside a sandbox nothing can be imported
from typing import Any, NoReturn

from . import init, kernel, messages, mounts


def become(
    box: socket.socket, settings: dict[str, Any], trees: list[tuple[int, str]], secrets: list[str]
) -> NoReturn:
    """Makes the root, enters it, and serves `box`; why that fails goes there too.

    Args:
        box: The sandbox's end of the worker's socket.
        settings: What the worker ordered.
        trees: Opened by the launcher with shifted owners, or none: they are opened here.
        secrets: Paths of `/etc` that are hidden in host mode.
    """
    try:
        kernel.prctl(kernel.PR_SET_PDEATHSIG, signal.SIGKILL)
        socket.sethostname(settings["hostname"])
        _loopback_up()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)  # which the first process of a pid namespace never gets
        shifted = bool(trees)
        trees = trees or mounts.open_trees(settings["rootfs"], None)
        saved = messages.receive(box)[1][0] if settings["saved"] else None
        kept = mounts.build(trees, shifted, secrets, settings, saved)
        init.start(box, settings, kept, saved)
    except BaseException as error:
        with contextlib.suppress(OSError):
            messages.send(box, {"event": "broken", "why": f"{type(error).__name__}: {error}"})
    os._exit(1)


def close_files(kept: set[int]) -> None:
    """Closes all files but these: what a process was started with may be others'."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in kept:
            with contextlib.suppress(OSError):
                os.close(int(name))


def main(setup_fd: int, box_fd: int) -> NoReturn:
    """Runs the first process in the namespaces that another program has made."""
    close_files({0, 1, 2, setup_fd, box_fd})
    setup, box = socket.socket(fileno=setup_fd), socket.socket(fileno=box_fd)
    for end in (setup, box):
        end.set_inheritable(False)
    messages.send(setup, {})
    order, files = messages.receive(setup)
    setup.close()
    if order is None:
        os._exit(1)
    become(box, order["settings"], list(zip(files, order["places"])), order["secrets"])


def _loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(
            any_socket, 0x8914, struct.pack("16sh14x", b"lo", 0x1 | 0x40)
        )  # SIOCSIFFLAGS: up, running
