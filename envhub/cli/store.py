"""`envhub store`: what has been built, whether it is whole, and what can go."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from envhub.cli import CommandError
from envhub.cli._options import StoreOption
from envhub.cli._output import AsJson, console, print_json, print_table
from envhub.cli.build import KindOption
from envhub.spec import find, reference

if TYPE_CHECKING:
    from envhub.build import Built

store = typer.Typer(help="Look after what has been built.", no_args_is_help=True)


@store.command("list")
def list_(store: StoreOption = None, as_json: AsJson = False) -> None:
    """List the environments that have been built, the newest first."""
    from envhub.build import Store

    built = Store(store).all()
    if as_json:
        print_json([_as_json(one) for one in built])
        return
    rows = [
        (
            one.spec,
            one.kind,
            one.python_version,
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
        console.print(f"Nothing has been built in {Store(store).root}.", markup=False)


@store.command()
def path(
    spec: Annotated[
        str | None, typer.Argument(metavar="SPEC", help="A name or a path to a spec's folder.")
    ] = None,
    isolation: KindOption = "conda",
    store: StoreOption = None,
) -> None:
    """Print the folder of the store, or of what was built from a spec's present locks."""
    from envhub.build import Store, read_lock

    if spec is None:
        console.print(Store(store).root, markup=False)
        return
    found = find(spec)
    prefix = Store(store).prefix(read_lock(found).digest_for(isolation), isolation)
    if prefix is None:
        raise CommandError(
            f"{found.name}: nothing is built from its present locks; build it with: "
            f"envhub build {reference(found)} --isolation {isolation}"
        )
    console.print(prefix, markup=False)


@store.command()
def verify(
    remove: Annotated[
        bool, typer.Option("--remove", help="Remove what is damaged, so that it can be built again.")
    ] = False,
    store: StoreOption = None,
    as_json: AsJson = False,
) -> None:
    """Compare every file of every environment with what was built; 1 when one differs."""
    from envhub.build import Store

    place = Store(store)
    found = [(one, place.verify(one)) for one in place.all()]
    removed = {one.prefix for one, complaints in found if complaints and remove and place.remove(one)}
    if as_json:
        print_json(
            [
                {**_as_json(one), "complaints": complaints, "removed": one.prefix in removed}
                for one, complaints in found
            ]
        )
    else:
        for one, complaints in found:
            _print_verdict(one, complaints, one.prefix in removed)
    if any(complaints for _, complaints in found):
        raise typer.Exit(1)


def _print_verdict(one: Built, complaints: list[str], removed: bool) -> None:
    if not complaints:
        console.print(f"{one.spec} ({one.kind}): whole, {one.prefix}", markup=False)
        return
    console.print(f"{one.spec} ({one.kind}): damaged", style="bold red", markup=False)
    for complaint in complaints[:20]:
        console.print(f"  {complaint}", markup=False)
    if len(complaints) > 20:
        console.print(f"  and {len(complaints) - 20} more")
    console.print(
        "  removed; build it again with envhub build"
        if removed
        else "  remove it with: envhub store verify --remove; then build it again",
        markup=False,
    )


@store.command()
def gc(store: StoreOption = None, as_json: AsJson = False) -> None:
    """Remove what no spec uses any more: old environments, archives, leftovers of builds that died."""
    from envhub.build import Store

    place = Store(store)
    removed = place.gc()
    if as_json:
        print_json([dataclasses.asdict(one) for one in removed])
        return
    for one in removed:
        console.print(f"removed {one.path} ({_megabytes(one.size)})", markup=False)
    freed = sum(one.size for one in removed)
    console.print(f"{place.root}: {_megabytes(freed)} freed", markup=False)


def _as_json(one: Built) -> dict[str, Any]:
    return {**dataclasses.asdict(one), "python": str(one.python)}


def _megabytes(size: int) -> str:
    return f"{size / 2**20:,.1f} MB"
