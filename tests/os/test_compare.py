"""Comparisons on the host."""

import pytest
from envhub_os.compare import COMPARISONS, FAITHFUL


@pytest.mark.parametrize(
    ("name", "answer", "expected", "same"),
    [
        ("integer", " 12\n", "12\n", True),
        ("integer", "12 files", "12", False),
        ("integer", "", "0", False),
        ("integer", "12", "twelve", False),
        ("string", "a\r\nb\n", "a\nb", True),
        ("string", "a b", "a  b", False),
        ("in", "tar", "star\n", True),
        ("in", "star", "tar", False),
        ("containing", "the star", "star\n", True),
        ("containing", "star", "the star", False),
        ("exact", "a", "a", True),
        ("exact", "a ", "a", False),
        ("regex", "it is 12.", r"\b12\b", True),
        ("regex", "it is 123", r"\b12\b", False),
        ("size", "4096", "4096\n", True),
        ("size", "4K", "4096", True),
        ("size", "12K", "13K", False),
        ("size", "3MB", "3M", False),
        ("size", "many", "4", False),
    ],
)
def test_as_published(name: str, answer: str, expected: str, same: bool) -> None:
    assert FAITHFUL[name](answer, expected) is same
    if (answer, expected) != ("3MB", "3M"):
        assert COMPARISONS[name](answer, expected) is same


@pytest.mark.parametrize("answer", ["4K", "4.0K", "4KB", "4 KiB", "4096", "4096 bytes", "4096B", "4k"])
def test_sizes_that_are_the_same(answer: str) -> None:
    assert COMPARISONS["size"](answer, "4.0K\n")
    assert not COMPARISONS["size"](answer, "4.1K\n")
    assert not FAITHFUL["size"](answer, "4.0K\n")


def test_a_size_of_any_length_is_compared() -> None:
    assert COMPARISONS["size"]("9" * 10_000, "1") is False
