"""Plays games with the published packages, one request a line: run by `original`, never imported by it.

Runs in an interpreter that has ``alfworld`` and ``textworld``; needs nothing of ours. Requests are JSON:
``{"load": path}`` begins the game of a file, ``{"play": text}`` that of a file's text, ``{"command": text}``
takes a step. Answers are JSON with
``observation``, ``admissible_commands`` and ``won``, or with ``error``, what went wrong.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import sys
import tempfile
from typing import Any

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Answer requests until the input ends."""
    _die_with_parent()
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # the planner prints
    try:
        player: Any = _Player()
        ready = {"ready": player.versions()}
    except Exception as reason:
        ready = {"error": f"{type(reason).__name__}: {reason}"}
    print(json.dumps(ready), file=answers, flush=True)
    for line in sys.stdin:
        try:
            answer = player.answer(json.loads(line))
        except Exception as reason:
            answer = {"error": f"{type(reason).__name__}: {reason}"}
        print(json.dumps(answer), file=answers, flush=True)


class _Player:
    """A game under way."""

    def __init__(self) -> None:
        import textworld
        from alfworld.agents.environment import alfred_tw_env

        self._textworld = textworld
        self._demangler = alfred_tw_env.AlfredDemangler
        self._game: Any = None

    @staticmethod
    def versions() -> dict[str, str]:
        from importlib.metadata import version

        return {name: version(name) for name in ("alfworld", "textworld", "fast-downward-textworld")}

    def answer(self, request: dict[str, str]) -> dict[str, Any]:
        if "command" in request:
            state, _, _ = self._game.step(request["command"])
        elif "load" in request:
            state = self._begin(request["load"])
        else:
            with tempfile.NamedTemporaryFile("w", suffix=".tw-pddl", encoding="utf-8") as file:
                file.write(request["play"])
                file.flush()
                state = self._begin(file.name)
        return {
            "observation": state.feedback,
            "admissible_commands": state["admissible_commands"],
            "won": bool(state["won"]),
        }

    def _begin(self, path: str) -> Any:
        if self._game is not None:
            self._game.close()
        asked = self._textworld.EnvInfos(won=True, admissible_commands=True)
        self._game = self._textworld.start(path, asked, wrappers=[self._demangler()])
        return self._game.reset()


def _die_with_parent() -> None:
    """Ask the kernel to end this process with its parent: a hang in native code hears nothing."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


if __name__ == "__main__":
    main()
