"""The login shell of a sandbox, from the side that types."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import termios
import time
from typing import Any, NamedTuple

from . import bash, terminal
from .control import ANSWER_S, Control
from .settings import NotAtRest, Result, SandboxError
from .shown import Shown

QUIET_S = (0.05, 0.5)
"""After so long without output, then twice as long, it is asked whether the program waits for input."""
PATIENCE_S = (0.25, 0.5, 1.0, 2.0)
"""How long an interrupt may take before the next one; the last time is that of all others."""
INTERRUPTS = 12
"""After so many in vain the shell is killed."""
OWN_INTERRUPTS = 5
"""After so many it is killed if it is the shell itself that does not stop."""
INTERRUPT = b"\x03"
_SIZE = struct.Struct("HHHH")
SYNTAX_ERROR = 2
PIDS_A_SCRIPT, PID_RANGES = 1000, 30
"""The processes of each script get ids from another range on, the same in each run, whatever was before."""


class Ending(NamedTuple):
    """How a script's part of the terminal ended."""

    why: str  # "mark", "waits", "exited", "time"
    exit_code: int | None = None


class Shell:
    """The shell and its terminal.

    Args:
        control: To the first process of its sandbox.
        token: What its marks have in common.
        scripts: How many scripts were typed before.
    """

    def __init__(self, control: Control, token: str, scripts: int = 0) -> None:
        self._control = control
        self.token = token
        self.scripts = scripts
        """How many scripts were typed."""
        self._master = -1
        self._shown = Shown(token)
        self._hung = False  # nobody has the terminal open
        self._last = (0, 0)  # the last mark's shell and number
        self._plain = False  # what reads the terminal is no bash with our prompt

    def close(self) -> None:
        """Lets the terminal go."""
        if self._master >= 0:
            os.close(self._master)
            self._master = -1

    def greet(self) -> None:
        """Takes the terminal of a new shell and waits for its first prompt.

        Raises:
            SandboxError: None came.
        """
        self.close()
        self._master = self._control.terminal()
        os.set_blocking(self._master, False)
        self._shown = Shown(self.token)
        self._last, self._plain, self._hung = (0, 0), False, False
        self._quieten()
        ending = self._follow(b"", time.monotonic() + ANSWER_S, 0)
        if ending.why != "mark":
            raise SandboxError(f"the login shell showed no prompt ({ending.why}): {self._shown.tail(300)!r}")
        self._shown.clear()

    def run(self, script: str, timeout_s: float, limit: int) -> Result:
        """Types a script and waits for the prompt after it."""
        if self._master < 0:
            raise SandboxError("the sandbox is closed")
        if self._control.exited is not None:  # between two scripts
            return self._renew(Ending("exited", self._control.exited), limit)
        self._quieten()
        if self._plain:
            line = script.encode("utf-8", "surrogateescape") + b"\n"
        else:
            self.scripts += 1
            self._control.ask(do="number", after=PIDS_A_SCRIPT * (1 + self.scripts % PID_RANGES))
            self._shown.beginning = terminal.beginning(self.token, self.scripts)
            line = terminal.typed(script, self.token, self.scripts)
        ending = self._follow(line, time.monotonic() + timeout_s, limit)
        timed_out = ending.why == "time"
        if timed_out:
            ending = self._interrupt(limit)
        if ending.why == "exited":
            return self._renew(ending, limit, timed_out)
        output, truncated = self._take(limit)
        return Result(output, None if timed_out else ending.exit_code, timed_out, truncated)

    def _interrupt(self, limit: int) -> Ending:
        """Interrupts what runs, ever more strongly."""
        self._shown.beginning = b""  # what was typed may have been thrown away
        for attempt in range(INTERRUPTS):
            if attempt >= OWN_INTERRUPTS and self._is_busy_itself():
                break
            if attempt:
                self._control.send({"do": "strike", "shell": False})
            self._quieten()
            patience = PATIENCE_S[min(attempt, len(PATIENCE_S) - 1)]
            ending = self._follow(INTERRUPT, time.monotonic() + patience, limit)
            if ending.why != "time":
                return ending
        self._control.send({"do": "strike", "shell": True})
        while self._control.exited is None:
            self._control.hear_in_time()
        return Ending("exited", self._control.exited)

    def _renew(self, ending: Ending, limit: int, timed_out: bool = False) -> Result:
        """Starts a new shell in place of one that is gone."""
        while self._receive():
            self._shown.trim(limit)
        output, truncated = self._take(limit)
        self._control.exited = None
        self.close()
        self._control.send({"do": "shell"})
        self.greet()
        return Result(output, None if timed_out else ending.exit_code, timed_out, truncated, new_shell=True)

    # -- what it holds ----------------------------------------------------------------------------------

    def ask(self) -> bash.Held:
        """Has it say all that it holds; nothing of it is changed but the number of the line.

        Raises:
            NotAtRest: It is not at its prompt, or holds what can't be given to another one.
        """
        if self._master < 0 or self._plain or self._control.exited is not None:
            raise NotAtRest("the shell is not at its prompt")
        while self._receive():
            pass
        if self._shown:
            raise NotAtRest("the terminal shows what nobody has seen yet")
        self._quieten()
        self._shown.beginning = terminal.beginning(self.token, 0)
        ending = self._follow(bash.question(self.token), time.monotonic() + ANSWER_S, bash.MAX_BYTES)
        if ending.why == "time":
            ending = self._interrupt(bash.MAX_BYTES)
        shown, cut = self._shown.take(bash.MAX_BYTES)
        if ending.why != "mark" or cut:
            raise NotAtRest("the shell does not say what it holds")
        return bash.Held.read(shown)

    def check(self, held: bash.Held, mode: list[Any]) -> None:
        """Makes sure that a shell that was to become another one is like it.

        Raises:
            SandboxError: It is not.
        """
        termios.tcsetattr(self._master, termios.TCSANOW, mode)
        now = self.ask()
        for _ in range(held.line - now.line):
            self._follow(b"\n", time.monotonic() + ANSWER_S, 0)
        self._shown.clear()
        different = held.difference(now)
        if different:
            raise SandboxError(f"a shell could not be made like the one that was saved: {different}")

    def mode(self) -> list[Any]:
        """How its terminal is set."""
        *flags, characters = termios.tcgetattr(self._master)
        return [*flags, [ord(each) if isinstance(each, bytes) else each for each in characters]]

    def size(self) -> list[int]:
        """The size of its terminal."""
        answer = fcntl.ioctl(self._master, termios.TIOCGWINSZ, bytes(_SIZE.size))
        return list(_SIZE.unpack(answer))

    # -- the terminal -----------------------------------------------------------------------------------

    def _quieten(self) -> None:
        """No echo, no carriage returns, and signals for control characters, whatever was set inside."""
        mode = termios.tcgetattr(self._master)
        mode[0] |= termios.ICRNL
        mode[0] &= ~(termios.IXON | termios.ISTRIP)
        mode[1] &= ~termios.OPOST
        mode[3] &= ~(termios.ECHO | termios.ECHONL)
        mode[3] |= termios.ICANON | termios.ISIG
        mode[6][termios.VINTR] = INTERRUPT
        termios.tcsetattr(self._master, termios.TCSANOW, mode)

    def _follow(self, typed: bytes, deadline: float, limit: int, quiet: float = QUIET_S[0]) -> Ending:
        """Types, and gathers what is shown until a new prompt, or until the end of the shell or the time."""
        rest, waited = memoryview(typed), 0
        while True:
            mark = self._shown.mark()
            if mark:
                # After a quote that is left open, bash shows the prompt as it was before: not this exit code.
                code = SYNTAX_ERROR if mark[:2] == self._last else mark.exit_code
                self._last, self._plain = mark[:2], False
                return Ending("mark", code)
            self._shown.trim(limit)
            if self._control.exited is not None:
                return Ending("exited", self._control.exited)
            left = deadline - time.monotonic()
            if left <= 0:
                return Ending("time")
            ready = self._ready(min(left, quiet), bool(rest))
            if not ready and not rest:
                quiet = min(2 * quiet, QUIET_S[1])
                waited = waited + 1 if self._waits() else 0
                if waited == 2:
                    self._plain, self._shown.beginning = True, b""
                    return Ending("waits")
            for file, events in ready:
                if file != self._master:
                    self._control.hear()
                    continue
                if self._receive():
                    waited = 0
                elif (
                    events & select.POLLHUP
                ):  # nobody has the terminal open, and the shell's end will be told
                    self._hung = True
                if rest and events & select.POLLOUT:
                    rest = self._type(rest)

    def _ready(self, seconds: float, typing: bool) -> list[tuple[int, int]]:
        poll = select.poll()
        poll.register(self._control.socket, select.POLLIN)
        if not self._hung:
            poll.register(self._master, select.POLLIN | (select.POLLOUT if typing else 0))
        return poll.poll(max(seconds, 0.0) * 1000)

    def _type(self, rest: memoryview) -> memoryview:
        try:
            return rest[os.write(self._master, rest) :]
        except BlockingIOError:
            return rest

    def _receive(self) -> bool:
        """Takes what the terminal shows; False when there is nothing."""
        try:
            chunk = os.read(self._master, 1 << 16)
        except OSError:  # EAGAIN, or EIO when the terminal has no other end
            return False
        self._shown.add(chunk)
        return bool(chunk)

    def _take(self, limit: int) -> tuple[str, bool]:
        """What was shown up to the mark, or all of it, as text, and whether it is only its beginning."""
        shown, truncated = self._shown.take(limit)
        return terminal.clean(shown), truncated

    def _waits(self) -> bool:
        """Whether the program in front waits for input."""
        return bool(self._control.ask(do="idle")["idle"])

    def _is_busy_itself(self) -> bool:
        """Whether it is the shell that does not stop."""
        answer = self._control.ask(do="idle")
        return not answer["idle"] and bool(answer["front"])
