"""`envhub show`: everything one spec declares."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from envhub.cli._output import AsJson, console, print_json, print_table
from envhub.spec import Channel, ConfigKey, Spec, find

SpecArgument = Annotated[
    str, typer.Argument(metavar="SPEC", help="A name, a path to a spec's folder, or gymnasium:ID.")
]


def show(spec: SpecArgument, as_json: AsJson = False) -> None:
    """Show everything a spec declares.

    That is its settings, limits, actions, observations, splits, data and artifacts.
    """
    found = find(spec)
    if as_json:
        print_json(dataclasses.asdict(found))
        return
    console.print(f"[bold]{found.name}[/bold] {found.version}")
    console.print(found.summary, markup=False)
    _print_facts(found)
    settings = [
        (key, setting.type, _default(setting), _meaning(setting))
        for key, setting in found.config.items()
        if len(setting.choices) != 1  # nothing to choose
    ]
    if settings:
        console.print()
        print_table(("setting", "type", "default", "meaning"), settings, f"--set {found.name}.KEY=VALUE")
    if found.open_config:
        console.print(f"Any other KEY goes to {found.entry_point} as it is.", markup=False)
    console.print()
    limits = ((key, f"{value:g}") for key, value in dataclasses.asdict(found.limits).items())
    print_table(("limit", "value"), limits, f"--set {found.name}.LIMIT=VALUE")
    if found.splits:
        console.print()
        print_table(("split", "meaning"), found.splits.items())
    if found.data:
        console.print()
        files = ((file.name, file.size, file.sha256[:12], file.source) for file in found.data)
        print_table(("data", "bytes", "sha256", "source"), files)
    if found.artifacts:
        console.print()
        made = ((one.name, one.help, one.setting or "") for one in found.artifacts)
        print_table(("artifact", "meaning", "setting"), made, f"envhub build {spec}")
    console.print(f"\nServe it: envhub serve --env {spec}", markup=False)


def _print_facts(spec: Spec) -> None:
    facts = [
        ("action", _described(spec.action)),
        ("observation", _described(spec.observation)),
        ("entry point", spec.entry_point),
        ("folder", spec.path or "(installed)"),
        ("runs on", f"Python {spec.requires_python}"),
        ("forks workers", "yes" if spec.fork else "no"),
    ]
    console.print()
    print_table((), facts)


def _default(setting: ConfigKey) -> str:
    return json.dumps(setting.default, ensure_ascii=False)  # true, "text", [1, 2]: as TOML has them


def _meaning(setting: ConfigKey) -> str:
    choices = " or ".join(map(str, setting.choices))
    return "; ".join(filter(None, (choices, setting.help)))


def _described(channel: Channel) -> str:
    kind = _space(channel.space) if channel.space else "the environment's own space"
    return f"{channel.description} [{kind}]"


def _space(space: Mapping[str, Any]) -> str:
    """Return a space in a few words."""
    match space["type"]:
        case "Text":
            least = space.get("min_length", 0)
            return f"Text, {f'{least} to' if least else 'up to'} {space['max_length']} characters"
        case "Box":
            return f"Box, shape {tuple(space['shape'])}, {space['dtype']}"
        case "Discrete":
            start = space.get("start", 0)
            return f"Discrete, {start} to {start + space['n'] - 1}"
        case "Dict":
            return "Dict, " + ", ".join(f"{key}: {_space(part)}" for key, part in space["spaces"].items())
        case "Tuple":
            return "Tuple, " + ", ".join(map(_space, space["spaces"]))
        case kind:
            size = space["nvec"] if kind == "MultiDiscrete" else space["n"]
            return f"{kind}, {size}"
