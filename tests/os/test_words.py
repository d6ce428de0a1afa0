"""What the agent reads."""

import pytest
from envhub_os import words


def test_output_is_cut_as_published() -> None:
    assert words.output("", 800) == "The output of the OS is empty."
    assert words.output("x" * 800, 800) == "The output of the OS:\n\n" + "x" * 800
    cut = words.output("x" * 801, 800)
    assert cut == "The output of the OS:\n\n" + "x" * 780 + "\n[truncated because the output is too long]"


def test_a_note_is_never_cut() -> None:
    assert words.output("x" * 900, 800, "[note]").endswith("too long]\n[note]")
    assert words.output("", 800, "[note]") == "The output of the OS:\n\n[note]"
    assert words.output("a\n", 800, "[note]") == "The output of the OS:\n\na\n[note]"


@pytest.mark.parametrize(
    ("shown", "plain"),
    [
        ("a\r\nb", "a\nb"),
        ("\x1b[01;34mbin\x1b[0m\tx", "bin\tx"),
        ("\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b", "ab"),
        ("\x1b[?2004hls\x1b[?2004l\x07", "ls"),
        ("\x1b(B\x1b=a\x1b7", "a"),
        ("50%\r100%\n", "50%100%\n"),
        ("naïve ☂\n", "naïve ☂\n"),
    ],
)
def test_what_a_terminal_would_act_upon_is_taken_away(shown: str, plain: str) -> None:
    assert words.plain(shown) == plain


def test_the_rules_name_the_actions() -> None:
    assert all(
        word in words.rules("classic", 800) for word in ("Act: bash", "Act: answer(", "Act: finish", "800")
    )
    assert all(
        name in words.rules("tools", 99) for name in ("bash_action", "answer_action", "finish_action", "99")
    )
