"""What passes as a worker's answer: whoever gets it relies on its form."""

import contextlib
import json
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from envhub.pool._answers import check_answer
from envhub.worker import codec, frames

GOOD: dict[str, Any] = {"observation": "é", "reward": 1, "terminated": False, "truncated": False, "info": {}}


def transition(**other: Any) -> bytes:
    return json.dumps({**GOOD, **other}, ensure_ascii=False).encode()


def nested(depth: int) -> bytes:
    return b'{"observation":%b,"info":{}}' % (b"[" * depth + b"]" * depth)


@pytest.mark.parametrize("operation", [frames.STEP, frames.REPLAY])
def test_what_workers_say_passes(operation: int) -> None:
    check_answer(operation, frames.OK, codec.dump_transition("é\n", 1.0, False, False, {"task": None}))
    check_answer(operation, frames.TERMINATED, codec.dump_transition([float("nan")], 1, True, False, {}))


@pytest.mark.parametrize(
    "forged",
    [
        transition() + b"," + transition(),  # two results of a batch in place of one
        transition(observation=[0]).replace(
            b"[0]", b'[\n{"event":"ended","session":"s-1"}\n]'
        ),  # a log's line
        transition(step_index=3),
        transition(reset={}),
        transition(reward=None),
        transition(reward="1"),
        transition(terminated=1),
        transition(terminated=True),  # the status says otherwise
        transition()[:-1] + b"} ",
        b" " + transition(),
        b'{"observation":}',
        b'{"observation":1}',
        b'{"observation":nan}',
        transition().replace(b"\xc3", b""),
    ],
)
def test_a_forged_transition_does_not(forged: bytes) -> None:
    with pytest.raises(frames.FrameError):
        check_answer(frames.STEP, frames.OK, forged)


@pytest.mark.parametrize(
    "forged",
    [
        b"{}",
        b'{"observation":1,"info":2,"seed":3}',
        b'{"observation":[\n],"info":1}',
        b'{"observation":1,"info":2} ',
    ],
)
def test_a_forged_start_does_not(forged: bytes) -> None:
    with pytest.raises(frames.FrameError):
        check_answer(frames.RESET, frames.DONE, forged)


def test_what_is_nested_too_deeply_is_told_apart() -> None:
    with pytest.raises(RecursionError):
        check_answer(frames.RESET, frames.DONE, nested(1_000_000))


@pytest.mark.parametrize("depth", [300, *range(600, 1000, 10)])
def test_what_passes_can_be_read_where_the_stack_is_deeper(depth: int) -> None:
    def read(frames_deeper: int) -> None:
        msgspec.json.decode(nested(depth)) if frames_deeper == 0 else read(frames_deeper - 1)

    with contextlib.suppress(RecursionError):
        check_answer(frames.RESET, frames.DONE, nested(depth))
        read_safely(read)


def read_safely(read: Callable[[int], None]) -> None:
    """Reads 150 frames deeper; a `RecursionError` of this is a failure."""
    try:
        read(150)
    except RecursionError:
        pytest.fail("it passed and can't be read")


@pytest.mark.parametrize(
    ("operation", "forged"),
    [
        (frames.DESCRIBE, b'{"splits":[],"data":null,"native_snapshot":true,"render":false}'),
        (frames.DESCRIBE, b'{"splits":{},"data":5,"native_snapshot":true,"render":false}'),
        (frames.GET_STATE, b'{"state":\n1}'),
        (frames.TASKS, b'{"total":1,"tasks":[\n1]}'),
    ],
)
def test_other_forged_answers_do_not(operation: int, forged: bytes) -> None:
    with pytest.raises(frames.FrameError):
        check_answer(operation, frames.DONE, forged)


def test_the_details_of_a_failure_are_flat() -> None:
    code = frames.ERROR_CODES["environment_error"]
    check_answer(frames.STEP, code, b'{"message":"no","details":{"type":"E","traceback":"t"}}')
    with pytest.raises(frames.FrameError):
        check_answer(frames.STEP, code, b'{"message":"no","details":{"deep":[[]]}}')
