"""Comparing answers with labels, as both generations do."""

from typing import Any

import pytest
from envhub_db.answers import LONGEST, classic, fc


@pytest.mark.parametrize(
    ("answer", "labels", "right"),
    [
        ('["March 19, 1998"]', ["March 19, 1998"], True),
        ("['March 19, 1998']", ["March 19, 1998"], True),
        ('["7.0"]', ["7"], True),
        ("[7]", ["7"], True),
        ('["7.004"]', ["7"], False),  # equal means equal
        ('["1,234"]', ["1234"], False),
        ('["b", "a", "a"]', ["a", "b"], True),
        ('["a"]', ["a", "b"], False),
        ("[5, 6]", ["5", "6"], False),  # numbers among several are no texts
        ("{'a', 'b'}", ["a", "b"], True),
        ("'ab'", ["a", "b"], True),  # evaluated, a text is a list of its letters
        ("Vienna", ["Vienna"], True),
        (" Vienna", ["Vienna"], False),
        ("", ["none"], False),
        ("[[1], 2]", ["1", "2"], False),
        ('["a", null]', ["a", "b"], False),
        (["Vienna"], ["Vienna"], True),
        (5, ["5"], True),
    ],
)
def test_classic_as_published(answer: Any, labels: list[str], right: bool) -> None:
    assert classic(answer, labels, faithful=True) is right


@pytest.mark.parametrize(
    ("answer", "labels", "right"),
    [
        (" Vienna ", ["Vienna"], True),
        ("[5, 6]", ["5", "6"], True),
        ('["a", null]', ["a", "None"], True),
        ("'ab'", ["a", "b"], False),
        (["7.0"], ["7"], True),
        ("[7", ["7"], False),
    ],
)
def test_classic_without_traps(answer: Any, labels: list[str], right: bool) -> None:
    assert classic(answer, labels, faithful=False) is right


@pytest.mark.parametrize("faithful", [False, True])
@pytest.mark.parametrize(
    ("answer", "labels", "right"),
    [
        (["3.004"], ["3"], True),
        (["3.02"], ["3"], False),
        (["1,234"], ["1234"], True),
        (["March 19 1998"], ["March 19, 1998"], True),
        (["[1,2]"], ["[1,2]"], True),
        (["12 %"], ["12"], True),
        (["'Vienna'"], ['"Vienna"'], True),
        (["vienna"], ["Vienna"], False),
        (["None"], ["none"], True),
        ([None], ["null"], True),
        (None, ["none"], True),
        (["1", "2.005"], ["2", "1"], True),
        (["1", "1"], ["1"], False),
        (["1", "1"], ["1", "1"], True),
        (["a", "a", "b"], ["b", "a"], True),
        (["1", "b"], ["b", "1"], True),
        (["1", "b"], ["b", "1.0"], False),  # among texts, numbers are texts
        ([], ["a"], False),
        ([], ["0"], False),
        ("[('Vienna',)]", ["Vienna"], True),
        ("[('a',), ('b',)]", ["b", "a"], True),
        ("[('a', 'b')]", ["a"], False),
        ("[(Decimal('3.00'),)]", ["3"], False),
        ("[(3.00,)]", ["3"], True),
        ('["a", "b"]', ["b", "a"], True),
        ("[a, b]", ["b", "a"], True),
        ("['it's', b]", ["its", "b"], False),
        ("5", ["5.0"], True),
        (5, ["5.0"], True),
        ([5.0], ["5"], True),
        ({"a": 1}, ["a"], False),
    ],
)
def test_fc(answer: Any, labels: list[str], right: bool, faithful: bool) -> None:
    assert fc(answer, labels, faithful) is right


@pytest.mark.parametrize(
    "answer", ["", "none", "NULL", "undefined", "nan", "inf", "-Infinity", None, [""], [None]]
)
def test_published_no_value_is_zero_and_fixed_it_is_not(answer: Any) -> None:
    assert fc(answer, ["0"], faithful=True)
    assert not fc(answer, ["0"], faithful=False)
    assert not fc(["0"], ["none"], faithful=False)
    assert fc(["0.0"], ["0"], faithful=False)


def test_infinity_is_no_number_that_matches() -> None:
    assert not fc(["inf"], ["inf"], faithful=False)  # nothing is closer than 0.01 to it
    assert not fc(["inf"], ["5"], faithful=False)


@pytest.mark.parametrize(
    "answer",
    [
        "__import__('os').system('touch pwned')",
        "[__import__('os').getpid()]",
        "[open('pwned', 'w')]",
        "(" * 100_000,
        "[" * 900,
        "-" * 20_000 + "1",
        '["' + "a" * LONGEST + '"]',
        "[9" + "9" * 10_000 + "]",
        "\\d [ '\\d' ]",
    ],
)
@pytest.mark.parametrize("faithful", [False, True])
def test_nothing_is_evaluated(
    answer: str, faithful: bool, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert not classic(answer, ["1"], faithful)
    assert not fc(answer, ["1"], faithful)
    assert not list(tmp_path.iterdir())
