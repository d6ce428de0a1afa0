"""What the environment refuses, and how it says so."""

from __future__ import annotations


class DataError(ValueError):
    """A game file is missing or holds something that can't be played; says which file and what."""

    envhub_code = "invalid_options"


class UnknownTask(ValueError):
    """A reset asked for a task or a split that there is not."""

    envhub_code = "unknown_task"


class InvalidOptions(ValueError):
    """A setting, or an option of a reset, can't be followed."""

    envhub_code = "invalid_options"


class InvalidAction(ValueError):
    """An action that is not text."""

    envhub_code = "invalid_action"


class EpisodeOver(RuntimeError):
    """A step came before the first reset or after the end."""
