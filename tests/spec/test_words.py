"""Numbers of things."""

import pytest

from envhub.spec import counted


@pytest.mark.parametrize(
    ("number", "noun", "words"),
    [
        (1, "replica", "1 replica"),
        (2, "replica", "2 replicas"),
        (0, "episode", "0 episodes"),
        (1, "worker process", "1 worker process"),
        (3, "worker process", "3 worker processes"),
    ],
)
def test_one_is_one_and_more_are_more(number: int, noun: str, words: str) -> None:
    assert counted(number, noun) == words
