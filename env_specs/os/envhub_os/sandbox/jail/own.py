"""Namespaces of our own making.

It takes two forks. The first child joins the control group and unshares; its own child is the first process
of the pid namespace, is handed to the launcher (a subreaper), and dies with it.
"""

from __future__ import annotations

import os
import socket
from typing import NoReturn

from . import first, kernel, namespaces
from .making import Held, Order, give_up, hear, limit, send_trees, tell


def start(order: Order) -> Held:
    """Makes a sandbox, which is of the launcher's making alone."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours, theirs:
        folders = order.groups.make(order.number, order.settings)
        child = os.fork()
        if child == 0:
            ours.close()
            _first_child(theirs, order, folders)
        theirs.close()
        try:
            hear(ours)  # it has unshared
            namespaces.map_ids(child, order.source, child)
            send_trees(ours, child, order)
            pid = int(hear(ours)[0]["pid"])
        except BaseException:
            give_up(child, folders)
            raise
        os.waitpid(child, 0)
        tell(ours, {})
        return Held([pid], folders)


def _first_child(setup: socket.socket, order: Order, folders: list[str]) -> NoReturn:
    try:
        order.control.close()
        limit(order, folders)
        if order.source == "root":
            namespaces.become_owner(namespaces.root_id(os.getpid()))
        elif order.settings["rootfs"]:
            # Root in the namespaces may not enter this user's folders: it is there already.
            os.chdir(order.settings["rootfs"])
            order.settings["rootfs"] = "."
        kernel.unshare(namespaces.NAMESPACES)
        tell(setup, {})
        build, files = hear(setup)
        namespaces.become_root(order.source)
        pid = os.fork()
        if pid == 0:
            hear(setup)  # the launcher is the parent now
            setup.close()
            first.become(order.box, order.settings, list(zip(files, build["places"])), order.secrets)
        tell(setup, {"pid": pid})
    except BaseException as error:
        tell(setup, {"error": getattr(error, "strerror", None) or str(error)})
    os._exit(0)
