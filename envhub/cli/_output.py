"""How commands print: tables for people, JSON for programs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]

console = Console(highlight=False, soft_wrap=True)
errors = Console(stderr=True, highlight=False, soft_wrap=True)


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

    Args:
        columns: The head of each column; none at all for a table without a head.
        rows: The cells.
        title: A line above the table.
        styles: The cells' styles where they are not plain, in the shape of the rows.
    """
    cells = [[str(cell) for cell in row] for row in rows]
    table = Table(box=None, pad_edge=False, show_header=bool(columns))
    for column in columns or [""] * len(cells[0]):
        table.add_column(column, header_style="bold", overflow="fold")
    plain = ([""] * len(row) for row in cells)
    for row, row_styles in zip(cells, styles or plain, strict=True):
        table.add_row(*(Text(cell, style) for cell, style in zip(row, row_styles, strict=True)))
    if title:
        console.print(title, style="bold", markup=False)
    Console(highlight=False).print(table)
