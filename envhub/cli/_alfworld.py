"""What commands do for ALFWorld: fetching and generating its games, and comparing its engines."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from envhub.cli import CommandError, unusable
from envhub.cli._bundled import import_from
from envhub.cli._output import AsJson, console, errors, print_json, print_table

Report = Callable[[str, int, int], None]


def fetch(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", metavar="DIR", help="Where the games go; default $ALFWORLD_DATA, else ~/.cache/alfworld."
        ),
    ] = None,
    source: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="DIR|FILE", exists=True, help="Release files that are on this machine already."
        ),
    ] = None,
    releases: Annotated[
        str | None,
        typer.Option("--releases", metavar="URL", help="Where the release files are, if not on GitHub."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Fetch ALFWorld's official games, 143 MB.

    A download that broke off goes on where it stopped. The SHA-256 of each file is recorded the first time
    and compared from then on; a file that is named with --from takes the place of one fetched before.
    """
    fetched = import_from("alfworld", "envhub_alfworld.fetch")
    folder = out or Path(os.environ.get("ALFWORLD_DATA") or "~/.cache/alfworld").expanduser()
    with _refusals(folder), _bars() as report:
        digests = fetched.fetch(folder, source, releases=releases or fetched.RELEASES, progress=report)
    _print_games(folder, {"sha256": digests}, as_json)


def generate(
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where the games go.")],
    scenes: Annotated[
        int,
        typer.Option(
            "--scenes",
            metavar="N",
            min=6,
            help="Games to learn on; each other split gets a fifth of it, and 6 at least.",
        ),
    ] = 200,
    seed: Annotated[
        int, typer.Option("--seed", metavar="S", min=0, help="Other seeds have other rooms and arrangements.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Generate games for ALFWorld in the official layout.

    All can be won, and each has the commands that do it. The same seed makes the same games, with the same
    task ids, in the same order; seed 0 and 200 scenes make the embedded ones.
    """
    data = import_from("alfworld", "envhub_alfworld.data")
    fifth = max(6, scenes // 5)
    sizes = {"train": scenes, "valid_seen": fifth, "valid_unseen": fifth}
    with _refusals(out), _bars() as report:
        data.write(out, seed, sizes, lambda done: report("generate games", done, scenes + 2 * fifth))
    _print_games(out, {"seed": seed}, as_json, _beside_the_embedded)


def against(games: Path, python: str, as_json: bool) -> None:
    """Play the games of a folder in both engines and print the first difference; exit with 1 if there is one.

    Args:
        games: A folder with games in the official layout.
        python: The interpreter that has the published engine; empty for the one that runs this.
        as_json: Whether to print JSON.
    """
    compare = import_from("alfworld", "envhub_alfworld.compare")
    data = import_from("alfworld", "envhub_alfworld.data")
    original = import_from("alfworld", "envhub_alfworld.original")
    with _refusals(games):
        entries = [entry for split in data.open_library(str(games)).entries.values() for entry in split]
    played = []
    try:
        with _bars() as report:
            report("play games", 0, len(entries))
            for result in compare.compare(entries, python):
                played.append(result)
                report("play games", len(played), len(entries))
                if result.difference is not None:
                    break
    except original.OriginalError as reason:
        raise CommandError(str(reason)) from None
    turns = sum(result.turns for result in played)
    difference = played[-1].difference
    if as_json:
        last = played[-1].game if difference else None
        found = {"game": last, **difference._asdict()} if difference else None
        print_json({"games": len(played), "turns": turns, "difference": found})
    elif difference is None:
        console.print(f"No difference: {len(played)} games, {turns} turns.", markup=False)
    else:
        _print_difference(played[-1].game, difference)
        console.print(f"\n{len(played) - 1} games before it had no difference.", markup=False)
    if difference is not None:
        raise typer.Exit(1)


def _print_difference(game: str, difference: Any) -> None:
    console.print(f"{game}: {difference.what} differs", style="bold red", markup=False)
    typed = difference.commands or ["(reset)"]
    rows = [("after", "; ".join(typed)), ("native", difference.native), ("textworld", difference.textworld)]
    print_table((), rows)


def _beside_the_embedded(made: Any) -> str:
    """Tell what generated games have to do with the embedded ones."""
    embedded = import_from("alfworld", "envhub_alfworld.data").open_library()
    ids, known = (
        {split: [entry.id for entry in entries] for split, entries in library.entries.items()}
        for library in (made, embedded)
    )
    shared = sum(len(set(ids[split]) & set(known[split])) for split in ids)
    if ids == known:
        words = "These are the embedded games: the same task ids, in the same order"
    elif shared:
        words = f"{shared} of them are embedded games, too, under the same task ids"
    else:
        words = "None of them is an embedded game"
    return (
        f"{words}. Task ids are SPLIT/FOLDER/TRIAL, tasks are in the order of their trials.\n"
        "Served with data_dir, a folder's games are all there are: the embedded ones are not added."
    )


def _print_games(
    folder: Path, facts: dict[str, Any], as_json: bool, about: Callable[[Any], str] | None = None
) -> None:
    """Print how many games of each kind a folder has, what is to be said about them, and what serves them."""
    with _refusals(folder):
        library = import_from("alfworld", "envhub_alfworld.data").open_library(str(folder))
    counts: dict[str, dict[str, int]] = library.counts()
    serve = f"envhub serve --env alfworld --set {shlex.quote(f'alfworld.data_dir={folder.resolve()}')}"
    if as_json:
        print_json(
            {
                "folder": folder,
                **facts,
                "digest": library.digest,
                "games": counts,
                "left_out": library.left_out,
                "serve": serve,
            }
        )
        return
    kinds = list(next(iter(counts.values())))
    rows = [(kind, *(counts[split][kind] for split in counts)) for kind in kinds]
    rows.append(("all", *(sum(games.values()) for games in counts.values())))
    print_table(("task type", *counts), rows, str(folder))
    if library.left_out:
        console.print(f"Left out, as published: {library.left_out}.", markup=False, soft_wrap=True)
    if about is not None:
        console.print(about(library), markup=False)
    console.print(f"Next:\n  {serve}", markup=False)


@contextlib.contextmanager
def _refusals(folder: Path) -> Iterator[None]:
    """Turn what the environment's package refuses, or a folder does, into messages of the command."""
    try:
        yield
    except import_from("alfworld", "envhub_alfworld.errors").DataError as reason:
        raise CommandError(str(reason)) from None
    except OSError as reason:
        raise unusable(folder, reason) from None


@contextlib.contextmanager
def _bars() -> Iterator[Report]:
    """Yield what shows stages as progress bars."""
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[amount]}"))
    with Progress(*columns, console=errors, transient=True) as progress:
        stages: dict[str, TaskID] = {}

        def report(stage: str, done: int, total: int) -> None:
            of_bytes = stage.startswith(("fetch ", "check "))
            amount = f"{done / 1e6:.1f} of {total / 1e6:.1f} MB" if of_bytes else f"{done} of {total}"
            if stage not in stages:
                stages[stage] = progress.add_task(stage, amount=amount)
            progress.update(stages[stage], completed=done, total=total, amount=amount)

        yield report
