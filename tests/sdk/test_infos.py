from typing import Any

import gymnasium
import numpy as np
import pytest

from envhub_sdk import _infos

UNIFORM: list[list[dict[str, Any]]] = [
    [{}, {}],
    [{"a": 1, "b": 1.5, "c": True}, {"a": 2}],
    [{"text": "x"}, {"text": "y", "list": [1, 2]}],
    [{"inner": {"x": 1, "deep": {"y": "z"}}}, {"inner": {"x": 2}}],
    [{"final_obs": {"a": 1}, "final_info": {"k": 1}}, {}],
    [{}, {"none": None}],
]


@pytest.mark.parametrize("infos", UNIFORM, ids=str)
def test_uniform_infos_are_batched_as_gymnasium_does(infos: list[dict[str, Any]]) -> None:
    envs: gymnasium.vector.VectorEnv[Any, Any, Any] = gymnasium.vector.VectorEnv()
    envs.num_envs = len(infos)
    expected: dict[str, Any] = {}
    for i, info in enumerate(infos):
        expected = envs._add_info(expected, info, i)
    _assert_same(_infos.batch(dict(enumerate(infos)), len(infos)), expected)


def _assert_same(one: Any, other: Any) -> None:
    assert one.keys() == other.keys()
    for key, value in one.items():
        if isinstance(value, dict):
            _assert_same(value, other[key])
        else:
            assert value.dtype == other[key].dtype
            np.testing.assert_array_equal(value, other[key])


def test_values_of_different_kinds_become_objects() -> None:
    mixed = _infos.batch({0: {"a": None, "b": 1}, 1: {"a": {"x": 1}, "b": "one"}, 3: {"b": 2**70}}, 4)
    assert mixed["a"].tolist() == [None, {"x": 1}, None, None]
    assert mixed["b"].tolist() == [1, "one", None, 2**70]
    assert mixed["_a"].tolist() == [True, True, False, False]
    assert _infos.batch({0: {"n": 2**70}}, 1)["n"].tolist() == [2**70]


def test_whole_and_broken_numbers_are_all_floats() -> None:
    numbers = _infos.batch({0: {"n": 1}, 1: {"n": 0.5}}, 2)["n"]
    assert (numbers.dtype, numbers.tolist()) == (np.float64, [1.0, 0.5])
