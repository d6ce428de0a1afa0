"""What the shop refuses, and how it says so."""

from __future__ import annotations


class DataError(ValueError):
    """A data file is missing or holds something the shop can't use; says which file, item and field."""

    envhub_code = "invalid_options"


class UnknownTask(ValueError):
    """A reset asked for a task or a split that this shop does not have."""

    envhub_code = "unknown_task"


class InvalidOptions(ValueError):
    """A setting, or an option of a reset, can't be followed."""

    envhub_code = "invalid_options"


class InvalidAction(ValueError):
    """An action that is not text."""

    envhub_code = "invalid_action"


class EpisodeOver(RuntimeError):
    """A step came before the first reset or after the purchase."""
