"""The echo environment: next to no work of its own, and real faults on request."""

from __future__ import annotations

import os
import signal
import time
from typing import Any


class EchoEnv:
    """Observes the action that was sent.

    A step costs next to nothing, so a load test on it measures what lies around the environment. The
    last step of an episode has reward 1.0, every other one 0.0.

    Args:
        length: Steps to the end of an episode; 0 means it never ends.
        delay_s: Seconds each step sleeps, as an environment would that waits for something.
        fail_on: The action on which `step` raises `EchoFault`; "" for none.
        hang_on: The action on which `step` sleeps for ever, until a signal's handler raises; "" for none.
        stuck_on: The action on which `step` sleeps for ever with all signals blocked, like a call into C that
            never returns; only SIGKILL ends it. "" for none.
        exit_on: The action on which the process ends at once with status 70; "" for none.
    """

    def __init__(
        self,
        *,
        length: int = 0,
        delay_s: float = 0.0,
        fail_on: str = "",
        hang_on: str = "",
        stuck_on: str = "",
        exit_on: str = "",
    ) -> None:
        if length < 0 or delay_s < 0:
            raise ValueError(f"length and delay_s must not be negative, got {length} and {delay_s}")
        self._length = length
        self._delay_s = delay_s
        self._fail_on = fail_on
        self._hang_on = hang_on
        self._stuck_on = stuck_on
        self._exit_on = exit_on
        self._plain = not (delay_s or fail_on or hang_on or stuck_on or exit_on)
        self._left = length
        self._text = ""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[str, dict[str, Any]]:
        """Start an episode; nothing in it depends on the seed."""
        self._left = self._length
        self._text = ""
        return "", {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Say the action back.

        Raises:
            EchoFault: the action is the one that `fail_on` names.
        """
        if not self._plain:
            self._misbehave(action)
        self._text = action
        self._left = left = self._left - 1  # an endless episode starts at 0 and so never comes back to it
        if left:
            return action, 0.0, False, False, {}
        return action, 1.0, True, False, {}

    def render(self) -> str:
        """Return the last action."""
        return self._text

    def close(self) -> None:
        """Nothing is held, so nothing is released."""

    def get_state(self) -> dict[str, Any]:
        """Return the point of the episode: the steps left and the last action."""
        return {"left": self._left, "text": self._text}

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from a point that `get_state` of any echo environment returned."""
        self._left = state["left"]
        self._text = state["text"]

    def _misbehave(self, action: str) -> None:
        if self._delay_s:
            time.sleep(self._delay_s)
        if not action:
            return
        if action == self._fail_on:
            raise EchoFault(f"the action was {action!r}, on which this environment was asked to fail")
        if action == self._stuck_on:
            signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        if action in (self._hang_on, self._stuck_on):
            while True:
                time.sleep(3600.0)
        if action == self._exit_on:
            os._exit(70)


class EchoFault(RuntimeError):
    """The exception that `fail_on` asks for."""
