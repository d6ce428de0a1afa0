"""What this environment refuses, and how it fails.

A refusal leaves the episode as it was; a failure ends it and says nothing about the agent.
"""

from __future__ import annotations


class DataError(ValueError):
    """A data file is missing or holds something that can't be used; says which file, line and key."""

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


class SetupFailed(RuntimeError):
    """A task's tables can't be created. It is no score: the task's data is at fault."""


class ServerUnavailable(RuntimeError):
    """The database server can't be reached, or refuses what it is asked for. It is no score.

    Attributes:
        retryable: The same reset may well succeed.
    """

    retryable = True


class JudgementFailed(RuntimeError):
    """What an episode has left can't be read, for a reason that is not the agent's. It is no score.

    Attributes:
        retryable: The same episode may well be judged the next time.
    """

    retryable = True
