"""What a check found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Outcome = Literal["PASS", "FAIL", "SKIP"]


@dataclass(frozen=True, slots=True)
class Result:
    """One check's outcome.

    Attributes:
        check: The check's name, one of `CHECKS`.
        outcome: PASS, FAIL, or SKIP where the environment claims no such thing or it could not be tried.
        reason: What was seen.
        next_step: What to do about it; empty after a PASS.
        traceback: The exception behind a FAIL, if one is.
    """

    check: str
    outcome: Outcome
    reason: str
    next_step: str = ""
    traceback: str = ""


class Fault(Exception):
    """Raised inside a check: the environment breaks the rule; `next_step` says what to do about it."""

    def __init__(self, reason: str, next_step: str, traceback: str = "") -> None:
        super().__init__(reason)
        self.next_step = next_step
        self.traceback = traceback


class NotTried(Exception):
    """Raised inside a check: the rule does not apply, or it cannot be tried here."""

    def __init__(self, reason: str, next_step: str = "") -> None:
        super().__init__(reason)
        self.next_step = next_step
