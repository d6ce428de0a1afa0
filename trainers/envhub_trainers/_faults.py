"""Faults of the infrastructure: they cost time, never a reward.

A fault is whatever keeps an episode from being played to an end that the environment or a limit gave it: a
hub that is gone, a worker that died with its episode, an environment that raised, an engine that failed, a
reward that could not be computed. The episode is played again, on a fresh session, within a budget; when that
is spent the sample is masked out of the loss and counted. When too many of the latest samples are masked, or
when a fault says that no try can ever succeed, the run stops with a report.
"""

from __future__ import annotations

import logging
from collections import Counter, deque
from dataclasses import dataclass, field

from envhub_sdk import (
    CallNotImplemented,
    EnvHubError,
    Forbidden,
    InvalidOptions,
    NotFound,
    Unauthorized,
    UnknownEnv,
    UnknownTask,
)

__all__ = ["Faults", "RunStopped", "code_of", "is_hopeless"]

FEWEST_SAMPLES = 32
"""A share of fewer samples than these says nothing yet: so many are assumed."""
MESSAGES_KEPT = 5

_HOPELESS = (
    CallNotImplemented,
    Forbidden,
    InvalidOptions,
    NotFound,
    Unauthorized,
    UnknownEnv,
    UnknownTask,
)
"""What a hub says to a wrong configuration: it will say it to every sample, whenever it is asked."""

_log = logging.getLogger("envhub_trainers")


class RunStopped(RuntimeError):
    """The run can't go on; the message is a report of what happened and what to do."""


def code_of(error: BaseException) -> str:
    """Stable name of a fault: the error's code, as in the API, else the name of its class."""
    code = getattr(error, "code", None)
    return code if isinstance(code, str) else type(error).__name__


def is_hopeless(error: BaseException) -> bool:
    """Whether the same would happen to every sample, however often it is tried."""
    return isinstance(error, _HOPELESS)


@dataclass(slots=True)
class Faults:
    """Counts what went wrong and says when to stop.

    Args:
        max_masked_share: Share of the latest samples that may be masked; 1 never stops the run.
        window: How many samples are the latest.
    """

    max_masked_share: float
    window: int
    samples: int = 0
    """Samples that are done."""
    masked: int = 0
    """Of these, masked ones."""
    by_code: Counter[str] = field(default_factory=Counter)
    """Faults so far, whether or not another try succeeded."""
    _latest: deque[bool] = field(default_factory=deque)
    _messages: deque[str] = field(default_factory=lambda: deque(maxlen=MESSAGES_KEPT))

    def happened(self, error: Exception, where: str) -> None:
        """Count a fault.

        Raises:
            RunStopped: It will happen to every sample.
        """
        self.by_code[code_of(error)] += 1
        said = f"{where}: {code_of(error)}: {error}"
        if not self._messages or self._messages[-1] != said:
            self._messages.append(said)
        expected = isinstance(error, EnvHubError) or hasattr(error, "code")
        _log.warning("a fault in an episode at %s", said, exc_info=None if expected else error)
        if is_hopeless(error):
            raise RunStopped(f"no episode can be played with this configuration.\n{self.report()}") from error

    def finished(self, *, masked: bool) -> None:
        """Count a sample that is done.

        Raises:
            RunStopped: Too many of the latest are masked.
        """
        self.samples += 1
        self.masked += masked
        self._latest.append(masked)
        while len(self._latest) > self.window:
            self._latest.popleft()
        lost, of = sum(self._latest), max(len(self._latest), min(FEWEST_SAMPLES, self.window))
        if masked and lost > self.max_masked_share * of:
            raise RunStopped(
                f"{lost} of the latest {len(self._latest)} samples could not be played and were masked: more "
                f"than the share of {self.max_masked_share:g} that `max_masked_share` allows. What was "
                f"trained before is in the last checkpoint; mend the cause and resume.\n{self.report()}"
            )

    def report(self) -> str:
        """What went wrong so far, as text."""
        counts = ", ".join(f"{code} {count}" for code, count in self.by_code.most_common()) or "none"
        lines = [f"samples {self.samples}, of these masked {self.masked}; faults: {counts}"]
        return "\n".join([*lines, "the latest faults:", *(f"  {said}" for said in self._messages)])
