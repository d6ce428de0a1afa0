"""Infos of many sub-environments in Gymnasium's vector form.

Gymnasium's own `VectorEnv._add_info` goes by the first value of a key and fails when another
sub-environment's is of another kind (a dict here, None there). Environments on a hub are other people's,
so here mixed values become an array of objects; all else is as Gymnasium does it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

FINAL_OBSERVATION = "final_obs"


def batch(infos: Mapping[int, Mapping[str, Any]], num_envs: int) -> dict[str, Any]:
    """Batch infos by key; `_key` says which sub-environments have it.

    Args:
        infos: The infos, by index of the sub-environment; some may be missing.
        num_envs: Number of sub-environments.
    """
    by_key: dict[str, dict[int, Any]] = {}
    for i, info in infos.items():
        for key, value in info.items():
            by_key.setdefault(key, {})[i] = value
    batched: dict[str, Any] = {}
    for key, values in by_key.items():
        if key != FINAL_OBSERVATION and all(isinstance(value, dict) for value in values.values()):
            batched[key] = batch(values, num_envs)
        else:
            batched[key] = _array(values, num_envs, key == FINAL_OBSERVATION)
        batched[f"_{key}"] = np.zeros(num_envs, np.bool_)
        batched[f"_{key}"][list(values)] = True
    return batched


def _array(values: Mapping[int, Any], num_envs: int, objects: bool) -> NDArray[Any]:
    kinds = {type(value) for value in values.values()}
    array: NDArray[Any]
    if objects or not (kinds == {bool} or kinds <= {int, float}):
        array = np.full(num_envs, None, dtype=object)
    else:
        array = np.zeros(num_envs, dtype=float if float in kinds else kinds.pop())
    try:
        for i, value in values.items():
            array[i] = value
    except OverflowError:  # an integer of more than 64 bits
        return _array(values, num_envs, objects=True)
    return array
