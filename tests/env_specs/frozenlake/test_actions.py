"""Which texts are moves."""

import pytest
from envhub_frozenlake.actions import ACTIONS, parse
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("```Up```", "up"),
        ("I think ```left``` but no, ```Right```", "right"),
        ("```\n Down \n```", "down"),
        ("think ```Up``` then ```jump```", None),
        ("```python\nup\n```", None),
        ("```up now```", None),
        ("``````", None),
        ("up ```", None),
        ("```up", None),
        ("left", "left"),
        ("  UP\n", "up"),
        ("go left", None),
        ("left.", None),
        ("1", None),
        ("", None),
    ],
)
def test_the_last_block_or_the_bare_word_counts(text: str, move: "str | None") -> None:
    assert parse(text) == move


@given(
    before=st.text(st.characters(exclude_characters="`")),
    move=st.sampled_from(ACTIONS),
    after=st.text(st.characters(exclude_characters="`")),
)
@settings(derandomize=True, deadline=None)
def test_whatever_surrounds_the_block_does_not_matter(before: str, move: str, after: str) -> None:
    assert parse(f"{before}```{move.title()}```{after}") == move


@given(text=st.text())
@settings(derandomize=True, deadline=None)
def test_any_text_is_read_without_an_exception(text: str) -> None:
    assert parse(text) in (None, *ACTIONS)
