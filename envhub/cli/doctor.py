"""`envhub doctor`: what works on this machine, what does not, and what mends it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from envhub.cli._options import StoreOption
from envhub.cli._output import AsJson, console, errors, print_json, print_table
from envhub.cli.serve import DEFAULT_HOST, DEFAULT_PORT
from envhub.spec import bundled, find

if TYPE_CHECKING:
    from envhub.doctor import Finding

_STYLES = {"ok": "green", "note": "", "warning": "yellow", "problem": "bold red"}


def doctor(
    spec: Annotated[
        list[str] | None,
        typer.Argument(metavar="[SPEC]...", help="Names or paths of specs; default all bundled ones."),
    ] = None,
    store: StoreOption = None,
    host: Annotated[str, typer.Option(metavar="HOST", help="Address a hub would listen on.")] = DEFAULT_HOST,
    port: Annotated[
        int, typer.Option(metavar="PORT", min=0, max=65535, help="Port a hub would listen on.")
    ] = DEFAULT_PORT,
    offline: Annotated[bool, typer.Option("--offline", help="Ask no channel whether it answers.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="Do not hash the files of what is built.")] = False,
    as_json: AsJson = False,
) -> None:
    """Look at this machine and the specs; say what is wrong and how to mend it.

    Exits with 1 when there is a problem; notes and warnings alone are no failure.
    """
    from envhub.build import Store
    from envhub.doctor import examine

    specs = [find(name) for name in spec] if spec else bundled()
    findings: list[Finding] = []
    with errors.status("looking") as status:
        for finding in examine(specs, Store(store), host, port, offline=offline, deep=not quick):
            findings.append(finding)
            status.update(f"{finding.check} {finding.about}".strip())
    problems = [finding for finding in findings if finding.status == "problem"]
    if as_json:
        print_json({"ok": not problems, "findings": [asdict(finding) for finding in findings]})
    else:
        _print(findings)
    if problems:
        raise typer.Exit(1)


def _print(findings: list[Finding]) -> None:
    rows = [(one.check, one.about, one.status, one.words) for one in findings]
    print_table(
        ("check", "of", "status", "found"),
        rows,
        styles=[("", "", _STYLES[one.status], "") for one in findings],
    )
    to_mend = [one for one in findings if one.mend and one.status != "ok"]
    if to_mend:
        console.print("\nTo mend:", style="bold")
    for one in to_mend:
        console.print(f"  {' '.join(filter(None, (one.check, one.about)))}: {one.mend}", markup=False)
