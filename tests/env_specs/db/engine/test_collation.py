"""The order of text."""

import random

from envhub_db.engine.collation import compare, find, fold, sort_key
from hypothesis import given
from hypothesis import strategies as st

ORDERED = " _-,;:!?.'\"()[]{}@*/\\&#%+<=>|~$0123456789"


def test_signs_come_before_digits_and_digits_before_letters() -> None:
    shuffled = random.Random(1).sample(ORDERED, len(ORDERED))
    assert "".join(sorted(shuffled, key=sort_key)) == ORDERED
    words = ["Ångström", "anna", "Äpfel", "b", "æ", "Zoë", "éa", "ß", "ss", "Đ", "ø", "Ω", "я", "10", "9"]
    expected = ["10", "9", "æ", "Ångström", "anna", "Äpfel", "b", "Đ", "éa", "ø", "ß", "ss", "Zoë", "Ω", "я"]
    assert sorted(words, key=sort_key) == sorted(expected, key=sort_key)
    assert [sort_key(word) for word in sorted(words, key=sort_key)] == [sort_key(word) for word in expected]


def test_case_and_marks_don_t_count_but_spaces_at_the_end_do() -> None:
    assert compare("Montréal", "MONTREAL") == compare("straße", "STRASSE") == compare("ŁÓDŹ", "lodz") == 0
    assert compare("a", "a ") == -1
    assert compare("й", "и") == 1, "a letter of its own"


@given(st.text(), st.text(), st.text())
def test_it_is_an_order(one: str, two: str, three: str) -> None:
    assert compare(one, two) == -compare(two, one)
    if compare(one, two) <= 0 and compare(two, three) <= 0:
        assert compare(one, three) <= 0
    assert compare(one, one.upper().lower()) == compare(one.upper().lower(), one) == 0 or not one.isascii()


@given(st.text())
def test_folding_keeps_the_length(text: str) -> None:
    assert len(fold(text)) == len(text)


def test_finding_is_by_bytes_as_in_mysql() -> None:
    assert find("É", "café", 0) == 3
    assert find("a", "Åa", 0) == 1, "one byte is not the letter's two"
