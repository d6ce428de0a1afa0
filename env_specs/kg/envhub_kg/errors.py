"""What this environment refuses.

A refusal leaves the episode as it was. Failures are `store.StoreError`, which ends the episode and says
nothing about the agent.
"""

from __future__ import annotations


class DataError(ValueError):
    """A data file is missing or holds something that can't be used; says which file, entry and field."""

    envhub_code = "invalid_options"


class UnknownTask(ValueError):
    """There is no such task or split."""

    envhub_code = "unknown_task"


class InvalidOptions(ValueError):
    """A setting, or what was given to reset, can't be used."""

    envhub_code = "invalid_options"


class InvalidAction(ValueError):
    """The action is no text."""

    envhub_code = "invalid_action"


class EpisodeOver(RuntimeError):
    """A step came before the first reset or after the end."""
