"""Time limits inside a worker, with a timer that is set seldom.

Setting and clearing the kernel's timer around every step would cost two system calls a step. Instead a
deadline is kept in memory. The timer is set only when it would not fire in time; when it fires early, for
a call that has long returned, it is set again for whatever is under way, if anything is.
"""

from __future__ import annotations

import contextlib
import math
import signal
import time
from collections.abc import Iterator
from typing import Any

_clock = time.monotonic


class StepTimeout(BaseException):
    """Raised inside the environment's own code when its time is up.

    A BaseException, so that an environment's `except Exception` does not swallow it.
    """


class Alarm:
    """The one alarm of a process; works on its main thread."""

    def __init__(self) -> None:
        self._deadline = math.inf
        self._fires = math.inf  # when the timer that is set will fire

    def install(self) -> None:
        """Takes over SIGALRM; a forked process installs its own, since timers are not inherited."""
        self._deadline = self._fires = math.inf
        signal.signal(signal.SIGALRM, self._ring)

    def start(self, seconds: float) -> None:
        """From now on, `StepTimeout` is raised after so many seconds, unless `stop` comes first."""
        now = _clock()
        deadline = self._deadline = now + seconds
        if not now < self._fires <= deadline:  # a timer of the past was lost: the environment used it itself
            self._fires = deadline
            signal.setitimer(signal.ITIMER_REAL, seconds)

    def stop(self) -> None:
        """The call that was timed has returned."""
        self._deadline = math.inf

    @contextlib.contextmanager
    def limit(self, seconds: float) -> Iterator[None]:
        """Interrupts the body with `StepTimeout` after so many seconds."""
        self.start(seconds)
        try:
            yield
        finally:
            self.stop()

    def _ring(self, signum: int, frame: Any) -> None:
        self._fires = math.inf
        left = self._deadline - _clock()
        if left <= 0:
            self._deadline = math.inf
            raise StepTimeout
        if left < math.inf:
            self.start(left)


alarm = Alarm()
