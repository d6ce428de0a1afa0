"""What a hub is to serve: `hub.toml`, and the same from the command line.

```toml
[serve]
host = "127.0.0.1"
port = 8000
token = "…"            # or the environment variable ENVHUB_TOKEN
tokens = "tokens.toml" # as --tokens takes it; relative to this file
replicas = 1           # of each environment below that does not say
workers = 2            # likewise
isolation = "auto"     # likewise: "auto", "conda", "venv" or "host"
build = false          # as --build
store = "envs"         # as --store takes it; relative to this file

[[env]]
spec = "webshop"       # as --env takes it; a path is relative to this file
replicas = 64
workers = 2
isolation = "conda"
[env.set]              # as --set webshop.mode=faithful
mode = "faithful"
```
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from envhub.spec import (
    Assignment,
    EnvArgument,
    IsolationArgument,
    ServedSpec,
    SettingsInvalid,
    Spec,
    Table,
    Wanted,
    complaint_about_isolation,
    find,
    isolations_of,
    settings_of,
)


@dataclass(frozen=True, slots=True)
class EnvConfig:
    """One environment to serve, as it was asked for; None where nothing was said."""

    spec: str
    replicas: int | None = None
    workers: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    isolation: Wanted | None = None


@dataclass(frozen=True, slots=True)
class HubConfig:
    """What `hub.toml` says; None where it says nothing."""

    host: str | None = None
    port: int | None = None
    token: str | None = None
    tokens: Path | None = None
    replicas: int | None = None
    workers: int | None = None
    envs: tuple[EnvConfig, ...] = ()
    isolation: Wanted | None = None
    build: bool = False
    store: Path | None = None


@dataclass(frozen=True, slots=True)
class EnvPlan:
    """One environment to serve, with everything decided but its interpreter.

    Attributes:
        served: The spec and its settings.
        replicas: How many environments live at once.
        workers: How many processes host them; None means one a core, or what the spec asks for.
        isolation: What it is to run in.
    """

    served: ServedSpec
    replicas: int
    workers: int | None
    isolation: Wanted


def read_hub_file(file: Path) -> HubConfig:
    """Read a `hub.toml`.

    Raises:
        SettingsInvalid: the file cannot be read or has a key or value it may not have.
    """
    root = Table.read(file, SettingsInvalid)
    serve = root.table("serve") or Table({}, file, "serve", SettingsInvalid)
    tokens = serve.optional("tokens", str)
    store = serve.optional("store", str)
    if store == "":
        raise serve.fail("store", "an empty name is no folder; leave it out for the default one")
    config = HubConfig(
        host=serve.optional("host", str),
        port=_whole(serve, "port", least=0, most=65535),
        token=serve.optional("token", str),
        tokens=None if tokens is None else file.parent / tokens,
        replicas=_whole(serve, "replicas"),
        workers=_whole(serve, "workers"),
        envs=tuple(_env(table) for table in root.tables("env")),
        isolation=_isolation(serve),
        build=bool(serve.optional("build", bool)),
        store=None if store is None else file.parent / Path(store).expanduser(),
    )
    serve.finish()
    root.finish()
    return config


def envs_to_serve(
    config: HubConfig,
    envs: Iterable[EnvArgument] = (),
    assignments: Iterable[Assignment] = (),
    replicas: int = 1,
    workers: int | None = None,
    isolations: Iterable[IsolationArgument] = (),
) -> list[EnvPlan]:
    """Find every environment that is asked for and decide its settings.

    Args:
        config: What `hub.toml` says.
        envs: The `--env` arguments; one that repeats an entry of the file changes its replicas.
        assignments: The `--set` arguments; they win over the file.
        replicas: Of an environment for which nothing says how many.
        workers: Likewise; None as above.
        isolations: The `--isolation` arguments; they win over the file.

    Raises:
        SpecError: a spec that is not found or not valid, a wrong setting, a spec asked for twice.
    """
    wanted: dict[str, tuple[Spec, EnvConfig]] = {}
    for env in config.envs:
        spec = find(env.spec)
        if spec.name in wanted:
            raise SettingsInvalid(f"the spec {spec.name!r} has two [[env]] entries; give it one")
        wanted[spec.name] = spec, env
    from_file = set(wanted)
    for argument in envs:
        spec = find(argument.ref)
        if spec.name in from_file:
            from_file.remove(spec.name)
            env = wanted[spec.name][1]
            changed = env.replicas if argument.replicas is None else argument.replicas
            wanted[spec.name] = spec, dataclasses.replace(env, replicas=changed)
        elif spec.name in wanted:
            raise SettingsInvalid(
                f"the spec {spec.name!r} is asked for twice; write --env {spec.name}=REPLICAS once"
            )
        else:
            wanted[spec.name] = spec, EnvConfig(argument.ref, argument.replicas)
    settings = settings_of(assignments, wanted)
    wanted_isolations = isolations_of(isolations, wanted)
    return [
        EnvPlan(
            served=spec.resolve({**env.settings, **settings[spec.name]}),
            replicas=env.replicas or config.replicas or replicas,
            workers=env.workers or config.workers or workers,
            isolation=wanted_isolations[spec.name] or env.isolation or config.isolation or "auto",
        )
        for spec, env in wanted.values()
    ]


def _env(table: Table) -> EnvConfig:
    settings = table.table("set")
    env = EnvConfig(
        spec=_from_here(table.value("spec", str), table.file.parent),
        replicas=_whole(table, "replicas"),
        workers=_whole(table, "workers"),
        settings={key: settings.any(key) for key in settings.keys()} if settings else {},
        isolation=_isolation(table),
    )
    table.finish()
    return env


def _isolation(table: Table) -> Wanted | None:
    text = table.optional("isolation", str)
    complaint = None if text is None else complaint_about_isolation(text)
    if complaint:
        raise table.fail("isolation", complaint)
    return cast(Wanted | None, text)


def _from_here(ref: str, folder: Path) -> str:
    is_path = "/" in ref and not ref.startswith("gymnasium:")
    return str(folder / ref) if is_path else ref


def _whole(table: Table, key: str, least: int = 1, most: int | None = None) -> int | None:
    number = table.optional(key, int)
    if number is not None and (number < least or (most is not None and number > most)):
        raise table.fail(key, f"{number} is not {least} or more" + (f", up to {most}" if most else ""))
    return number
