"""`envhub check`: does an environment keep the rules that the hub relies on?"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from envhub.cli._options import IsolationOption, StoreOption
from envhub.cli._output import AsJson, console, print_json, print_table, progress
from envhub.cli.show import SpecArgument
from envhub.spec import Assignment, ServedSpec, check_data, find, settings_of

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
    as_json: AsJson = False,
) -> None:
    """Check that a spec keeps the hub's rules.

    Plays it in real workers. The exit status is 1 when it breaks a rule.
    """
    from envhub.build import Store
    from envhub.cli._runtimes import holding, with_runtime

    found = find(spec)
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
