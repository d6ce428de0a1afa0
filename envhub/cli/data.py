"""`envhub data`: writing and preparing the files that environments and trainers read."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from envhub.cli import CommandError
from envhub.cli._output import AsJson, print_json, print_table
from envhub.spec import find

data = typer.Typer(help="Write and prepare data.", no_args_is_help=True)

Out = Annotated[Path, typer.Option("--out", help="The folder to write to; made where it is missing.")]


@data.command()
def frozenlake(
    out: Out,
    train: Annotated[int, typer.Option(min=1, help="Tasks in train.parquet.")] = 10000,
    test: Annotated[int, typer.Option(min=1, help="Tasks in test.parquet.")] = 100,
    map_max_size: Annotated[int, typer.Option(min=3, help="Maps are smaller than this.")] = 6,
    as_json: AsJson = False,
) -> None:
    """Write FrozenLake's tasks as train.parquet and test.parquet: seed, size, p, index, uid."""
    try:
        import pyarrow  # type: ignore[import-untyped]
        import pyarrow.parquet  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        raise CommandError(
            "writing parquet needs pyarrow, which is not installed: pip install 'envhub[parquet]'"
        ) from None
    tasks = import_from("frozenlake", "envhub_frozenlake.tasks")
    recipe = tasks.Tasks(train, test, map_max_size)
    _make_folder(out)
    written = []
    for split in ("train", "test"):
        file = out / f"{split}.parquet"
        columns = pyarrow.table(tasks.rows(recipe.split(split)))
        pyarrow.parquet.write_table(columns, file)
        written.append({"split": split, "rows": columns.num_rows, "file": str(file)})
    if as_json:
        print_json(written)
    else:
        print_table(("split", "rows", "file"), (tuple(entry.values()) for entry in written))


def import_from(name: str, module: str) -> Any:
    """Import a module of a bundled spec's own package."""
    folder = str(find(name).path)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(module)


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        raise CommandError(f"--out {folder}: the folder cannot be made: {reason.strerror}") from reason
