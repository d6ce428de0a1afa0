"""The `envhub` command. One module a command; this one puts them together.

It imports next to nothing by itself: a Ctrl-C before `main` has begun shows a traceback.
"""

from __future__ import annotations

import os
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it: 128 and the signal's number."""


class Starting:
    """While it lasts, Ctrl-C ends the process at once: for imports, and where nothing is to be tidied up.

    An exception would be raised amid class bodies and finalizers, which lose it or make it another.
    """

    def __enter__(self) -> None:
        self._before = signal.getsignal(signal.SIGINT)
        if self._before is signal.default_int_handler:
            signal.signal(signal.SIGINT, lambda number, frame: os._exit(INTERRUPTED))

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)


class CommandError(Exception):
    """A command cannot do what was asked; the message says why and what to do."""


def unusable(folder: Path, reason: OSError) -> CommandError:
    """Return what to say of a folder that can't be read from or written to."""
    where = "" if reason.filename in (None, str(folder)) else f" ({reason.filename})"
    return CommandError(f"{folder} cannot be used: {reason.strerror or reason}{where}. Name another folder")


def install(extra: str) -> str:
    """Return the command that installs an extra, for a clone of the project and for an installed one."""
    return f"pip install '.[{extra}]' in a clone of EnvHub, pip install 'envhub[{extra}]' anywhere else"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line.

    Args:
        arguments: What follows the program's name; the process's own arguments by default.

    Raises:
        SystemExit: always; 0 when all went well, 1 when a check failed, 2 for anything that was asked for
            wrongly, which is printed as one message, 130 after Ctrl-C.
    """
    try:
        _run(arguments)
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None


def _run(arguments: Sequence[str] | None) -> None:
    try:
        with Starting():
            from envhub.cli._app import app
            from envhub.spec import SpecError
    except ModuleNotFoundError as missing:
        if missing.name not in ("typer", "rich", "click"):
            raise
        _fail(f"the command line needs {missing.name}, which is not installed: {install('serve')}")
    try:
        app(args=None if arguments is None else list(arguments), prog_name="envhub")
    except (SpecError, CommandError) as error:
        _fail(str(error))
    except Exception as error:
        build = sys.modules.get("envhub.build")  # the light commands don't import it
        if build is None or not isinstance(error, build.BuildError):
            raise
        _fail(str(error))


def _fail(message: str) -> None:
    print(f"envhub: {message}", file=sys.stderr)
    raise SystemExit(2)
