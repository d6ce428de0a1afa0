"""What this environment refuses. A refusal leaves the episode as it was.

Refusal
├── UnknownTask      no such task or split
├── InvalidOptions   a setting cannot be used, or reset was asked for something it cannot make
└── InvalidAction    step was given no text, or the episode is over
"""

from __future__ import annotations


class Refusal(Exception):
    """Base of the refusals; `envhub_code` tells a hub which one it is."""

    envhub_code = ""


class UnknownTask(Refusal):
    """There is no such task or split."""

    envhub_code = "unknown_task"


class InvalidOptions(Refusal, ValueError):
    """A setting, or what was given to reset, cannot be used."""

    envhub_code = "invalid_options"


class InvalidAction(Refusal):
    """The step cannot be taken."""

    envhub_code = "invalid_action"
