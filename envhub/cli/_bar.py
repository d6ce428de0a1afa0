"""A bar of how far a long run is."""

from __future__ import annotations

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

__all__ = ["Bar"]


class Bar:
    """What a run says, above a bar of its steps where there is a terminal to draw it on."""

    def __init__(self, console: Console) -> None:
        columns = (TextColumn("training"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._console = console
        self._bar = Progress(
            *columns, TextColumn("left"), TimeRemainingColumn(), console=console, transient=True
        )
        self._task = self._bar.add_task("training", total=None)

    def say(self, line: str) -> None:
        """Print a line."""
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def progress(self, done: int, of: int) -> None:
        """Say how many steps are done."""
        self._bar.update(self._task, completed=done, total=of)

    def __enter__(self) -> Bar:
        if self._console.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_raised: object) -> None:
        if self._console.is_terminal:
            self._bar.stop()
