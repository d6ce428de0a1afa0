"""Values to JSON and back: what an environment returns, what its spaces are, what an action means.

NumPy arrays and scalars are recognised by their methods, so this works with and without NumPy. Numbers
that JSON does not know travel as the strings "NaN", "Infinity" and "-Infinity".
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from json.encoder import encode_basestring
from typing import Any, Callable, Optional

__all__ = ["ActionRefused", "action_parser", "dump", "dump_transition", "png", "space_to_json"]


class ActionRefused(Exception):
    """The action is not in the action space; the message says why."""

    envhub_code = "invalid_action"


def _plain(value: Any) -> Any:
    """Turns what `json` does not know into what it knows."""
    for method in ("tolist", "item"):  # NumPy arrays, then NumPy scalars
        convert = getattr(value, method, None)
        if callable(convert):
            return convert()
    raise TypeError(f"{type(value).__name__} has no JSON form: return text, numbers, lists, dicts or arrays")


def _finite(value: Any) -> Any:
    """The same value with every non-finite number written as a string."""
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    if value is None or isinstance(value, (str, int)):
        return value
    return _finite(_plain(value))


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain).encode


_decode = json.JSONDecoder().decode  # json.loads would first guess the encoding


def dump(value: Any) -> bytes:
    """Encodes a value as UTF-8 JSON.

    Raises:
        TypeError: Some part of it has no JSON form.
    """
    try:
        try:
            text = _encode(value)
        except ValueError as error:
            if "Circular" in str(error):
                raise RecursionError from None
            text = _encode(_finite(value))
    except RecursionError:
        raise TypeError("the value contains itself or is nested too deeply: it has no JSON form") from None
    except TypeError as error:
        raise TypeError(_explained(error, value)) from None
    return _utf8(text)


def _explained(error: TypeError, value: Any) -> str:
    try:
        return _misfit(value, "") or str(error)
    except RecursionError:  # it contains itself as well
        return str(error)


def _misfit(value: Any, place: str) -> Optional[str]:
    """Says where the first part of a value without a JSON form is, and what it is; None if all have one."""
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, (str, int, float, bool, type(None))):
                return f"{place}: the key {key!r:.80} has no JSON form: use text as keys"
            found = _misfit(item, f"{place}[{json.dumps(key)}]" if place else str(key))
            if found:
                return found
        return None
    if isinstance(value, (list, tuple)):
        misfits = (_misfit(item, f"{place}[{index}]") for index, item in enumerate(value))
        return next(filter(None, misfits), None)
    if value is None or isinstance(value, (str, int, float)):
        return None
    try:
        return _misfit(_plain(value), place)
    except TypeError as error:
        return f"{place}: {error}" if place else str(error)


def _utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError:  # half a surrogate pair: no UTF-8 has it
        return text.encode("utf-8", "replace")


def dump_transition(observation: Any, reward: float, terminated: bool, truncated: bool, info: Any) -> bytes:
    """Encodes a transition; the common case, text and a plain reward, without the encoder's set-up.

    Raises:
        TypeError: Some part of it has no JSON form.
    """
    if type(observation) is not str or type(info) is not dict or info:
        return dump(
            {
                "observation": observation,
                "reward": reward,
                "terminated": terminated,
                "truncated": truncated,
                "info": info,
            }
        )
    ends = _ENDS[terminated, truncated]
    text = f'{{"observation":{encode_basestring(observation)},"reward":{reward!r},{ends},"info":{{}}}}'
    return _utf8(text)


_ENDS = {
    (terminated, truncated): f'"terminated":{str(terminated).lower()},"truncated":{str(truncated).lower()}'
    for terminated in (False, True)
    for truncated in (False, True)
}


# -- spaces -----------------------------------------------------------------------------------------


def space_to_json(space: Any) -> Optional[dict[str, Any]]:
    """Describes a Gymnasium space; None where there is none or its kind is not known."""
    writer = _SPACES.get(type(space).__name__)
    return None if writer is None else writer(space)


def _text(space: Any) -> dict[str, Any]:
    charset = "".join(sorted(space.character_set))
    return {
        "type": "Text",
        "min_length": space.min_length,
        "max_length": space.max_length,
        "charset": charset,
    }


def _box(space: Any) -> dict[str, Any]:
    bounds = {name: _bounds(getattr(space, name).tolist()) for name in ("low", "high")}
    return {"type": "Box", **bounds, "shape": list(space.shape), "dtype": str(space.dtype)}


def _bounds(value: Any) -> Any:
    if isinstance(value, list):
        return [_bounds(item) for item in value]
    if isinstance(value, float) and math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return value


def _dict(space: Any) -> dict[str, Any]:
    return {"type": "Dict", "spaces": {key: space_to_json(part) for key, part in space.spaces.items()}}


_SPACES: dict[str, Callable[[Any], dict[str, Any]]] = {
    "Text": _text,
    "Box": _box,
    "Dict": _dict,
    "Discrete": lambda space: {"type": "Discrete", "n": int(space.n), "start": int(space.start)},
    "MultiDiscrete": lambda space: {
        "type": "MultiDiscrete",
        "nvec": space.nvec.tolist(),
        "start": space.start.tolist(),
        "dtype": str(space.dtype),
    },
    "MultiBinary": lambda space: {
        "type": "MultiBinary",
        "n": space.n if isinstance(space.n, int) else list(space.n),
    },
    "Tuple": lambda space: {"type": "Tuple", "spaces": [space_to_json(part) for part in space.spaces]},
}


# -- actions ----------------------------------------------------------------------------------------


def action_parser(declared: Optional[dict[str, Any]], space: Any) -> Callable[[bytes], Any]:
    """Makes the function that turns an action's JSON into what `step` takes.

    Args:
        declared: The spec's own description of the action space, if it has one.
        space: The environment's `action_space`, if it has one.
    """
    if declared is not None and declared.get("type") == "Text":
        return _text_parser(declared.get("min_length", 0), declared["max_length"])
    if space is None:
        return _load
    return lambda payload: _from_space(_load(payload), space)


def _load(payload: bytes) -> Any:
    try:
        return _decode(payload.decode())
    except (ValueError, RecursionError) as error:
        raise ActionRefused(f"the action is not JSON that can be read here: {error}") from None


def _text_parser(min_length: int, max_length: int) -> Callable[[bytes], str]:
    def parse(payload: bytes) -> str:
        action = _load(payload)
        if type(action) is not str:
            raise ActionRefused(f"the action must be text, not {type(action).__name__}")
        if not min_length <= len(action) <= max_length:
            raise ActionRefused(f"the action has {len(action)} characters, not {min_length} to {max_length}")
        return action

    return parse


def _from_space(value: Any, space: Any) -> Any:
    action = _shape(value, space)
    if not space.contains(action):
        raise ActionRefused(f"{value!r:.200} is not in the action space {space!r:.200}")
    return action


def _shape(value: Any, space: Any) -> Any:
    """The value as the space holds it: arrays of its dtype, tuples, dicts of parts."""
    kind = type(space).__name__
    try:
        if kind in ("Box", "MultiDiscrete", "MultiBinary"):
            import numpy as np

            array = np.array(value, dtype=space.dtype).reshape(space.shape)
            if array.dtype.kind in "iu" and np.array(value).dtype.kind not in "iub":  # NumPy would round
                raise ValueError("its numbers must be integers")
            return array
        if kind == "Tuple":
            if len(value) != len(space.spaces):
                raise ValueError(f"it has {len(value)} parts, not {len(space.spaces)}")
            return tuple(_shape(part, inner) for part, inner in zip(value, space.spaces))
        if kind == "Dict":
            return {key: _shape(value[key], inner) for key, inner in space.spaces.items()}
    except (TypeError, ValueError, KeyError, OverflowError) as error:
        raise ActionRefused(f"{value!r:.200} does not fit the action space {space!r:.200}: {error}") from None
    return value


# -- pictures ---------------------------------------------------------------------------------------


def png(array: Any) -> bytes:
    """Encodes a height x width x 3 array of bytes as a PNG picture."""
    height, width, channels = array.shape
    if channels != 3 or str(array.dtype) != "uint8":
        raise TypeError(f"a picture is height x width x 3 bytes, not {array.shape} of {array.dtype}")
    rows = b"".join(b"\x00" + array[y].tobytes() for y in range(height))

    def chunk(kind: bytes, data: bytes) -> bytes:
        checked = kind + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows, 6))
        + chunk(b"IEND", b"")
    )
