"""Talk with bash on a terminal: what is typed, where its answer ends, and how it reads without escapes.

A script is typed as one `eval $'...'`, so that all of it runs, whatever in it reads the terminal. Before it,
bash prints a beginning with a number that no other script has; prompts before it are of the past. After it,
bash shows a prompt that `PROMPT_COMMAND` has set just before: a mark with the shell's pid, the number of the
command and its exit code. What bash says right before that of jobs that have ended is left out: whether it
says so already is a matter of the clock, and a replay would differ. A program inside can print such marks,
too; it spoils only what its own agent sees.
"""

from __future__ import annotations

import re
from typing import NamedTuple

LINE = 2000
"""Bytes in one typed line; a terminal takes 4095."""
MARK_BYTES = 64
"""More than any mark has."""

_PLAIN = frozenset(range(0x20, 0x7F)) - frozenset(b"'\\")
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor, bracketed paste
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # strings: titles, links, device control
    r"|\x1b[ -/]*[0-~]"  # the other escapes
    r"|\x9b[0-?]*[ -/]*[@-~]"  # control sequences again, in one byte
)
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class Mark(NamedTuple):
    """A prompt: which shell, which command of it comes next, how the last one ended."""

    shell: int
    number: int
    exit_code: int


def prompt_command(token: str) -> str:
    """What `PROMPT_COMMAND` must be for prompts to be marks, and for notices of jobs to stand apart."""
    return f"builtin printf '\\e]9;{token};-\\a' >&2; PS1='\\e]9;{token};$$;\\#;$?\\a' PS2="


def notices(token: str) -> bytes:
    """What stands between the output of a script and what bash says of jobs that have ended meanwhile."""
    return b"\x1b]9;%s;-\x07" % token.encode()


def mark_pattern(token: str) -> re.Pattern[bytes]:
    """Finds marks."""
    return re.compile(rb"\x1b\]9;%s;(\d{1,10});(\d{1,10});(\d{1,3})\x07" % token.encode())


def beginning(token: str, number: int) -> bytes:
    """What bash shows before it runs a script."""
    return b"\x1b]9;%s;%d\x07" % (token.encode(), number)


def typed(script: str, token: str, number: int) -> bytes:
    """A script as it is typed to bash: one line of commands, in pieces that a terminal takes."""
    line = bytearray(b" builtin printf '\\e]9;%s;%d\\a'; eval $'" % (token.encode(), number))
    lines = bytearray()
    for byte in script.replace("\0", "").encode("utf-8", "surrogateescape"):
        line += bytes((byte,)) if byte in _PLAIN else b"\\%03o" % byte
        if len(line) >= LINE:
            lines += line + b"'\\\n"
            line = bytearray(b"$'")
    return bytes(lines + line + b"'\n")


def clean(output: bytes) -> str:
    """What a terminal showed as text: no escape sequences, no control or direction characters.

    Nothing of it can act on the terminal that shows it later. A line that was written over by a carriage
    return keeps its last writing.
    """
    text = _ESCAPES.sub("", output.decode("utf-8", "replace")).replace("\r\n", "\n")
    if "\b" in text:
        text = _rubbed_out(text)
    if "\r" in text:
        text = "\n".join(_last_writing(line) for line in text.split("\n"))
    return _UNSAFE.sub("", text)


def _rubbed_out(text: str) -> str:
    kept: list[str] = []
    for character in text:
        if character != "\b":
            kept.append(character)
        elif kept and kept[-1] != "\n":
            kept.pop()
    return "".join(kept)


def _last_writing(line: str) -> str:
    return next((part for part in reversed(line.split("\r")) if part), "")
