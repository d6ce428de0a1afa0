"""What an examination found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "note", "warning", "problem"]
"""How it stands: fine; worth knowing; something will not work; something is broken."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        check: What was looked for, in a word or two.
        about: The spec, folder, channel or port it is about; empty where it is the machine.
        status: How it stands.
        words: What was found.
        mend: The command or change that mends it; None where there is nothing to mend.
    """

    check: str
    about: str
    status: Status
    words: str
    mend: str | None = None
