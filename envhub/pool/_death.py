"""How a worker's process ended, in words that can be told to whoever is affected."""

from __future__ import annotations

import signal
from dataclasses import dataclass

from envhub.worker import frames

WHAT = {
    frames.MAKE: "building an environment",
    frames.RESET: "a reset",
    frames.STEP: "a step",
    frames.REPLAY: "a step that was replayed",
    frames.RENDER: "a rendering",
    frames.DESCRIBE: "describing the environment",
    frames.TASKS: "listing tasks",
    frames.GET_STATE: "taking a snapshot",
    frames.SET_STATE: "restoring a snapshot",
    frames.CLOSE: "closing an environment",
}


@dataclass(frozen=True, slots=True)
class Death:
    """The end of one worker process.

    Attributes:
        kind: What kind of end, for programs and metrics: one of `KINDS`.
        words: What happened, to be read after "the worker".
    """

    kind: str
    words: str


KINDS = ("exit", "signal", "unseen", "hang", "silent", "memory", "protocol", "recycled")


def from_status(status: int | None) -> Death:
    """The end of a process that nobody here ended: its exit status, negative for a signal."""
    if status is None:
        return Death("unseen", "ended, and its template, which would know how, is gone as well")
    if status >= 0:
        return Death("exit", f"ended itself with exit status {status}")
    name = signal.Signals(-status).name if -status in set(signal.Signals) else "an unknown signal"
    hint = "; from outside, or by the kernel for want of memory" if status == -signal.SIGKILL else ""
    return Death("signal", f"was killed by signal {-status} ({name}{hint})")


def of_hang(operation: int, limit: float) -> Death:
    """The end of a worker whose environment hung where no signal reaches it."""
    if operation == frames.PING:
        return Death("silent", f"was killed by the hub: it was idle and gave no sign of life for {limit:g} s")
    what = WHAT.get(operation, "a call")
    return Death("hang", f"was killed by the hub: {what} exceeded {limit:g} s and could not be interrupted")
