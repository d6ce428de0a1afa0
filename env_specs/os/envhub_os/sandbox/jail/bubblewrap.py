"""Namespaces made by bubblewrap, where its program may make them and others may not.

Ubuntu's AppArmor, for one, allows them by program. Bubblewrap makes them, and the same first process as
everywhere goes on inside: it mounts, since bubblewrap's own overlays came with 0.11, limit no size and shift
no owners. It has all capabilities in them for that, none outside; what it starts has few and the filter.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import sys
from typing import NoReturn

from . import kernel, namespaces
from .making import Held, Order, give_up, hear, limit, send_trees

NAME = "bwrap"
NAMESPACES = ("user", "ipc", "pid", "net", "uts", "cgroup")
HERE = os.path.dirname(os.path.abspath(__file__))
REACH = "/sys"


def start(order: Order) -> Held:
    """Makes a sandbox of bubblewrap and the first process that it starts."""
    program = shutil.which(NAME)
    if program is None:
        raise OSError(0, "bubblewrap is not installed (its program is called bwrap)")
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    (info, says), (waits, go), errors = os.pipe(), os.pipe(), os.memfd_create("errors")
    with ours, theirs, contextlib.ExitStack() as files:
        for file in (info, go, errors):
            files.callback(os.close, file)
        folders = order.groups.make(order.number, order.settings)
        child = os.fork()
        if child == 0:
            _become(program, theirs, (says, waits, errors), order, folders)
        for file in (says, waits):
            os.close(file)
        theirs.close()
        try:
            pid = _first_process(info)
            namespaces.map_ids(pid, order.source, child, own_root=True)
            os.write(go, b"1")
            hear(ours)  # its first process runs
            send_trees(ours, pid, order)
        except BaseException as error:
            give_up(child, folders)
            said = os.pread(errors, 1000, 0).decode("utf-8", "replace").strip()
            if isinstance(error, OSError) and said:
                raise OSError(0, said) from error
            raise
        return Held([pid, child], folders)


def _become(
    program: str, setup: socket.socket, files: tuple[int, int, int], order: Order, folders: list[str]
) -> NoReturn:
    """Becomes bubblewrap; what it starts inside is told the rest by `setup`."""
    info, wait, errors = files
    try:
        order.control.close()
        os.dup2(errors, 2)
        limit(order, folders)
        interpreter, jail = sys.executable, HERE
        if order.source == "root":  # bubblewrap gives root's id inside to who it runs as
            interpreter, jail = _reachable()
            root = namespaces.root_id(os.getpid())
            os.setgroups([])
            os.setresgid(root, root, root)
            os.setresuid(root, root, root)
        for file in (setup.fileno(), order.box.fileno(), info, wait):
            os.set_inheritable(file, True)
        argv = [NAME, *(f"--unshare-{name}" for name in NAMESPACES)]
        argv += ["--uid", "0", "--gid", "0", "--cap-add", "ALL", "--die-with-parent", "--as-pid-1"]
        argv += ["--info-fd", str(info), "--userns-block-fd", str(wait), "--dev-bind", "/", "/", "--"]
        argv += [
            interpreter,
            "-I",
            "-S",
            "-X",
            "utf8",
            f"{jail}/__main__.py",
            "first",
            str(setup.fileno()),
            str(order.box.fileno()),
        ]
        os.execve(program, argv, {"PATH": os.defpath, "LANG": "C.UTF-8"})
    except BaseException as error:
        os.write(2, str(error).encode())
    os._exit(1)


def _reachable() -> tuple[str, str]:
    """Paths of the interpreter and this folder for a user who may not go where they lie, below `/root` say.

    They are mounted in a mount namespace of this process's own, over a folder that nobody here needs.
    """
    kernel.unshare(kernel.CLONE_NEWNS)
    kernel.mount("none", "/", flags=kernel.MS_REC | kernel.MS_PRIVATE)
    home, program = os.open(sys.base_prefix, os.O_PATH), os.path.realpath(sys.executable)
    folder = os.open(HERE, os.O_PATH)
    kernel.mount("tmpfs", REACH, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=64k,mode=0755")
    for name, source in (("python", home), ("jail", folder)):
        os.mkdir(f"{REACH}/{name}")
        kernel.mount(f"/proc/self/fd/{source}", f"{REACH}/{name}", flags=kernel.MS_BIND | kernel.MS_REC)
    return f"{REACH}/python/{os.path.relpath(program, os.path.realpath(sys.base_prefix))}", f"{REACH}/jail"


def _first_process(info: int) -> int:
    """The id of the process that it started, from what it says of it."""
    text = b""
    while not text.rstrip().endswith(b"}"):
        chunk = os.read(info, 4096)
        if not chunk:
            raise OSError(0, "bubblewrap ended early")
        text += chunk
    return int(json.loads(text)["child-pid"])
