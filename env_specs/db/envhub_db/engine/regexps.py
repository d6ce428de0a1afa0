"""Regular expressions that may take for ever, and the clock that ends them.

Python's `re` tries every way to match. Where a repetition stands in another one, or several follow each
other, that can be more ways than there is time, and no check of SQLite's is reached meanwhile. `re` looks for
signals, so an alarm ends it in a process's main thread; in another thread such an expression is refused for
texts long enough to matter.
"""

from __future__ import annotations

import contextlib
import re
import signal
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any, Callable, NamedTuple, TypeVar

from .errors import DatabaseError
from .running import running

try:  # Python 3.11 renamed it
    from re import _parser as sre_parse  # type: ignore[attr-defined]
except ImportError:  # pragma: no cover - depends on the interpreter
    import sre_parse

T = TypeVar("T")
REPEATS = ("MAX_REPEAT", "MIN_REPEAT")
SHORT = 24
"""A text this short is matched by anything in no time."""
LONG, VERY_LONG = 200, 4_000
"""From here on even one repetition, tried from every place of the text, may take too long; and where no alarm
can end it."""


def _repetitions(parsed: Any, within: bool) -> int:
    """How many unbounded repetitions there are; one within another counts for a thousand."""
    count = 0
    for operation, argument in parsed:
        name = str(operation)
        if name in REPEATS:
            low, high, inner = argument
            many = high - low > 8
            count += (1000 if within else 1) * many + _repetitions(inner, within or many)
        elif name == "BRANCH":
            count += sum(_repetitions(branch, within) for branch in argument[1])
        elif name == "SUBPATTERN":
            count += _repetitions(argument[-1], within)
        elif name in ("ASSERT", "ASSERT_NOT"):
            count += _repetitions(argument[1], within)
        elif name == "GROUPREF":
            count += 1
    return count


def slow(pattern: str) -> bool:
    """Whether an expression can take more than a time that grows as its text does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _repetitions(sre_parse.parse(pattern), False) > 2
        except (re.error, RecursionError, OverflowError):
            return True


def _late() -> DatabaseError:
    return DatabaseError(3699, "Timeout exceeded in regular expression match.")


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise when time is up, and leave a timer that was set before as it would be without this."""

    def ring(*_: Any) -> None:
        raise _late()

    before, begun = signal.getitimer(signal.ITIMER_REAL)[0], time.monotonic()
    handler = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(0.001, min(seconds, before or seconds)))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)
        if before:
            signal.setitimer(signal.ITIMER_REAL, max(0.001, before - (time.monotonic() - begun)))


class Expression(NamedTuple):
    """A compiled expression, and whether it needs the clock."""

    compiled: re.Pattern[str]
    slow: bool

    def _timed(self, size: int, match: Callable[[], T]) -> T:
        if size <= (SHORT if self.slow else LONG):
            return match()
        left = running.deadline - time.monotonic()
        if left <= 0:
            raise _late()
        if threading.current_thread() is not threading.main_thread():
            if self.slow or size > VERY_LONG:
                raise _late()
            return match()
        with _alarm(min(left, 3600.0)):
            return match()

    def search(self, text: str) -> re.Match[str] | None:
        """The first match."""
        return self._timed(len(text), lambda: self.compiled.search(text))

    def finditer(self, text: str, start: int) -> Iterator[re.Match[str]]:
        """All matches, one after the other."""
        at = start
        while at <= len(text):
            found = self._timed(len(text), lambda at=at: self.compiled.search(text, at))  # type: ignore[misc]
            if found is None:
                return
            yield found
            at = found.end() if found.end() > found.start() else found.end() + 1
