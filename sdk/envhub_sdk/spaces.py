"""Gymnasium spaces on the wire: a space from its JSON, values to JSON and back.

The JSON of a space is written in `envhub_sdk._wire.SpaceJson`. Numbers JSON has no form for travel as the
strings "NaN", "Infinity" and "-Infinity", in both directions.
"""

from __future__ import annotations

import math
import string
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
from gymnasium import spaces as gym_spaces
from numpy.typing import NDArray

from envhub_sdk._exceptions import InvalidAction

__all__ = ["UnicodeText", "decode", "encode", "from_json"]

Space = gym_spaces.Space[Any]

_PRINTABLE = string.ascii_letters + string.digits + string.punctuation + " "
_SAMPLE_LENGTH = 32


class UnicodeText(gym_spaces.Text):
    """Text of any Unicode characters, within bounds of length.

    Gymnasium's own `Text` knows only a finite character set. Samples are printable ASCII and short: up to
    32 characters longer than `min_length`.

    Args:
        max_length: Largest number of characters.
        min_length: Smallest number of characters.
        seed: Seed for sampling.
    """

    def __init__(
        self, max_length: int, *, min_length: int = 0, seed: int | np.random.Generator | None = None
    ) -> None:
        super().__init__(max_length, min_length=min_length, charset=_PRINTABLE, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """False: there is no finite set of characters to number."""
        return False

    def contains(self, x: Any) -> bool:
        """Whether `x` is text of an allowed length."""
        return isinstance(x, str) and self.min_length <= len(x) <= self.max_length

    def sample(
        self,
        mask: tuple[int | None, NDArray[np.int8] | None] | None = None,
        probability: tuple[int | None, NDArray[np.float64] | None] | None = None,
    ) -> str:
        """Draw a short text of printable ASCII; masks work as in `gymnasium.spaces.Text`."""
        if mask is not None or probability is not None:
            return super().sample(mask, probability)
        longest = min(self.max_length, self.min_length + _SAMPLE_LENGTH)
        length = int(self.np_random.integers(self.min_length, longest + 1))
        return "".join(self.np_random.choice(self.character_list, size=length))

    def __repr__(self) -> str:
        return f"UnicodeText({self.min_length}, {self.max_length})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, UnicodeText)
            and self.min_length == other.min_length
            and self.max_length == other.max_length
        )


# -- spaces -----------------------------------------------------------------------------------------


def from_json(space: dict[str, Any] | None) -> Space:
    """Make the space that its wire JSON describes.

    Raises:
        ValueError: It describes no space this SDK knows, or a part is missing or wrong.
    """
    kind = None if space is None else space.get("type")
    if space is None or kind not in _READERS:
        raise ValueError(f"{space!r:.200} is no space; its type must be one of {', '.join(_READERS)}")
    try:
        return _READERS[kind](space)
    except (KeyError, TypeError, ValueError, AssertionError) as error:
        raise ValueError(f"{space!r:.200} is no valid {kind} space: {error!r}") from error


def _text(space: dict[str, Any]) -> Space:
    low, high, charset = space.get("min_length", 0), space["max_length"], space.get("charset")
    if charset is None:
        return UnicodeText(high, min_length=low)
    return gym_spaces.Text(high, min_length=low, charset=charset)


def _box(space: dict[str, Any]) -> Space:
    dtype, shape = np.dtype(space["dtype"]), tuple(space["shape"])
    low, high = (np.array(space[bound], dtype=dtype) for bound in ("low", "high"))
    return gym_spaces.Box(np.broadcast_to(low, shape), np.broadcast_to(high, shape), shape, dtype.type)


def _multi_discrete(space: dict[str, Any]) -> Space:
    dtype = np.dtype(space.get("dtype", "int64")).type
    return gym_spaces.MultiDiscrete(np.array(space["nvec"]), dtype=dtype, start=_start(space))


def _start(space: dict[str, Any]) -> NDArray[Any] | None:
    start = space.get("start")
    return None if start is None else np.array(start)


_READERS: dict[str, Callable[[dict[str, Any]], Space]] = {
    "Text": _text,
    "Discrete": lambda space: gym_spaces.Discrete(space["n"], start=space.get("start", 0)),
    "Box": _box,
    "MultiDiscrete": _multi_discrete,
    "MultiBinary": lambda space: gym_spaces.MultiBinary(space["n"]),
    "Dict": lambda space: gym_spaces.Dict({key: from_json(part) for key, part in space["spaces"].items()}),
    "Tuple": lambda space: gym_spaces.Tuple([from_json(part) for part in space["spaces"]]),
}


# -- values -----------------------------------------------------------------------------------------


def decode(space: Space, value: Any) -> Any:
    """Restore a value of a space from its JSON: arrays with dtype and shape, tuples, dicts.

    Raises:
        ValueError: The value does not fit the space's structure. Bounds are not checked.
    """
    if isinstance(space, gym_spaces.Text):
        return value
    try:
        return _restore(space, value)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{value!r:.200} does not fit {space!r:.200}: {error!r}") from error


def _restore(space: Space, value: Any) -> Any:
    if isinstance(space, gym_spaces.Discrete):
        return space.dtype.type(value)
    if isinstance(space, gym_spaces.Dict):
        return {key: decode(part, value[key]) for key, part in space.spaces.items()}
    if isinstance(space, gym_spaces.Tuple):
        return tuple(decode(part, item) for part, item in zip(space.spaces, value, strict=True))
    return np.array(value, dtype=space.dtype).reshape(space.shape)


def encode(value: Any) -> bytes:
    """Write an action, or any value of a space, as JSON.

    Raises:
        TypeError: Some part of it has no JSON form.
        InvalidAction: A text in it has a character that is none: half of a surrogate pair.
    """
    try:
        return msgspec.json.encode(value if isinstance(value, str) else plain(value))
    except UnicodeEncodeError as error:
        raise InvalidAction(f"a text that can't be sent, as it is no valid Unicode: {error}") from error


def plain(value: Any) -> Any:
    """Turn NumPy values into plain ones and non-finite numbers into strings, all the way down."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value
