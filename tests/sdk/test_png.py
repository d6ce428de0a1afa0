import numpy as np
import pytest

from envhub.worker import codec
from envhub_sdk import _png


def test_a_picture_comes_back_as_it_was() -> None:
    picture = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
    np.testing.assert_array_equal(_png.decode(codec.png(picture)), picture)


def test_what_is_no_such_picture_is_refused() -> None:
    picture = codec.png(np.zeros((2, 2, 3), np.uint8))
    with pytest.raises(ValueError, match="not PNG"):
        _png.decode(b"GIF89a")
    with pytest.raises(ValueError, match="not 8-bit RGB"):
        _png.decode(picture.replace(b"\x08\x02\x00\x00\x00", b"\x08\x00\x00\x00\x00"))
