"""`envhub show`: everything one spec declares."""

from __future__ import annotations

import dataclasses
from typing import Annotated

import typer

from envhub.cli._output import AsJson, console, print_json, print_table
from envhub.spec import Channel, Spec, find

SpecArgument = Annotated[
    str, typer.Argument(metavar="SPEC", help="A name, a path to a spec's folder, or gymnasium:ID.")
]


def show(spec: SpecArgument, as_json: AsJson = False) -> None:
    """Show everything a spec declares: settings, limits, actions, observations, splits, data."""
    found = find(spec)
    if as_json:
        print_json(dataclasses.asdict(found))
        return
    console.print(f"[bold]{found.name}[/bold] {found.version}")
    console.print(found.summary, markup=False)
    _print_facts(found)
    settings = [
        (key, setting.type, repr(setting.default), ", ".join(map(str, setting.choices)), setting.help)
        for key, setting in found.config.items()
    ]
    if settings:
        console.print()
        print_table(("setting", "type", "default", "choices", ""), settings, f"--set {found.name}.KEY=VALUE")
    console.print()
    limits = ((key, f"{value:g}") for key, value in dataclasses.asdict(found.limits).items())
    print_table(("limit", "value"), limits, f"--set {found.name}.LIMIT=VALUE")
    if found.splits:
        console.print()
        print_table(("split", "tasks"), found.splits.items())
    if found.data:
        console.print()
        files = ((file.name, file.size, file.sha256[:12], file.source) for file in found.data)
        print_table(("data", "bytes", "sha256", "source"), files)
    console.print(f"\nServe it: envhub serve --env {spec}", markup=False)


def _print_facts(spec: Spec) -> None:
    facts = [
        ("action", _described(spec.action)),
        ("observation", _described(spec.observation)),
        ("entry point", spec.entry_point),
        ("folder", spec.path or "(installed)"),
        ("forks workers", "yes" if spec.fork else "no"),
    ]
    console.print()
    print_table((), facts)


def _described(channel: Channel) -> str:
    kind = channel.space["type"] if channel.space else "the environment's own space"
    return f"{channel.description} [{kind}]"
