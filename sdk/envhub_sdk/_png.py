"""Pictures from the hub: PNG to a NumPy array with nothing but zlib."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def decode(data: bytes) -> NDArray[np.uint8]:
    """Decode an 8-bit RGB picture of unfiltered rows, not interlaced: what the hub sends.

    Returns:
        An array of height x width x 3.

    Raises:
        ValueError: The bytes are not such a picture.
    """
    if not data.startswith(_SIGNATURE):
        raise ValueError("the picture is not PNG")
    chunks = list(_chunks(data))
    width, height, *kind = struct.unpack(">IIBBBBB", chunks[0][1])
    if kind != [8, 2, 0, 0, 0]:
        raise ValueError(f"the PNG is not 8-bit RGB without interlacing: {kind}")
    raw = zlib.decompress(b"".join(body for name, body in chunks if name == b"IDAT"))
    rows = np.frombuffer(raw, np.uint8).reshape(height, 1 + 3 * width)
    if rows[:, 0].any():
        raise ValueError("the PNG has filtered rows")
    return rows[:, 1:].reshape(height, width, 3).copy()


def _chunks(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    at = len(_SIGNATURE)
    while at < len(data):
        (length,) = struct.unpack_from(">I", data, at)
        yield data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        at += 12 + length
