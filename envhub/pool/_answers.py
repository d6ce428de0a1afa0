"""What a worker may answer. Anything else is the word of a broken worker and is not passed on.

Environments run in workers, so a worker may say anything. What passes here can be relied on everywhere else:
a transition and a reset are spliced into batch replies and log lines as they are, so they are one object of
JSON on one line, with exactly its fields and not too deep to be read again. What is inside of observation and
info belongs to the environment.
"""

from __future__ import annotations

from typing import Any

import msgspec

from envhub.worker import frames


class _Failure(msgspec.Struct):
    message: str
    details: dict[str, str | int | float | bool | None]


class _Start(msgspec.Struct, forbid_unknown_fields=True):
    observation: msgspec.Raw
    info: msgspec.Raw


class _Transition(msgspec.Struct, forbid_unknown_fields=True):
    observation: msgspec.Raw
    reward: float
    terminated: bool
    truncated: bool
    info: msgspec.Raw


class _Data(msgspec.Struct):
    digest: str | None = None


class _Description(msgspec.Struct):
    splits: dict[str, int | None]
    data: _Data | None
    native_snapshot: bool
    render: bool


class _Page(msgspec.Struct):
    total: int
    tasks: list[msgspec.Raw]


class _Report(msgspec.Struct):
    resets: int
    steps: list[int]
    seconds: float


_failure = msgspec.json.Decoder(_Failure)
_good: dict[int, msgspec.json.Decoder[Any]] = {
    frames.TASKS: msgspec.json.Decoder(_Page),
    frames.PING: msgspec.json.Decoder(_Report),
    frames.DESCRIBE: msgspec.json.Decoder(_Description),
}
_any = msgspec.json.Decoder(msgspec.Raw)
_starts = msgspec.json.Decoder(_Start)
_transitions = msgspec.json.Decoder(_Transition)
_OBJECT = b'{"observation":'
_BRACKETS = 400
"""So many do no harm, however they are nested."""
_MARGIN = 200
"""Frames by which the stack may be deeper where an answer is read again."""
_LOST = frames.ERROR_CODES["session_lost"]  # which only the hub can tell


def check_answer(operation: int, code: int, payload: bytes) -> None:
    """Checks that this can be an answer to that operation.

    Raises:
        FrameError: It can't.
        RecursionError: It can, and is nested too deeply to be read.
    """
    try:
        if code >= frames.FIRST_ERROR:
            if code not in frames.ERRORS or code == _LOST:
                raise frames.FrameError(f"{code} is no status")
            _failure.decode(payload)
        elif operation in (frames.STEP, frames.REPLAY):
            _check_object(payload)
            step = _transitions.decode(payload)
            if code != step.terminated * frames.TERMINATED + step.truncated * frames.TRUNCATED:
                raise frames.FrameError("this is no transition of that status")
            _check_depth(_transitions, payload)
        elif operation == frames.RENDER:
            if code not in (frames.TEXT, frames.PNG):
                raise frames.FrameError("this is no picture")
        elif code != frames.DONE:
            raise frames.FrameError(f"{code} is no status of operation {operation}")
        elif operation == frames.RESET:
            _check_object(payload)
            _starts.decode(payload)
            _check_depth(_starts, payload)
        else:
            _check_line(payload)
            _good.get(operation, _any).decode(payload)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise frames.FrameError(f"the answer to operation {operation} is not one: {error}") from None


def _check_object(payload: bytes) -> None:
    """Checks that something can be put behind its beginning and before its end."""
    if not (payload.startswith(_OBJECT) and payload.endswith(b"}")):
        raise frames.FrameError("this is neither a transition nor a start")
    _check_line(payload)


def _check_line(payload: bytes) -> None:
    """Checks that it is one line of text: a decoder looks at neither in what it leaves as it is."""
    if b"\n" in payload:
        raise frames.FrameError("an answer is one line")
    if not payload.isascii():
        payload.decode()


def _check_depth(decoder: msgspec.json.Decoder[Any], payload: bytes) -> None:
    """Checks that what could be decoded here can be where the stack is deeper.

    Raises:
        RecursionError: It can't.
    """
    if payload.count(b"[") + payload.count(b"{") > _BRACKETS:
        _decode_below(_MARGIN, decoder, payload)


def _decode_below(frames_deeper: int, decoder: msgspec.json.Decoder[Any], payload: bytes) -> None:
    if frames_deeper:
        _decode_below(frames_deeper - 1, decoder, payload)
    else:
        decoder.decode(payload)
