"""What is typed, and how what a terminal showed reads."""

import subprocess

import pytest
from envhub_os.sandbox import terminal
from hypothesis import given
from hypothesis import strategies as st


@given(st.text(max_size=50), st.integers(1, 100))
def test_what_is_typed_fits_a_terminal_and_holds_nothing_that_acts_on_one(part: str, times: int) -> None:
    script = part.replace("\0", "") * times
    typed = terminal.typed(script.encode("utf-8", "replace").decode(), "token", 3)
    assert all(len(line) < 4095 for line in typed.split(b"\n"))
    assert all(0x20 <= byte < 0x7F or byte == 0x0A for byte in typed)


@pytest.mark.parametrize("text", ["a'b\\c", "tab\there\nnew\x03\x1b[0m", "é€😀" * 900, "x" * 10_000])
def test_bash_reads_what_was_meant(text: str) -> None:
    typed = terminal.typed(text, "token", 3).replace(b" eval ", b" printf %s ", 1)
    shown = subprocess.run(["bash"], input=typed, capture_output=True, check=True).stdout
    assert shown == terminal.beginning("token", 3) + text.encode()


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (b"a\x1b[31mred\x1b[0m\x1b[?2004h", "ared"),
        (b"\x1b]0;title\x07\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        (b"\x1b]52;c;cGF5bG9hZA==\x07done", "done"),
        (b"\x1bP1$r\x1b\\\x1b(B\x1bcx", "x"),
        (b"10%\r50%\r100%\r\nend", "100%\nend"),
        (b"ab\b\bxy", "xy"),
        (b"bell\x07 nul\x00 del\x7f", "bell nul del"),
        ("\u009b31mred\u202eevil".encode(), "redevil"),
        (b"bad \xff byte", "bad \ufffd byte"),
        ("é\t€\n".encode(), "é\t€\n"),
        (b"\x1b", ""),
    ],
)
def test_what_was_shown_reads_as_plain_text(shown: bytes, text: str) -> None:
    assert terminal.clean(shown) == text


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (b"a" * 500_000 + b"\b" * 500_000, ""),
        (b"\x1b[" + b"0" * 1_000_000, ""),
        (b"\x1b]" * 300_000, ""),
        (b"ab\r" * 300_000, "ab"),
    ],
    ids=["rubbing out", "a sequence without an end", "strings without an end", "carriage returns"],
)
def test_what_is_meant_to_take_long_takes_time_by_its_length(shown: bytes, text: str) -> None:
    assert terminal.clean(shown).replace("0", "").replace("[", "") == text


@given(st.binary(max_size=500))
def test_no_bytes_at_all_leave_anything_that_acts_on_a_terminal(shown: bytes) -> None:
    assert all(
        character in "\t\n" or character.isprintable() or ord(character) > 0x9F
        for character in terminal.clean(shown)
    )
