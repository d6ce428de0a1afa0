import math
from typing import Any

import gymnasium
import msgspec
import numpy as np
import pytest
from gymnasium.vector.utils import batch_space, iterate
from hypothesis import given
from hypothesis import strategies as st

from envhub.worker import codec
from envhub_sdk import InvalidAction, UnicodeText, spaces

SPACES: list[gymnasium.Space[Any]] = [
    gymnasium.spaces.Text(7, min_length=2, charset="abc"),
    gymnasium.spaces.Discrete(5),
    gymnasium.spaces.Discrete(5, start=-2),
    gymnasium.spaces.Box(-1.0, 1.0, (2, 3), np.float32),
    gymnasium.spaces.Box(np.array([-np.inf, 0.0]), np.array([np.inf, 1.0]), dtype=np.float64),
    gymnasium.spaces.Box(0, 255, (4, 4, 3), np.uint8),
    gymnasium.spaces.MultiDiscrete([2, 3]),
    gymnasium.spaces.MultiDiscrete([2, 3], start=[1, -1]),
    gymnasium.spaces.MultiBinary(4),
    gymnasium.spaces.MultiBinary([2, 2]),
    gymnasium.spaces.Dict({"a": gymnasium.spaces.Discrete(3), "b": gymnasium.spaces.Box(0, 1, (2,))}),
    gymnasium.spaces.Tuple([gymnasium.spaces.Discrete(3), gymnasium.spaces.Text(3)]),
]


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_a_space_survives_the_wire(space: gymnasium.Space[Any]) -> None:
    assert spaces.from_json(msgspec.json.decode(codec.dump(codec.space_to_json(space)))) == space


@pytest.mark.parametrize("space", SPACES, ids=repr)
def test_observations_and_actions_survive_the_wire(space: gymnasium.Space[Any]) -> None:
    space.seed(0)
    for _ in range(5):
        value = space.sample()
        for sent in (codec.dump(value), spaces.encode(value)):
            restored = spaces.decode(space, msgspec.json.decode(sent))
            assert space.contains(restored)
            assert spaces.encode(restored) == spaces.encode(value)


def test_arrays_come_back_with_dtype_and_shape() -> None:
    box = gymnasium.spaces.Box(0, 255, (2, 2), np.uint8)
    value = spaces.decode(box, [[1, 2], [3, 4]])
    assert (value.dtype, value.shape) == (np.uint8, (2, 2))
    assert type(spaces.decode(gymnasium.spaces.Discrete(3), 1)) is np.int64


def test_numbers_json_does_not_know_travel_as_strings() -> None:
    array = np.array([np.nan, np.inf, -np.inf, 1.5])
    assert spaces.encode(array) == b'["NaN","Infinity","-Infinity",1.5]'
    box = gymnasium.spaces.Box(-np.inf, np.inf, (4,), np.float64)
    np.testing.assert_array_equal(spaces.decode(box, ["NaN", "Infinity", "-Infinity", 1.5]), array)
    assert spaces.encode({"x": math.inf}) == b'{"x":"Infinity"}'


@pytest.mark.parametrize(
    "space",
    [None, {}, {"type": "Graph"}, {"type": "Box", "low": 0}, {"type": "Text", "max_length": "many"}],
    ids=str,
)
def test_what_is_no_space_is_refused(space: Any) -> None:
    with pytest.raises(ValueError, match=r"is no( valid)?"):
        spaces.from_json(space)


def test_a_value_of_the_wrong_structure_is_refused() -> None:
    box = gymnasium.spaces.Box(0, 1, (2,))
    with pytest.raises(ValueError, match="does not fit"):
        spaces.decode(box, [1, 2, 3])
    with pytest.raises(ValueError, match="does not fit"):
        spaces.decode(gymnasium.spaces.Dict({"a": box}), {"b": [0, 1]})


@given(st.text(max_size=20))
def test_unicode_text_holds_any_text_of_its_lengths(text: str) -> None:
    assert UnicodeText(10, min_length=2).contains(text) == (2 <= len(text) <= 10)


def test_samples_of_unicode_text_are_short_printable_ascii() -> None:
    space = UnicodeText(1_000_000, min_length=3, seed=0)
    for _ in range(50):
        sample = space.sample()
        assert space.contains(sample) and sample.isascii() and sample.isprintable() and len(sample) <= 35


def test_unicode_text_is_equal_by_its_bounds_and_batches_to_a_tuple() -> None:
    space = UnicodeText(5)
    assert space == UnicodeText(5) and space != UnicodeText(6) and space != gymnasium.spaces.Text(5)
    batch = batch_space(space, 3)
    assert isinstance(batch, gymnasium.spaces.Tuple) and len(batch) == 3
    assert list(iterate(batch, ("a", "b", "ü"))) == ["a", "b", "ü"]


@pytest.mark.parametrize("action", ["\ud800", {"say": ["look \udfff"]}])
def test_half_of_a_surrogate_pair_is_an_invalid_action(action: Any) -> None:
    with pytest.raises(InvalidAction, match="no valid Unicode"):
        spaces.encode(action)
