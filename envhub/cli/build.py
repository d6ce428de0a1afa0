"""`envhub build`: makes the environments of specs from their locks."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import typer

from envhub.cli import CommandError
from envhub.cli._options import OfflineOption, StoreOption
from envhub.cli._output import AsJson, console, errors, print_json, progress
from envhub.spec import Artifact, Spec, bundled, find, reference

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from envhub.build import Outcome, Store

KindOption = Annotated[
    Literal["conda", "venv"],
    typer.Option(
        "--isolation", help="conda: all that is locked. venv: the PyPI part, on a Python of this machine."
    ),
]
BuildOption = Annotated[
    Literal["conda", "venv", "host"],
    typer.Option(
        "--isolation",
        help="conda: all that is locked. venv: the PyPI part, on a Python of this machine. host: no "
        "interpreter, only the spec's artifacts.",
    ),
]


def build(
    spec: Annotated[
        str | None, typer.Argument(metavar="SPEC", help="A name or a path to a spec's folder.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="Every bundled spec that has locks.")] = False,
    packed: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="A pack that `envhub pack` made.")
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option("--dir", metavar="DIR", help="Where a pack's spec goes; default a folder of its name."),
    ] = None,
    isolation: BuildOption = "conda",
    offline: OfflineOption = False,
    store: StoreOption = None,
    as_json: AsJson = False,
) -> None:
    """Build what a spec runs in and needs, from its locks.

    That is its artifacts, then its environment. Every archive is checked against its locked hash, and the
    environment is tried before it counts as built. What is there already is not built again. With --from
    nothing is fetched: the pack has it all.
    """
    from envhub.build import BuildError, Store

    place = Store(store)
    if packed is not None:
        if spec is not None or every:
            raise CommandError("build: --from says which spec; leave the name and --all out")
        specs, offline = [_unpacked(packed, place, folder)], True
    else:
        if folder is not None:
            raise CommandError("build: --dir goes with --from FILE")
        specs = _specs(spec, every)
    built: list[dict[str, Any]] = []
    for one in specs:
        if isolation == "host" and not one.artifacts:
            raise CommandError(
                f"build: {one.name} has no artifacts, so there is nothing to build for the host"
            )
        made: list[Outcome] = []
        try:
            for artifact in one.artifacts:
                made.append(artifact_with_bars(one, artifact, place, offline))
                if not as_json:
                    _print_artifact(one, made[-1])
            outcome = None if isolation == "host" else build_with_bars(one, place, isolation, offline)
        except BuildError as error:
            if not every:
                if made and len(made) == len(one.artifacts):
                    errors.print("That is there; --isolation host does without what follows.", markup=False)
                raise
            reason = str(error).removeprefix(f"{one.name}: ")
            errors.print(f"{one.name}: not built: {reason}", style="red", markup=False)
            built.append({"spec": one.name, "error": str(error), "artifacts": [*map(_made_as_json, made)]})
            continue
        built.append(_as_json(one, outcome, made))
        if not as_json:
            _print(one, outcome, place)
    if as_json:
        print_json(built if every else built[0])
    if any("error" in one for one in built):
        raise typer.Exit(1)


def _unpacked(file: Path, store: Store, folder: Path | None) -> Spec:
    from envhub.build import unpack

    with Bars(file.name) as bars:
        return unpack(file, store, folder, report=bars.report)


def _specs(named: str | None, every: bool) -> list[Spec]:
    from envhub.build import SpecFiles

    if (named is None) != every:
        raise CommandError("build: name one spec, all bundled ones with --all, or a pack with --from FILE")
    if named is not None:
        return [find(named)]
    return [one for one in bundled() if SpecFiles.of(one).conda_lock.is_file()]


def build_with_bars(
    spec: Spec, store: Store, kind: Literal["conda", "venv"], offline: bool = False
) -> Outcome:
    """Build a spec's environment, unless it is there, and show how far that is.

    Raises:
        BuildError: It can't be built.
    """
    from envhub.build import build as build_spec

    with Bars(spec.name) as bars:
        return build_spec(spec, store, kind, offline=offline, report=bars.report)


def artifact_with_bars(spec: Spec, artifact: Artifact, store: Store, offline: bool = False) -> Outcome:
    """Make an artifact, unless it is there, and show how far that is.

    Raises:
        BuildError: It can't be made.
    """
    from envhub.build import build_artifact

    with Bars(spec.name) as bars:
        return build_artifact(spec, artifact, store, offline=offline, report=bars.report)


def _as_json(spec: Spec, outcome: Outcome | None, made: Sequence[Outcome]) -> dict[str, Any]:
    artifacts = [_made_as_json(one) for one in made]
    if outcome is None:
        return {"spec": spec.name, "isolation": "host", "artifacts": artifacts}
    built = outcome.built
    return {
        "spec": spec.name,
        "isolation": built.kind,
        "digest": built.digest,
        "prefix": str(built.prefix),
        "python": str(built.python),
        "python_version": built.python_version,
        "packages": len(built.archives),
        "size": built.size,
        "reused": outcome.reused,
        "seconds": round(outcome.seconds, 3),
        "artifacts": artifacts,
    }


def _made_as_json(made: Outcome) -> dict[str, Any]:
    built = made.built
    return {
        "name": built.artifact,
        "path": str(built.content),
        "digest": built.digest,
        "archives": len(built.archives),
        "size": built.size,
        "reused": made.reused,
        "seconds": round(made.seconds, 3),
    }


def _print_artifact(spec: Spec, made: Outcome) -> None:
    built = made.built
    console.print(
        f"{spec.name}: {built.artifact} {_when(made)} ({len(built.archives)} archives, "
        f"{built.size / 2**20:,.0f} MB)\n"
        f"  {built.digest}\n"
        f"  {built.content}",
        markup=False,
    )


def _when(outcome: Outcome) -> str:
    return "there already" if outcome.reused else f"built in {outcome.seconds:.1f} s"


def _print(spec: Spec, outcome: Outcome | None, place: Store) -> None:
    if outcome is None:
        serve = place.command("serve", "--env", reference(spec))
        console.print(f"Serve it: {serve}", markup=False)
        return
    built = outcome.built
    serve = place.command("serve", "--env", reference(spec), "--isolation", built.kind)
    note = "" if built.kind == "conda" else ", not conda-locked"
    console.print(
        f"{spec.name}: {_when(outcome)} "
        f"({built.kind}{note}, Python {built.python_version}, {len(built.archives)} packages, "
        f"{built.size / 2**20:,.0f} MB)\n"
        f"  {built.digest}\n"
        f"  {built.prefix}\n"
        f"Serve it: {serve}",
        markup=False,
    )


class Bars:
    """Bars on standard error: one a package while it is fetched, one for each later stage.

    Nothing is shown, or even imported, before there is progress to show. In a pipe nothing is, but that it
    waits for another build.
    """

    _VERBS: ClassVar = {
        "install": "installing",
        "make": "making",
        "setup": "setup step",
        "try": "trying",
        "wait": "waiting for another build of",
        "pack": "packing",
        "unpack": "unpacking",
    }

    def __init__(self, name: str) -> None:
        self._name = name
        self._progress: Progress | None = None
        self._tasks: dict[tuple[str, str], TaskID] = {}
        self._stage = ""
        self._lock = threading.Lock()
        self._stack = ExitStack()

    def __enter__(self) -> Bars:
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()

    def report(self, stage: str, item: str, done: int, total: int) -> None:
        """Show how far something is; called from any thread."""
        with self._lock:
            if not errors.is_terminal:
                if stage == "wait":
                    errors.print(f"{self._name}: {self._VERBS[stage]} {item}", markup=False)
                return
            bars = self._progress or self._start()
            if stage != self._stage:
                for task in self._tasks.values():
                    bars.update(task, visible=False)
                self._stage = stage
            key = (stage, item if stage == "fetch" else "")
            if key not in self._tasks:
                self._tasks[key] = bars.add_task("")
            text = f"fetching {item}" if stage == "fetch" else f"{self._VERBS[stage]} {item}"
            bars.update(
                self._tasks[key],
                description=f"{self._name}: {text}",
                completed=done,
                total=total or None,
                visible=stage != "fetch" or done < total or not total,
            )

    def _start(self) -> Progress:
        self._progress = self._stack.enter_context(progress())
        return self._progress
