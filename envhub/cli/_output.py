"""How commands print: tables for people, JSON for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.progress import Progress

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]

UNBROKEN = 1_000_000
"""Columns that a line never has."""
NARROWEST = 6
"""Columns that a cell has at least; a terminal that is narrower still breaks the lines itself."""

console = Console(highlight=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, soft_wrap=True)


def progress() -> Progress:
    """Return bars on standard error that are gone in the end; in a pipe they show nothing at all."""
    from rich.progress import Progress

    return Progress(console=errors, transient=True, disable=not errors.is_terminal)


def print_json(value: Any) -> None:
    """Print a value of plain types and dataclasses as indented JSON."""
    encoded = msgspec.json.encode(value, enc_hook=str)
    print(msgspec.json.format(encoded, indent=2).decode())


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    title: str | None = None,
    styles: Iterable[Sequence[str]] | None = None,
) -> None:
    """Print a table of texts; markup in them is shown, not obeyed.

    The first column names what a row is about (an id, a name, a key) and is never broken: where the terminal
    is narrow, the others take more lines. In a pipe or a file every row is one line, however long.

    Args:
        columns: The head of each column; none at all for a table without a head.
        rows: The cells.
        title: A line above the table.
        styles: The cells' styles where they are not plain, in the shape of the rows.
    """
    cells = [[str(cell) for cell in row] for row in rows]
    heads = columns or [""] * len(cells[0])
    table = Table(box=None, pad_edge=False, show_header=bool(columns))
    for number, (head, *column) in enumerate(zip(heads, *cells, strict=True)):
        if number == 0:
            table.add_column(head, header_style="bold", no_wrap=True, min_width=_longest([head, *column]))
        else:
            least = min(NARROWEST, _longest([word for cell in [head, *column] for word in cell.split()]))
            table.add_column(head, header_style="bold", overflow="fold", min_width=least)
    plain = ([""] * len(row) for row in cells)
    for row, row_styles in zip(cells, styles or plain, strict=True):
        table.add_row(*(Text(cell, style) for cell, style in zip(row, row_styles, strict=True)))
    if title:
        console.print(title, style="bold", markup=False)
    out = Console(highlight=False)
    if out.is_terminal:
        out.print(table, crop=False)
        return
    out.width = UNBROKEN
    with out.capture() as captured:
        out.print(table)
    print("\n".join(line.rstrip() for line in captured.get().splitlines()))


def _longest(texts: Iterable[str]) -> int:
    return max(map(cell_len, texts), default=0)
