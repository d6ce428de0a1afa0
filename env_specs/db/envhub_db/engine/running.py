"""What the statement that runs in this thread may do, where functions called by SQLite can see it."""

from __future__ import annotations

import threading
import time
from typing import Any, Callable

from .errors import DatabaseError
from .limits import Limits


class _Running(threading.local):
    """The statement of this thread: its limits, its end, its variables, an error that a function met."""

    limits = Limits()
    deadline = float("inf")
    error: DatabaseError | None = None
    variables: dict[str, Any] = {}  # noqa: RUF012 - set before each statement


running = _Running()


def check_size(size: int) -> None:
    """Refuse to build a value that is too large.

    Raises:
        DatabaseError: 1301, which in MySQL is a warning and a NULL.
    """
    if size > running.limits.value_bytes:
        raise DatabaseError(1301, f"Result was larger than max_allowed_packet ({running.limits.value_bytes})")


def check_time() -> None:
    """End a statement that has run for too long.

    Raises:
        DatabaseError: 3024.
    """
    if time.monotonic() > running.deadline:
        raise DatabaseError(
            3024, "Query execution was interrupted, maximum statement execution time exceeded"
        )


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function for SQLite, which keeps no exception: MySQL's errors are left in `running`."""

    def call(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except DatabaseError as error:
            running.error = error
            raise
        except (ArithmeticError, ValueError, RecursionError, UnicodeError):
            return None  # out of what a value can be: NULL, as after MySQL's warning

    return call
