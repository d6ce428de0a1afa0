"""The frames that the hub and a worker exchange over their Unix socket.

A frame is a header (body size and message count), one record of four unsigned integers a message (id,
code, slot, payload size), then the payloads end to end, all little endian. A frame carries as many
messages as are ready, so a batch of 64 steps costs one system call each way. Payloads are JSON and are
parsed one by one: a malformed one can't spoil its neighbours.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

HEADER = struct.Struct("<II")
RECORD_SIZE = 16
MAX_BODY = 1 << 30
"""A larger announced body is a broken peer, not a message."""

FAILURE_MARK = "envhub failure: "
"""Begins the one line on standard error that tells a failure; its traceback follows without the mark."""

Message = tuple[int, int, int, bytes]
"""(id, code, slot, payload): `code` is an operation on the way in, a status on the way out."""

# Operations.
MAKE = 1  # build the slot's environment: nothing -> nothing
RESET = 2  # {"seed", "options"} -> {"observation", "info"}
STEP = 3  # the action -> a transition
RENDER = 4  # -> text or PNG
DESCRIBE = 5  # -> spaces, splits, data, abilities
TASKS = 6  # {"split", "offset", "limit"} -> {"total", "tasks"}
GET_STATE = 7  # -> the environment's state, or null: none can be taken as it stands, but a replay leads there
SET_STATE = 8  # {"state", "steps"} -> nothing
CLOSE = 9  # close the slot's environment; MAKE or RESET builds a new one
PING = 10  # whether the worker is there -> what it did since the last time: {"resets", "steps", "seconds"}
REPLAY = 11  # a step that was taken elsewhere before: as STEP, but not counted among the steps

NO_STATE = b"null"
"""The answer to GET_STATE of an environment that has no state to give as it stands."""

# Statuses of a transition: two bits.
OK = 0
TERMINATED = 1
TRUNCATED = 2
# Other good answers.
DONE = 4  # JSON
TEXT = 5  # UTF-8 text
PNG = 6  # a picture
# Failures: the payload is {"message", "details"}, the name below is the API's code.
FIRST_ERROR = 16
ERRORS = {
    16: "environment_error",
    17: "invalid_action",
    18: "invalid_options",
    19: "unknown_task",
    20: "step_timeout",
    21: "not_json",
    22: "no_episode",
    23: "episode_over",
    24: "session_lost",
}
ERROR_CODES = {name: code for code, name in ERRORS.items()}


class FrameError(Exception):
    """The peer sent bytes that are no frame."""


def pack(messages: list[Message]) -> bytes:
    """Joins messages into one frame."""
    count = len(messages)
    numbers: list[int] = []
    for number, code, slot, payload in messages:
        numbers += (number, code, slot, len(payload))
    payloads = [message[3] for message in messages]
    records = struct.pack(f"<{4 * count}I", *numbers)
    body = b"".join((records, *payloads))
    return HEADER.pack(len(body), count) + body


class FrameReader:
    """Cuts a stream of bytes into messages, whatever pieces it arrives in."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes | memoryview) -> Iterator[Message]:
        """Takes bytes and yields the messages they complete.

        Raises:
            FrameError: The bytes are no frame; the connection can't be used any further.
        """
        buffer = self._buffer
        buffer += data
        while len(buffer) >= HEADER.size:
            size, count = HEADER.unpack_from(buffer)
            if size > MAX_BODY or count * RECORD_SIZE > size:
                raise FrameError(f"a frame of {size} bytes for {count} messages is malformed")
            end = HEADER.size + size
            if len(buffer) < end:
                return
            body = bytes(buffer[HEADER.size : end])
            del buffer[:end]
            yield from _split(body, count)


def _split(body: bytes, count: int) -> Iterator[Message]:
    numbers = struct.unpack_from(f"<{4 * count}I", body)
    at = count * RECORD_SIZE
    for first in range(0, 4 * count, 4):
        number, code, slot, size = numbers[first : first + 4]
        payload = body[at : at + size]
        if len(payload) != size:
            raise FrameError(f"message {number} announces {size} bytes and has {len(payload)}")
        at += size
        yield number, code, slot, payload
    if at != len(body):
        raise FrameError(f"{len(body) - at} bytes are left over in a frame")
