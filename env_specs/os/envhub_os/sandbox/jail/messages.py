"""Messages between the worker, its launcher and first processes: JSON, with open files attached.

`socket.recv_fds` drops its flags in some of Python's versions, and a file received without close-on-exec
would be handed to the agent's programs.
"""

from __future__ import annotations

import array
import json
import socket
from collections.abc import Sequence
from typing import Any

MAX_BYTES = 160_000
MAX_FILES = 16


def send(to: socket.socket, message: dict[str, Any], files: Sequence[int] = ()) -> None:
    """Sends a message.

    Raises:
        OSError: The other end is gone, or the message is longer than `MAX_BYTES`.
    """
    attached = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
    to.sendmsg([json.dumps(message).encode()], attached)


def receive(of: socket.socket) -> tuple[dict[str, Any] | None, list[int]]:
    """Waits for a message; None when the other end is gone."""
    room, files = socket.CMSG_SPACE(4 * MAX_FILES), array.array("i")
    text, attached, _, _ = of.recvmsg(MAX_BYTES, room, socket.MSG_CMSG_CLOEXEC)
    for level, kind, data in attached:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            files.frombytes(data[: len(data) - len(data) % files.itemsize])
    return (json.loads(text) if text else None), files.tolist()
