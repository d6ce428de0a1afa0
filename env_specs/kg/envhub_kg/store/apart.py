"""Doing something in a process of its own, so that this one can be forked afterwards."""

from __future__ import annotations

import os
import pickle
import traceback
from typing import Callable, TypeVar

from envhub_kg.store.base import StoreError

T = TypeVar("T")


def apart(call: Callable[[], T]) -> T:
    """Return what a call returns, or raise what it raises, after it was made in a forked process.

    A database on disk starts threads; a process that has some, or had, is not to be forked.

    Args:
        call: Its result, or exception, must be one that can be pickled.

    Raises:
        StoreError: The process died.
    """
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(reader)
            with open(writer, "wb") as pipe:
                pipe.write(_told(call))
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with open(reader, "rb") as pipe:
        told = pipe.read()
    _, status = os.waitpid(pid, 0)
    if not told:
        raise StoreError(f"the process that was to read the graph died (status {status})")
    returned, found = pickle.loads(told)
    if returned:
        result: T = found
        return result
    raise found


def _told(call: Callable[[], object]) -> bytes:
    try:
        return pickle.dumps((True, call()))
    except Exception as error:
        try:
            return pickle.dumps((False, error))
        except Exception:
            return pickle.dumps(
                (False, StoreError("".join(traceback.format_exception_only(type(error), error))))
            )
