"""What is told of an exception: its own words first, then the author's part of the traceback."""

from __future__ import annotations

import os
import traceback
from typing import Any, Optional

REFUSALS = ("invalid_action", "invalid_options", "unknown_task")
"""The `envhub_code`s of exceptions that refuse something, rather than report a failure."""

MAX_FRAMES = 8
MAX_CHARACTERS = 4000

_OURS = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STANDARD_LIBRARY = os.path.dirname(os.path.abspath(os.__file__)) + os.sep
_IMPORT_SYSTEM = ("<frozen ", os.path.join(_STANDARD_LIBRARY, "importlib"))


def refusal(error: BaseException) -> Optional[str]:
    """Returns the code of an exception that refuses something, or None."""
    code = getattr(error, "envhub_code", None)
    return code if code in REFUSALS else None


def words(error: BaseException) -> str:
    """Returns the last line of a traceback: `KeyError: 'x'`."""
    return f"{type(error).__name__}: {error}".rstrip(": ")


def load_failure(error: BaseException) -> str:
    """Returns why an environment could not be loaded; of a refusal its message alone."""
    return str(error) if refusal(error) else f"{words(error)}\n{Failure(error).trace}"


class Failure:
    """Where an exception came from, leaving the worker's own frames out.

    Args:
        error: The exception.
        called: The environment's function that was called; it is named where no frame is the author's, as
            when a result has the wrong form.
    """

    def __init__(self, error: BaseException, called: Any = None) -> None:
        told = traceback.TracebackException(type(error), error, error.__traceback__, limit=-4 * MAX_FRAMES)
        _shorten(told)
        code = getattr(called, "__code__", None)
        if not told.stack and code is not None:
            told.stack.append(traceback.FrameSummary(code.co_filename, code.co_firstlineno, code.co_name))
        self._stack = told.stack
        self.trace = "".join(told.format())[-MAX_CHARACTERS:].rstrip()
        """The traceback as text."""

    @property
    def place(self) -> str:
        """The innermost line outside installed packages as "file:line, in function"; "" where unknown."""
        outside = [frame for frame in self._stack if not _is_library(frame.filename)]
        for frame in reversed(outside or self._stack):
            return f"{frame.filename}:{frame.lineno}, in {frame.name}"
        return ""


def _shorten(told: traceback.TracebackException) -> None:
    """Keeps the last few frames that are not the worker's own, here and in the exceptions before."""
    chain: Optional[traceback.TracebackException] = told
    while chain is not None:
        kept = [frame for frame in chain.stack if not frame.filename.startswith((_OURS, *_IMPORT_SYSTEM))]
        chain.stack = traceback.StackSummary.from_list(kept[-MAX_FRAMES:])
        chain = chain.__cause__ or chain.__context__


def _is_library(filename: str) -> bool:
    return filename.startswith(("<", _STANDARD_LIBRARY)) or "site-packages" in filename.split(os.sep)
