"""`envhub lock`: makes the locks of specs, and says whether they are fresh."""

from __future__ import annotations

import dataclasses
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

    Writes conda-lock.yml and requirements.lock from environment.yml and requirements.in, and before that what
    the spec's artifacts are made of.
    """
    specs = _specs(spec, every)
    if check:
        _check(specs, as_json)
    else:
        _lock(specs, conda, channel, as_json)


def _specs(named: str | None, every: bool) -> list[Spec]:
    from envhub.build import SpecFiles

    if (named is None) != every:
        raise CommandError("lock: name one spec, or all bundled ones with --all")
    if named is not None:
        return [find(named)]
    return [one for one in bundled() if SpecFiles.of(one).environment.is_file()]


def _check(specs: Sequence[Spec], as_json: bool) -> None:
    from envhub.build import check_fresh

    found = [check_fresh(spec, thorough=True) for spec in specs]
    if as_json:
        print_json(
            [
                {"spec": one.spec, "fresh": one.fresh, "reasons": one.reasons, "notes": one.notes}
                for one in found
            ]
        )
    else:
        rows = [
            (one.spec, "fresh" if one.fresh else "stale", "\n".join((*one.reasons, *one.notes)))
            for one in found
        ]
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
    """Lock each; of several a failed one is told and the others are locked all the same."""
    from envhub.build import BuildError, relock

    done: list[dict[str, Any]] = []
    for spec in specs:
        try:
            with errors.status(spec.name) as status:
                artifacts = _lock_artifacts(spec, as_json)
                relocked = relock(spec, conda=conda, channels=channels, progress=status.update)
        except BuildError as error:
            if len(specs) == 1:
                raise
            errors.print(f"not locked: {error}", style="red", markup=False)
            done.append({"spec": spec.name, "error": str(error)})
            continue
        done.append({**dataclasses.asdict(relocked), "artifacts": artifacts})
        if not as_json:
            _print_locked(relocked)
    if as_json:
        print_json(done)
    if any("error" in one for one in done):
        raise typer.Exit(1)


def _lock_artifacts(spec: Spec, as_json: bool) -> list[dict[str, Any]]:
    from envhub.build import lock_artifact

    locked = []
    for artifact in spec.artifacts:
        if artifact.lock:
            changed = lock_artifact(spec, artifact)
            locked.append({"name": artifact.name, "changed": changed})
            if not as_json:
                files = ", ".join(file.name for file in changed) or "nothing, the locks are as they were"
                console.print(f"{spec.name}: artifact {artifact.name}; wrote {files}", markup=False)
    return locked


def _print_locked(locked: Relocked) -> None:
    changed = ", ".join(file.name for file in locked.changed) or "nothing, the locks are as they were"
    console.print(
        f"{locked.spec}: Python {locked.python}, {locked.conda} conda and {locked.pypi} PyPI packages, "
        f"solved with {locked.solver}; wrote {changed}",
        markup=False,
    )
