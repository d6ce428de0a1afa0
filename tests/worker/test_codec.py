"""Values to JSON, spaces to their descriptions, actions back to values."""

import json
import math
import struct
import zlib
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envhub.worker import codec
from envhub_sdk import spaces as sdk_spaces


def dumped(value: object) -> Any:
    return json.loads(codec.dump(value))


# -- values -----------------------------------------------------------------------------------------

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(PLAIN)
def test_what_json_knows_comes_back_as_it_was(value: object) -> None:
    assert dumped(value) == value


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.arange(6, dtype=np.int8).reshape(2, 3), [[0, 1, 2], [3, 4, 5]]),
        (np.float32(0.5), 0.5),
        (np.int64(-3), -3),
        (np.bool_(True), True),
        (np.array("word"), "word"),
        (np.zeros((0, 3)), []),
        ({"deep": [(np.uint8(7), np.array([1.5]))]}, {"deep": [[7, [1.5]]]}),
    ],
)
def test_numpy_becomes_plain(value: object, expected: object) -> None:
    assert dumped(value) == expected


def test_numbers_that_json_lacks_become_names_wherever_they_are() -> None:
    value = {
        "a": [math.nan, np.float64("inf")],
        "b": (-math.inf, 1.0),
        "c": np.array([np.nan, 2.0], dtype=np.float32),
    }
    assert dumped(value) == {"a": ["NaN", "Infinity"], "b": ["-Infinity", 1.0], "c": ["NaN", 2.0]}


def test_half_a_surrogate_pair_is_replaced_not_raised() -> None:
    assert dumped(["ok", "\ud800"]) == ["ok", "?"]


def test_a_circle_is_refused_also_beside_a_number_that_json_lacks() -> None:
    circle: list[object] = []
    circle.append(circle)
    with pytest.raises(TypeError, match="contains itself or"):
        codec.dump(circle)
    with pytest.raises(TypeError, match="contains itself or"):
        codec.dump([math.nan, circle])


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", {"a": [lambda: None]}, 1j])
def test_what_has_no_json_form_is_named(value: object) -> None:
    with pytest.raises(TypeError, match="no JSON form"):
        codec.dump(value)


# -- spaces -----------------------------------------------------------------------------------------

SPACES: list[gym.Space[Any]] = [
    gym.spaces.Discrete(5),
    gym.spaces.Discrete(3, start=-1),
    gym.spaces.Box(-1.0, 1.0, (2, 3), np.float32),
    gym.spaces.Box(np.array([0.0, -np.inf]), np.array([np.inf, 9.0]), dtype=np.float64),
    gym.spaces.Box(0, 255, (4, 4, 3), np.uint8),
    gym.spaces.MultiDiscrete([2, 3, 4]),
    gym.spaces.MultiBinary(4),
    gym.spaces.MultiBinary([2, 3]),
    gym.spaces.Text(8, min_length=2, charset="abc"),
    gym.spaces.Tuple((gym.spaces.Discrete(2), gym.spaces.Text(3))),
    gym.spaces.Dict({"a": gym.spaces.Discrete(2), "b": gym.spaces.Tuple((gym.spaces.MultiBinary(2),))}),
]


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_the_sdk_builds_the_same_space_from_its_description(space: gym.Space[Any]) -> None:
    described = codec.space_to_json(space)
    assert described is not None
    assert sdk_spaces.from_json(json.loads(codec.dump(described))) == space


@pytest.mark.parametrize("space", SPACES, ids=str)
def test_an_action_sampled_from_a_space_arrives_as_it_was(space: gym.Space[Any]) -> None:
    parse = codec.action_parser(None, space)
    space.seed(3)
    for _ in range(20):
        action = space.sample()
        arrived = parse(codec.dump(action))
        assert space.contains(arrived)
        assert codec.dump(arrived) == codec.dump(action)


def test_no_space_and_an_unknown_space_have_no_description() -> None:
    assert codec.space_to_json(None) is None
    assert codec.space_to_json(gym.spaces.Sequence(gym.spaces.Discrete(2))) is None


# -- actions ----------------------------------------------------------------------------------------

DISCRETE = gym.spaces.Discrete(3)
BOX = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
PAIR = gym.spaces.Tuple((gym.spaces.Discrete(2), gym.spaces.Discrete(2)))
NAMED = gym.spaces.Dict({"a": gym.spaces.Discrete(2)})


@pytest.mark.parametrize(
    ("space", "payload"),
    [
        (DISCRETE, b"3"),
        (DISCRETE, b"-1"),
        (DISCRETE, b"1.5"),
        (DISCRETE, b'"1"'),
        (DISCRETE, b"null"),
        (DISCRETE, b"[]"),
        (BOX, b"[0]"),
        (BOX, b"[0, 2]"),
        (BOX, b'["NaN", 0]'),
        (BOX, b"[[0], [0, 1]]"),
        (BOX, b'{"a": 1}'),
        (BOX, b"null"),
        (gym.spaces.Box(0, 255, (1,), np.uint8), b"[300]"),
        (gym.spaces.Box(0, 255, (1,), np.uint8), b"[-1]"),
        (gym.spaces.Box(0, 255, (1,), np.uint8), b"[1.5]"),
        (gym.spaces.MultiDiscrete([2, 2]), b"[1, 2]"),
        (gym.spaces.MultiDiscrete([2, 2]), b"[0.7, 1]"),
        (gym.spaces.MultiDiscrete([2, 2]), b'["1", "0"]'),
        (gym.spaces.MultiBinary(2), b"[0, 2]"),
        (PAIR, b"[0]"),
        (PAIR, b"[0, 1, 0]"),
        (PAIR, b"7"),
        (PAIR, b'"ab"'),
        (NAMED, b"{}"),
        (NAMED, b"[]"),
        (NAMED, b'{"a": 2}'),
        (gym.spaces.Text(3), b'"long one"'),
        (gym.spaces.Text(3), b"3"),
    ],
    ids=str,
)
def test_an_action_outside_its_space_is_refused_with_the_reason(
    space: gym.Space[Any], payload: bytes
) -> None:
    with pytest.raises(codec.ActionRefused) as refused:
        codec.action_parser(None, space)(payload)
    assert refused.value.envhub_code == "invalid_action"
    assert str(refused.value)


NOT_JSON = [b"", b"{", b"'a'", b'"\xff"', b"1" * 5000, b"[" * 100_000, b"01"]


@pytest.mark.parametrize("payload", NOT_JSON, ids=lambda payload: repr(payload[:8]))
@pytest.mark.parametrize("declared", [None, {"type": "Text", "max_length": 9}])
def test_what_is_no_json_is_refused(payload: bytes, declared: dict[str, Any] | None) -> None:
    with pytest.raises(codec.ActionRefused, match="not JSON"):
        codec.action_parser(declared, None)(payload)


def test_a_declared_text_space_counts_characters() -> None:
    parse = codec.action_parser({"type": "Text", "min_length": 1, "max_length": 3}, None)
    assert parse('"äöü"'.encode()) == "äöü"
    for bad, reason in ((b'""', "0 characters"), (b'"abcd"', "4 characters"), (b"1", "not int")):
        with pytest.raises(codec.ActionRefused, match=reason):
            parse(bad)


def test_without_any_space_an_action_is_what_its_json_says() -> None:
    assert codec.action_parser(None, None)(b'{"a": [1, null]}') == {"a": [1, None]}


# -- pictures ---------------------------------------------------------------------------------------


def test_a_picture_is_a_png_of_the_same_pixels() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (5, 7, 3), dtype=np.uint8)
    data = codec.png(pixels)
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    chunks, at = {}, 8
    while at < len(data):
        (size,) = struct.unpack(">I", data[at : at + 4])
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0]
        chunks[kind], at = body, at + 12 + size
    assert struct.unpack(">II", chunks[b"IHDR"][:8]) == (7, 5)
    rows = np.frombuffer(zlib.decompress(chunks[b"IDAT"]), np.uint8).reshape(5, 1 + 7 * 3)
    assert (rows[:, 1:].reshape(5, 7, 3) == pixels).all()


def test_other_arrays_are_no_pictures() -> None:
    with pytest.raises(TypeError, match="picture"):
        codec.png(np.zeros((2, 2, 4), np.uint8))
    with pytest.raises(TypeError, match="picture"):
        codec.png(np.zeros((2, 2, 3), np.float32))


@given(
    st.text() | st.integers() | st.none(),
    st.floats(allow_nan=False, allow_infinity=False) | st.integers(),
    st.booleans(),
    st.booleans(),
    st.just({}) | st.dictionaries(st.text(), st.text(), max_size=2) | st.none(),
)
def test_a_transition_is_encoded_as_any_other_value(
    observation: Any, reward: float, terminated: bool, truncated: bool, info: Any
):
    value = {
        "observation": observation,
        "reward": reward,
        "terminated": terminated,
        "truncated": truncated,
        "info": info,
    }
    assert codec.dump_transition(observation, reward, terminated, truncated, info) == codec.dump(value)
