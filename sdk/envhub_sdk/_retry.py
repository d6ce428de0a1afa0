"""When to send a request again, and after how long."""

from __future__ import annotations

import logging
import random
import time
from dataclasses import dataclass
from typing import Any

from envhub_sdk._calls import Call
from envhub_sdk._exceptions import AnswerLost, Busy, ConnectFailed, EnvHubError, NotReady, UnexpectedAnswer

FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 5.0
LONGEST_RETRY_AFTER_S = 120.0

_AWAY = (ConnectFailed, AnswerLost, NotReady, UnexpectedAnswer)
"""What a hub that is killed, restarted or cut off looks like; the last one is a gateway's page."""

_log = logging.getLogger("envhub_sdk")


@dataclass(slots=True)
class Patience:
    """How long a client waits for a hub that is away.

    A hub that has answered will be back; one that never did may not exist, and its user should hear of that
    soon. One that stayed away for all of `longest_s` counts as never reached until it answers again.
    """

    longest_s: float
    reached: bool = False
    away_since: float | None = None
    """When a request first found it away, if it has answered none since (monotonic seconds)."""

    def met(self) -> None:
        """Note that the hub answered."""
        self.reached, self.away_since = True, None


class Attempts:
    """The tries of one request: exponential backoff with jitter, or what Retry-After says.

    Args:
        call: What is being asked.
        retries: How often to ask again after the first try; 0: never, however patient.
        patience: For how long to ask again, where the hub is away: beyond the retries.
    """

    def __init__(self, call: Call[Any], retries: int, patience: Patience) -> None:
        self._call = call
        self._left = retries if call.once_s is None else 0
        self._patience = patience if retries else Patience(0.0)
        self._pause = FIRST_PAUSE_S
        self._failing_since: float | None = None
        self._deadline = None if call.patience_s is None else time.monotonic() + call.patience_s

    def pause_after(self, error: EnvHubError) -> float:
        """Return the seconds to wait before the next try.

        Raises:
            EnvHubError: `error` itself, where no further try would be right.
        """
        pause = self._pause * random.uniform(0.5, 1.0)
        if error.retry_after is not None:
            pause = max(pause, error.retry_after) if error.retry_after <= LONGEST_RETRY_AFTER_S else -1.0
        rides_out = self._rides_out(error, pause)
        if isinstance(error, Busy) and self._deadline is not None:
            worth_it = time.monotonic() + pause < self._deadline
        else:
            worth_it = error.retryable and self._left > 0
            self._left -= 1
        if not (worth_it or rides_out) or pause < 0:
            raise error
        self._pause = min(2 * self._pause, LONGEST_PAUSE_S)
        _log.warning(
            "%s %s: %s; asking again in %.1f s", self._call.method, self._call.path, error.code, pause
        )
        return pause

    def _rides_out(self, error: EnvHubError, pause: float) -> bool:
        """Whether the hub is away, was there before, and is worth some more patience."""
        now = time.monotonic()
        if self._failing_since is None:
            self._failing_since = now
        if not (error.retryable and isinstance(error, _AWAY)):
            return False
        if self._patience.away_since is None:
            self._patience.away_since = now
        if not self._patience.reached:
            return False
        if self._call.once_s is not None:
            away_s = min(self._call.away_s, self._patience.longest_s)
            return now + pause < self._patience.away_since + away_s
        if now + pause < self._failing_since + self._patience.longest_s:
            return True
        self._patience.reached = False
        return False
