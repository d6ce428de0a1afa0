"""When to send a request again, and after how long."""

from __future__ import annotations

import logging
import random
import time
from typing import Any

from envhub_sdk._calls import Call
from envhub_sdk._exceptions import Busy, EnvHubError

FIRST_PAUSE_S = 0.2
LONGEST_PAUSE_S = 5.0
LONGEST_RETRY_AFTER_S = 120.0

_log = logging.getLogger("envhub_sdk")


class Attempts:
    """The tries of one request: exponential backoff with jitter, or what Retry-After says.

    Args:
        call: What is being asked.
        retries: How often to ask again after the first try.
    """

    def __init__(self, call: Call[Any], retries: int) -> None:
        self._call = call
        self._left = retries if call.once_s is None else 0
        self._pause = FIRST_PAUSE_S
        self._deadline = None if call.patience_s is None else time.monotonic() + call.patience_s

    def pause_after(self, error: EnvHubError) -> float:
        """Return the seconds to wait before the next try.

        Raises:
            EnvHubError: `error` itself, where no further try would be right.
        """
        pause = self._pause * random.uniform(0.5, 1.0)
        if error.retry_after is not None:
            pause = max(pause, error.retry_after) if error.retry_after <= LONGEST_RETRY_AFTER_S else -1.0
        if isinstance(error, Busy) and self._deadline is not None:
            worth_it = time.monotonic() + pause < self._deadline
        else:
            worth_it = error.retryable and self._left > 0
            self._left -= 1
        if not worth_it or pause < 0:
            raise error
        self._pause = min(2 * self._pause, LONGEST_PAUSE_S)
        _log.warning(
            "%s %s: %s; asking again in %.1f s", self._call.method, self._call.path, error.code, pause
        )
        return pause
