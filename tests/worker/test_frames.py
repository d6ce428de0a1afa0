"""The framing: whatever pieces a stream arrives in, the same messages; whatever garbage, an error."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from envhub.worker import frames

NUMBER = st.integers(0, 2**32 - 1)
MESSAGE = st.tuples(NUMBER, NUMBER, NUMBER, st.binary(max_size=200))
FRAMES = st.lists(st.lists(MESSAGE, max_size=5), max_size=5)


def header(size: int, count: int) -> bytes:
    return struct.pack("<II", size, count)


@given(FRAMES, st.data())
def test_any_cut_of_the_stream_gives_the_same_messages(
    sent: list[list[frames.Message]], data: st.DataObject
) -> None:
    stream = b"".join(map(frames.pack, sent))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=12)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    reader = frames.FrameReader()
    received = [message for piece in pieces for message in reader.feed(piece)]
    assert received == [message for frame in sent for message in frame]


@given(st.lists(MESSAGE, min_size=1, max_size=5))
def test_byte_by_byte(sent: list[frames.Message]) -> None:
    reader = frames.FrameReader()
    stream = frames.pack(sent)
    received = [message for i in range(len(stream)) for message in reader.feed(stream[i : i + 1])]
    assert received == sent


@given(st.binary(max_size=300))
def test_garbage_is_messages_or_an_error_and_never_anything_else(garbage: bytes) -> None:
    reader = frames.FrameReader()
    try:
        messages = list(reader.feed(garbage))
    except frames.FrameError:
        return
    assert sum(len(payload) for *_, payload in messages) <= len(garbage)


@given(st.lists(MESSAGE, min_size=1, max_size=3), st.data())
def test_one_flipped_byte_never_raises_anything_but_a_frame_error(
    sent: list[frames.Message], data: st.DataObject
) -> None:
    stream = bytearray(frames.pack(sent))
    at = data.draw(st.integers(0, len(stream) - 1))
    stream[at] ^= data.draw(st.integers(1, 255))
    reader = frames.FrameReader()
    try:
        list(reader.feed(bytes(stream)))
    except frames.FrameError as error:
        assert str(error)


@pytest.mark.parametrize(
    "bad",
    [
        header(frames.MAX_BODY + 1, 1),
        header(0xFFFFFFFF, 0xFFFFFFFF),
        header(15, 1),
        header(16, 1) + struct.pack("<4I", 1, 2, 3, 1),
        header(18, 1) + struct.pack("<4I", 1, 2, 3, 1) + b"ab",
        header(4, 0) + b"left",
    ],
    ids=["too big", "all ones", "no room for a record", "payload too short", "payload too long", "left over"],
)
def test_a_malformed_frame_is_refused(bad: bytes) -> None:
    with pytest.raises(frames.FrameError):
        list(frames.FrameReader().feed(bad))


def test_an_announced_size_allocates_nothing_before_its_bytes_arrive() -> None:
    reader = frames.FrameReader()
    assert list(reader.feed(header(frames.MAX_BODY, 1))) == []
    assert len(reader._buffer) == frames.HEADER.size


def test_an_empty_frame_is_no_message() -> None:
    assert list(frames.FrameReader().feed(frames.pack([]) * 3)) == []


def test_every_error_has_its_own_number_above_the_good_ones() -> None:
    assert min(frames.ERRORS) == frames.FIRST_ERROR > frames.PNG
    assert {frames.ERROR_CODES[name] for name in frames.ERRORS.values()} == set(frames.ERRORS)
