"""`envhub store`: what has been built, whether it is whole, and what can go."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from envhub.cli._options import StoreOption
from envhub.cli._output import AsJson, console, errors, print_json, print_table
from envhub.cli.build import KindOption
from envhub.spec import find

if TYPE_CHECKING:
    from envhub.build import Built, Store

store = typer.Typer(help="Look after what has been built.", no_args_is_help=True)


@store.command("list")
def list_(store: StoreOption = None, as_json: AsJson = False) -> None:
    """List the environments and artifacts that have been built, the newest first."""
    from envhub.build import Store

    place = Store(store)
    built = place.all()
    if as_json:
        print_json([_as_json(one) for one in built])
        return
    rows = [
        (
            one.spec,
            one.artifact or one.kind,
            one.python_version or "-",
            len(one.archives),
            _megabytes(one.size),
            time.strftime("%Y-%m-%d %H:%M", time.localtime(one.created)),
            one.prefix,
        )
        for one in built
    ]
    if rows:
        print_table(("spec", "kind", "python", "packages", "size", "built", "folder"), rows)
    else:
        _print_empty(place)


@store.command()
def path(
    spec: Annotated[
        str | None, typer.Argument(metavar="SPEC", help="A name or a path to a spec's folder.")
    ] = None,
    isolation: KindOption = "conda",
    store: StoreOption = None,
    as_json: AsJson = False,
) -> None:
    """Print the folder of the store, or of what was built from a spec's present locks."""
    from envhub.build import Store, find_runtime

    place = Store(store)
    if spec is None:
        found = place.root
    else:
        found = find_runtime(find(spec), isolation, place).python.parent.parent
    if as_json:
        print_json({"path": found})
    else:
        console.print(found, markup=False)


@store.command()
def verify(
    remove: Annotated[
        bool,
        typer.Option("--remove", help="Remove what is damaged or was moved, so that it can be built again."),
    ] = False,
    store: StoreOption = None,
    as_json: AsJson = False,
) -> None:
    """Compare every file of every environment with what was built.

    Exits with 1 when something is damaged, or lies elsewhere than where it was built, and is not removed.
    """
    from envhub.build import Store

    place = Store(store)
    if remove and place.root.exists():
        place.require()
    moved = [(one.built, [f"it was built as {one.origin} and works only there"]) for one in place.moved()]
    found = [(one, place.verify(one)) for one in place.all()] + moved
    verdicts = []
    for one, complaints in found:
        held_by = place.held_by(one) if complaints and remove else []
        removed = bool(complaints) and remove and place.remove(one)
        verdicts.append(_Verdict(one, complaints, removed, [] if removed else held_by))
    if as_json:
        print_json(
            [
                {
                    **_as_json(one.built),
                    "complaints": one.complaints,
                    "removed": one.removed,
                    "held_by": one.held_by,
                }
                for one in verdicts
            ]
        )
    else:
        for verdict in verdicts:
            _print_verdict(verdict, place, remove)
        if not verdicts:
            _print_empty(place)
    if any(one.complaints and not one.removed for one in verdicts):
        raise typer.Exit(1)


class _Verdict(NamedTuple):
    """What is wrong with an environment, and whether it could be removed or who keeps it."""

    built: Built
    complaints: list[str]
    removed: bool
    held_by: list[int]


def _print_verdict(verdict: _Verdict, place: Store, remove: bool) -> None:
    from envhub.build import held_words

    one, complaints, removed, held_by = verdict
    if not complaints:
        console.print(f"{one.spec} ({one.artifact or one.kind}): whole, {one.prefix}", markup=False)
        return
    console.print(
        f"{one.spec} ({one.artifact or one.kind}): damaged, {one.prefix}", style="bold red", markup=False
    )
    for complaint in complaints[:20]:
        console.print(f"  {complaint}", markup=False)
    if len(complaints) > 20:
        console.print(f"  and {len(complaints) - 20} more")
    again = place.command("store", "verify", "--remove")
    if removed:
        next_step = f"removed; build it again with: {place.command('build', 'SPEC')}"
    elif remove:
        next_step = f"not removed: a hub holds it ({held_words(held_by)}); end that, then run: {again}"
    else:
        next_step = f"remove it with: {again}; then build it again"
    console.print(f"  {next_step}", markup=False)


def _print_empty(place: Store) -> None:
    console.print(f"Nothing has been built in {place.root}.", markup=False)


@store.command()
def gc(store: StoreOption = None, as_json: AsJson = False) -> None:
    """Remove what no spec uses any more: old environments, archives, leftovers of builds that died."""
    from envhub.build import Store

    place = Store(store)
    removed = place.gc(lambda file: _print_unreadable(file, place))
    if as_json:
        print_json([dataclasses.asdict(one) for one in removed])
        return
    for one in removed:
        console.print(f"removed {one.path} ({_megabytes(one.size)})", markup=False)
    freed = sum(one.size for one in removed)
    console.print(f"{place.root}: {_megabytes(freed)} freed", markup=False)


def _print_unreadable(file: Path, place: Store) -> None:
    errors.print(
        f"{file} cannot be read: it says which environment a spec uses, so every environment and archive "
        f"stays; remove that file, note anew what you use ({place.command('build', 'SPEC')}), then run this",
        style="yellow",
        markup=False,
    )


def _as_json(one: Built) -> dict[str, Any]:
    about = {key: value for key, value in dataclasses.asdict(one).items() if key != "artifact"}
    if one.kind == "artifact":
        return {**about, "artifact": one.artifact, "path": str(one.content)}
    return {**about, "python": str(one.python)}


def _megabytes(size: int) -> str:
    return f"{size / 2**20:,.1f} MB"
