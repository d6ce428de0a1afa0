"""The login shell of a sandbox, from the side that types."""

from __future__ import annotations

import fcntl
import os
import select
import struct
import termios
import time
from typing import TYPE_CHECKING, Any, NamedTuple

from . import bash, terminal
from .settings import NotAtRest, Result, SandboxError

if TYPE_CHECKING:
    from .box import Sandbox

QUIET_S = (0.05, 0.5)
"""After so long without output, then twice as long, it is asked whether the program waits for input."""
PATIENCE_S = (0.25, 0.5, 1.0, 2.0)
"""How long an interrupt may take before the next one; the last time is that of all others."""
INTERRUPTS = 12
"""After so many in vain the shell is killed."""
OWN_INTERRUPTS = 5
"""After so many it is killed if it is the shell itself that does not stop."""
ANSWER_S = 30.0
"""How long the first process inside may take to answer: inside, others may keep the processors busy."""
INTERRUPT = b"\x03"
_SIZE = struct.Struct("HHHH")
SYNTAX_ERROR = 2
PIDS_A_SCRIPT, PID_RANGES = 1000, 30
"""The processes of each script get ids from another range on, the same in each run, whatever was before."""
SLACK = 1 << 17
"""Bytes beyond the limit that are gathered before they are forgotten."""


class Ending(NamedTuple):
    """How a script's part of the terminal ended."""

    why: str  # "mark", "waits", "exited", "time"
    exit_code: int | None = None


class Shell:
    """The shell and its terminal.

    Args:
        box: The sandbox that it is in.
        token: What its marks have in common.
        scripts: How many scripts were typed before.
    """

    def __init__(self, box: Sandbox, token: str, scripts: int = 0) -> None:
        self._box = box
        self.token = token
        self._marks = terminal.mark_pattern(self.token)
        self._notices = terminal.notices(self.token)
        self._master = -1
        self._hung = False
        self._shown = bytearray()  # what the terminal showed and no result has told
        self._searched = 0  # up to where no mark begins
        self._dropped = False
        self._end: int | None = None  # where the last result's part of it ends
        self._last = (0, 0)  # the last mark's shell and number
        self.scripts = scripts
        """How many scripts were typed."""
        self._beginning = b""  # shown before the script runs, and not yet seen
        self._plain = False  # what reads the terminal is no bash with our prompt

    def attach(self, master: int) -> None:
        """Takes the terminal of a new shell."""
        self.close()
        self._master = master
        os.set_blocking(master, False)
        self._hung = False
        self._last, self._plain, self._beginning = (0, 0), False, b""
        self._clear()

    def close(self) -> None:
        """Lets the terminal go."""
        if self._master >= 0:
            os.close(self._master)
            self._master = -1

    def greet(self, timeout_s: float) -> None:
        """Waits for the first prompt of a new shell.

        Raises:
            SandboxError: None came.
        """
        while self._master < 0:
            self._box.hear_in_time()
        self._quieten()
        ending = self._follow(b"", time.monotonic() + timeout_s, 0)
        if ending.why != "mark":
            shown = terminal.clean(bytes(self._shown))[-300:]
            raise SandboxError(f"the login shell showed no prompt ({ending.why}): {shown!r}")
        self._clear()

    def run(self, script: str, timeout_s: float, limit: int) -> Result:
        """Types a script and waits for the prompt after it."""
        if self._master < 0:
            raise SandboxError("the sandbox is closed")
        if self._box.exited is not None:  # between two scripts
            return self._renew(Ending("exited", self._box.exited), limit)
        self._quieten()
        if self._plain:
            line = script.encode("utf-8", "surrogateescape") + b"\n"
        else:
            self.scripts += 1
            self._box.number_processes(PIDS_A_SCRIPT * (1 + self.scripts % PID_RANGES))
            self._beginning = terminal.beginning(self.token, self.scripts)
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
        self._beginning = b""  # what was typed may have been thrown away
        for attempt in range(INTERRUPTS):
            if attempt >= OWN_INTERRUPTS and not self._waits() and self._box.shell_in_front:
                break
            if attempt:
                self._box.send({"do": "strike", "shell": False})
            self._quieten()
            patience = PATIENCE_S[min(attempt, len(PATIENCE_S) - 1)]
            ending = self._follow(INTERRUPT, time.monotonic() + patience, limit)
            if ending.why != "time":
                return ending
        self._box.send({"do": "strike", "shell": True})
        while self._box.exited is None:
            self._box.hear_in_time()
        return Ending("exited", self._box.exited)

    def _renew(self, ending: Ending, limit: int, timed_out: bool = False) -> Result:
        """Starts a new shell in place of one that is gone."""
        while self._receive():
            self._trim(limit)
        output, truncated = self._take(limit)
        self._box.exited = None
        self.close()
        self._box.send({"do": "shell"})
        self.greet(ANSWER_S)
        return Result(output, None if timed_out else ending.exit_code, timed_out, truncated, new_shell=True)

    # -- what it holds ----------------------------------------------------------------------------------

    def ask(self) -> bash.Held:
        """Has it say all that it holds; nothing of it is changed but the number of the line.

        Raises:
            NotAtRest: It is not at its prompt, or holds what can't be given to another one.
        """
        if self._master < 0 or self._plain or self._box.exited is not None:
            raise NotAtRest("the shell is not at its prompt")
        while self._receive():
            pass
        if self._shown:
            raise NotAtRest("the terminal shows what nobody has seen yet")
        self._quieten()
        self._beginning = terminal.beginning(self.token, 0)
        ending = self._follow(bash.question(self.token), time.monotonic() + ANSWER_S, bash.MAX_BYTES)
        if ending.why == "time":
            ending = self._interrupt(bash.MAX_BYTES)
        shown, cut = self._cut(bash.MAX_BYTES)
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
        self._clear()
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
            mark = self._mark()
            if mark:
                # After a quote that is left open, bash shows the prompt as it was before: not this exit code.
                code = SYNTAX_ERROR if mark[:2] == self._last else mark.exit_code
                self._last, self._plain = mark[:2], False
                return Ending("mark", code)
            self._trim(limit)
            if self._box.exited is not None:
                return Ending("exited", self._box.exited)
            left = deadline - time.monotonic()
            if left <= 0:
                return Ending("time")
            ready = self._ready(min(left, quiet), bool(rest))
            if not ready and not rest:
                quiet = min(2 * quiet, QUIET_S[1])
                waited = waited + 1 if self._waits() else 0
                if waited == 2:
                    self._plain, self._beginning = True, b""
                    return Ending("waits")
            for file, events in ready:
                if file != self._master:
                    self._box.hear()
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
        poll.register(self._box.control, select.POLLIN)
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
        self._shown += chunk
        return bool(chunk)

    def _mark(self) -> terminal.Mark | None:
        """The prompt after the script, cut out of what was shown."""
        if self._beginning:
            begun = self._shown.find(self._beginning, self._searched)
            if begun < 0:
                self._searched = max(self._searched, len(self._shown) - terminal.MARK_BYTES)
                return None
            del self._shown[begun : begun + len(self._beginning)]
            self._beginning, self._searched = b"", begun
        found = self._marks.search(self._shown, self._searched)
        if found is None:
            self._searched = max(self._searched, len(self._shown) - terminal.MARK_BYTES)
            return None
        mark = terminal.Mark(*map(int, found.groups()))
        notices = self._shown.rfind(self._notices, 0, found.start())
        self._end = found.start() if notices < 0 else notices
        del self._shown[self._end : found.end()]
        return mark

    def _trim(self, limit: int) -> None:
        """Forgets what no result will hold."""
        if len(self._shown) > limit + SLACK:
            del self._shown[limit : self._searched]
            self._searched, self._dropped = limit, True

    def _take(self, limit: int) -> tuple[str, bool]:
        """What was shown up to the mark, or all of it, as text, and whether it is only its beginning."""
        shown, truncated = self._cut(limit)
        return terminal.clean(shown), truncated

    def _cut(self, limit: int) -> tuple[bytes, bool]:
        """Takes what was shown out of what is kept."""
        end = len(self._shown) if self._end is None else self._end
        text, truncated = bytes(self._shown[: min(end, limit)]), self._dropped or end > limit
        del self._shown[:end]
        self._searched, self._dropped, self._end = 0, False, None
        return text, truncated

    def _clear(self) -> None:
        self._shown.clear()
        self._searched, self._dropped, self._end = 0, False, None

    def _waits(self) -> bool:
        """Whether the program in front waits for input."""
        self._box.waits = None
        self._box.send({"do": "idle"})
        while self._box.waits is None and self._box.exited is None:
            self._box.hear_in_time()
        return bool(self._box.waits)
