"""`envhub check`: does an environment keep the rules that the hub relies on?"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from envhub.cli import CommandError, _alfworld
from envhub.cli._options import IsolationOption, StoreOption
from envhub.cli._output import AsJson, console, print_json, print_table, progress
from envhub.cli.show import SpecArgument
from envhub.spec import Assignment, ServedSpec, Spec, check_data, find, settings_of

if TYPE_CHECKING:
    from envhub.check import Result

_STYLES = {"PASS": "green", "FAIL": "bold red", "SKIP": "yellow"}


def check(
    spec: SpecArgument,
    settings: Annotated[
        list[str], typer.Option("--set", metavar="SPEC.KEY=VALUE", help="A setting or limit.")
    ] = [],  # noqa: B006  typer reads it and nothing changes it
    isolation: IsolationOption = "auto",
    store: StoreOption = None,
    engine: Annotated[
        Literal["textworld"] | None,
        typer.Option(
            "--against", help="Instead: play ALFWorld's games side by side in the published engine."
        ),
    ] = None,
    games: Annotated[
        Path | None,
        typer.Option("--games", metavar="DIR", exists=True, file_okay=False, help="The games for --against."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that a spec keeps the hub's rules.

    Plays it in real workers. The exit status is 1 when it breaks a rule, or when there is a difference.
    """
    from envhub.build import Store
    from envhub.cli._runtimes import holding, with_runtime

    found = find(spec)
    if engine is not None or games is not None:
        _compare(found, games, settings, engine, as_json)
        return
    check_data(found)
    assignments = map(Assignment.parse, settings)
    served = found.resolve(settings_of(assignments, [found.name])[found.name])
    kept = Store(store)
    served = with_runtime(served, isolation, kept)
    with holding(served, kept):
        results = asyncio.run(_run(served))
    if as_json:
        print_json(results)
    else:
        _print_report(found.name, results)
    if any(result.outcome == "FAIL" for result in results):
        raise typer.Exit(1)


def _compare(spec: Spec, games: Path | None, settings: list[str], engine: str | None, as_json: bool) -> None:
    if spec.name != "alfworld":
        raise CommandError(f"--against: there is no other engine for {spec.name}, only for alfworld")
    if engine is None or games is None:
        raise CommandError("--against textworld and --games DIR go together")
    served = spec.resolve(settings_of(map(Assignment.parse, settings), [spec.name])[spec.name])
    _alfworld.against(games, served.config["textworld_python"], as_json)


async def _run(served: ServedSpec) -> list[Result]:
    from envhub.check import CHECKS, run_checks

    results: list[Result] = []
    with progress() as bar:
        task = bar.add_task(CHECKS[0], total=len(CHECKS))
        async for result in run_checks(served):
            results.append(result)
            following = CHECKS[len(results)] if len(results) < len(CHECKS) else "done"
            bar.update(task, advance=1, description=following)
    return results


def _print_report(name: str, results: list[Result]) -> None:
    rows = [
        (
            result.check,
            result.outcome,
            result.reason + (f"\n→ {result.next_step}" if result.next_step else ""),
        )
        for result in results
    ]
    styles = [("", _STYLES[result.outcome], "") for result in results]
    print_table(("check", "", "what was seen, and what to do"), rows, styles=styles)
    for result in results:
        if result.traceback:
            console.print(f"\n{result.check}: {result.traceback}", markup=False)
    count = {outcome: sum(row[1] == outcome for row in rows) for outcome in _STYLES}
    console.print(
        f"\n{name}: {count['PASS']} passed, {count['FAIL']} failed, {count['SKIP']} skipped", style="bold"
    )
