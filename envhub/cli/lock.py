"""`envhub lock`: makes the locks of specs, and says whether they are fresh."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from envhub.cli import CommandError
from envhub.cli._output import AsJson, console, errors, print_json, print_table
from envhub.spec import Spec, bundled, find

if TYPE_CHECKING:
    from envhub.build import Relocked


def lock(
    spec: Annotated[
        str | None, typer.Argument(metavar="SPEC", help="A name or a path to a spec's folder.")
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Every bundled spec that has an environment.yml.")
    ] = False,
    check: Annotated[
        bool, typer.Option("--check", help="Say whether the locks are fresh and write nothing; 1 when not.")
    ] = False,
    conda: Annotated[
        str | None,
        typer.Option(
            metavar="EXE", help="The conda, mamba or micromamba to solve with; default: found, or ours."
        ),
    ] = None,
    channel: Annotated[
        list[str], typer.Option(metavar="URL", help="Use this channel instead of environment.yml's.")
    ] = [],  # noqa: B006  typer reads it and nothing changes it
    as_json: AsJson = False,
) -> None:
    """Lock what a spec's environment is made of.

    Writes conda-lock.yml and requirements.lock from environment.yml and requirements.in.
    """
    from envhub.build import BuildError

    specs = _specs(spec, every)
    try:
        if check:
            _check(specs, as_json)
        else:
            _lock(specs, conda, channel, as_json)
    except BuildError as error:
        raise CommandError(str(error)) from error


def _specs(named: str | None, every: bool) -> list[Spec]:
    from envhub.build import SpecFiles

    if (named is None) != every:
        raise CommandError("lock: name one spec, or all bundled ones with --all")
    if named is not None:
        return [find(named)]
    return [one for one in bundled() if SpecFiles.of(one).environment.is_file()]


def _check(specs: Sequence[Spec], as_json: bool) -> None:
    from envhub.build import check_fresh

    found = [check_fresh(spec, ask_conda_lock=True) for spec in specs]
    if as_json:
        print_json([{"spec": one.spec, "fresh": one.fresh, "reasons": one.reasons} for one in found])
    else:
        rows = [(one.spec, "fresh" if one.fresh else "stale", "\n".join(one.reasons)) for one in found]
        styles = [("", "green" if one.fresh else "bold red", "") for one in found]
        print_table(("spec", "locks", "why"), rows, styles=styles)
    stale = [spec for spec, one in zip(specs, found, strict=True) if not one.fresh]
    if stale:
        _say_next(stale)
        raise typer.Exit(1)


def _say_next(stale: Sequence[Spec]) -> None:
    from envhub.spec import reference

    commands = "".join(f"\n  envhub lock {reference(spec)}" for spec in stale)
    errors.print(f"Lock again:{commands}", markup=False)


def _lock(specs: Sequence[Spec], conda: str | None, channels: Sequence[str], as_json: bool) -> None:
    from envhub.build import relock

    done: list[Relocked] = []
    with errors.status("reading") as status:
        for spec in specs:
            done.append(relock(spec, conda=conda, channels=channels, progress=status.update))
    if as_json:
        print_json([_as_json(one) for one in done])
        return
    for one in done:
        changed = ", ".join(file.name for file in one.changed) or "nothing, the locks are as they were"
        console.print(
            f"{one.spec}: Python {one.python}, {one.conda} conda and {one.pypi} PyPI packages, solved with "
            f"{one.solver}; wrote {changed}",
            markup=False,
        )


def _as_json(one: Relocked) -> dict[str, Any]:
    return {
        "spec": one.spec,
        "solver": one.solver,
        "python": one.python,
        "conda": one.conda,
        "pypi": one.pypi,
        "changed": [str(file) for file in one.changed],
    }
