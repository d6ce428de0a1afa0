"""The published engine: the packages ``alfworld`` and ``textworld``, in a process of their own.

They keep what they parse in globals, swap ``sys.stdout`` while the planner translates and now and then hang
in native code. So each replica has its own process, which is killed when a call does not return in time, and
which may have another interpreter than the environment.
"""

from __future__ import annotations

import contextlib
import json
import math
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any, NamedTuple

REQUIREMENTS = "alfworld==0.4.2 textworld==1.7.0 fast-downward-textworld==20.6.4"
"""What the interpreter has to have; the lock of the spec `alfworld-original` says it in full."""

_PROCESS = Path(__file__).with_name("original_process.py")


class Turn(NamedTuple):
    """What the engine says after a reset or a command.

    Attributes:
        observation: Its text.
        commands: The admissible commands, sorted.
        won: Whether the goal holds now.
    """

    observation: str
    commands: list[str]
    won: bool


class OriginalError(RuntimeError):
    """The published engine failed: it can't be started, it gave up on a game, or its process died."""


class Original:
    """One game after another, played by the published engine.

    The process starts with the first game. It ends when a call does not return normally, whatever the reason
    (a time limit among them), so the next game begins in a new one.

    Args:
        python: The interpreter that has the packages; empty for the one that runs this.
        limit_s: The process is killed when an answer takes longer than so many seconds.
    """

    def __init__(self, python: str = "", limit_s: float = math.inf) -> None:
        self._python = python or sys.executable
        self._limit_s = limit_s
        self._process: subprocess.Popen[str] | None = None

    def load(self, game: Path | str) -> Turn:
        """Begin a game.

        Args:
            game: Its ``game.tw-pddl``, or the text of one.

        Raises:
            OriginalError: The engine can't be started or can't play the game.
        """
        self.start()
        return self._ask({"load": str(game)} if isinstance(game, Path) else {"play": game})

    def step(self, command: str) -> Turn:
        """Follow a command.

        Raises:
            OriginalError: The engine failed.
        """
        return self._ask({"command": command})

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
            process.wait()

    def start(self) -> None:
        """Start the process, if there is none; `load` does it as well.

        Raises:
            OriginalError: The interpreter or a package is missing.
        """
        if self._process is not None:
            return
        command = [self._python, "-u", str(_PROCESS)]
        try:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8"
            )
        except OSError as reason:
            raise OriginalError(
                f"textworld_python: {self._python} can't be run: {reason.strerror}"
            ) from reason
        try:
            self._receive()
        except OriginalError as reason:
            raise OriginalError(
                f"the published engine can't be started in {self._python}: {reason}. Install it there"
                f" (pip install {REQUIREMENTS}), or name an interpreter that has it with"
                " --set alfworld.textworld_python=EXE"
            ) from None

    def _ask(self, request: dict[str, str]) -> Turn:
        answer = self._receive(request)
        return Turn(answer["observation"], answer["admissible_commands"], answer["won"])

    def _receive(self, request: dict[str, str] | None = None) -> dict[str, Any]:
        """Send a request and return the answer; kill the process if anything interrupts that."""
        process = self._process
        if process is None or process.stdin is None or process.stdout is None:
            raise OriginalError("no game is under way: reset first")
        try:
            if request is not None:
                print(json.dumps(request), file=process.stdin, flush=True)
            line = self._line(process, process.stdout)
        except OSError as reason:
            self.close()
            raise OriginalError(f"the published engine's process is gone: {reason.strerror}") from reason
        except BaseException:
            self.close()
            raise
        if not line:
            status = process.wait()
            self.close()
            raise OriginalError(f"the published engine's process ended with status {status}")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            self.close()
            raise OriginalError(answer["error"])
        return answer

    def _line(self, process: subprocess.Popen[str], answers: IO[str]) -> str:
        if self._limit_s == math.inf:
            return answers.readline()
        late = threading.Event()

        def give_up() -> None:
            late.set()
            process.kill()

        killer = threading.Timer(self._limit_s, give_up)
        killer.daemon = True
        killer.start()
        try:
            line = answers.readline()
        finally:
            killer.cancel()
        if late.is_set() and not line:
            self.close()
            raise OriginalError(f"the published engine gave no answer within {self._limit_s:g} s")
        return line
