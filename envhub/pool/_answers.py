"""What a worker may answer. Anything else is the word of a broken worker and is not passed on.

A step's answer is looked at just enough that whoever handles it can rely on its form: it is the hot path, and
what is inside belongs to the environment.
"""

from __future__ import annotations

from typing import Any

import msgspec

from envhub.worker import frames


class _Failure(msgspec.Struct):
    message: str
    details: dict[str, Any]


class _Start(msgspec.Struct):
    observation: msgspec.Raw
    info: msgspec.Raw


class _Page(msgspec.Struct):
    total: int
    tasks: list[msgspec.Raw]


class _Report(msgspec.Struct):
    resets: int
    steps: list[int]
    seconds: float


_failure = msgspec.json.Decoder(_Failure)
_good: dict[int, msgspec.json.Decoder[Any]] = {
    frames.RESET: msgspec.json.Decoder(_Start),
    frames.TASKS: msgspec.json.Decoder(_Page),
    frames.PING: msgspec.json.Decoder(_Report),
    frames.DESCRIBE: msgspec.json.Decoder(dict[str, Any]),
}
_any = msgspec.json.Decoder(msgspec.Raw)
_TRANSITION = b'{"observation":'
_LOST = frames.ERROR_CODES["session_lost"]  # which only the hub can tell


def check_answer(operation: int, code: int, payload: bytes) -> None:
    """Checks that this can be an answer to that operation.

    Raises:
        FrameError: It can't.
    """
    try:
        if code >= frames.FIRST_ERROR:
            if code not in frames.ERRORS or code == _LOST:
                raise frames.FrameError(f"{code} is no status")
            _failure.decode(payload)
        elif operation in (frames.STEP, frames.REPLAY):
            is_object = payload.startswith(_TRANSITION) and payload.endswith(b"}")
            if code > frames.TERMINATED | frames.TRUNCATED or not is_object:
                raise frames.FrameError("this is no transition")
            if not payload.isascii():
                payload.decode()
        elif operation == frames.RENDER:
            if code not in (frames.TEXT, frames.PNG):
                raise frames.FrameError("this is no picture")
        elif code != frames.DONE:
            raise frames.FrameError(f"{code} is no status of operation {operation}")
        else:
            _good.get(operation, _any).decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise frames.FrameError(f"the answer to operation {operation} is not one: {error}") from None
    except RecursionError:
        pass  # an environment may nest deeper than a decoder looks
