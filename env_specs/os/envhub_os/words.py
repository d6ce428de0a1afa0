"""What the agent reads."""

from __future__ import annotations

import re

_RULES = """\
You work as a person would at the shell of a Linux machine, to carry out what you are asked.
{actions}
Output longer than {limit} characters is cut, so ask for what you need. Nobody can type into a program that
is running: use no editor, and nothing that waits for input. The shell is one and the same throughout: its
directory and variables stay as you leave them. An answer must be exact and short, with no words around it."""

_CLASSIC = """\
Each time, think first, then choose exactly one of three actions, in this form:
Think: what you think
Act: bash

```bash
# the script to run
```
or, to answer the question, which ends the task:
Think: what you think
Act: answer(the answer)
or, when there is nothing to answer and all is done, or it can't be done:
Think: what you think
Act: finish"""

_CALLS = """\
Each time, call exactly one function. bash_action runs a script. answer_action answers the question and ends
the task. finish_action ends it when there is nothing to answer and all is done, or it can't be done."""

_OSC = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
_CSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[()][0-9A-Za-z]|[=>78cDEHMNOZ])")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")

CUT_TO = 20
"""A text that is too long is cut to so many characters less than the limit, as published."""


def rules(form: str, limit: int) -> str:
    """Return what an agent should be told beforehand.

    Args:
        form: "classic" or "tools".
        limit: Characters of an observation.
    """
    return _RULES.format(actions=_CLASSIC if form == "classic" else _CALLS, limit=limit)


def plain(text: str) -> str:
    """Take away what a terminal would act upon: colours, titles, bells, carriage returns."""
    return _CONTROL.sub("", _CSI.sub("", _OSC.sub("", text.replace("\r\n", "\n"))))


def output(text: str, limit: int, note: str = "") -> str:
    """Return a command's output as an observation.

    Args:
        text: What it printed.
        limit: Longer texts are cut to `limit` - 20 characters.
        note: Stands at the end, whatever is cut.
    """
    if len(text) > limit:
        text = text[: max(limit - CUT_TO, 0)] + "\n[truncated because the output is too long]"
    if note:
        text = f"{text}\n{note}" if text and not text.endswith("\n") else text + note
    return f"The output of the OS:\n\n{text}" if text else "The output of the OS is empty."
