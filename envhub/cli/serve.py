"""`envhub serve`: environments over HTTP."""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer

from envhub.cli import CommandError, Starting
from envhub.cli._hubfile import HubConfig, envs_to_serve, read_hub_file
from envhub.cli._options import StoreOption
from envhub.record import Log, LogBusy, Recorder
from envhub.spec import Assignment, EnvArgument, IsolationArgument, SpecError

log = logging.getLogger("envhub.hub")

DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8000


def serve(
    context: typer.Context,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", "-e", metavar="SPEC[=N]", help="An environment and how many replicas of it."),
    ] = None,
    replicas: Annotated[int, typer.Option(metavar="N", min=1, help="Replicas where --env does not say.")] = 1,
    workers: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Processes an environment; default one a core, or as the spec asks."
        ),
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="SPEC.KEY=VALUE", help="A setting of a spec.")
    ] = None,
    isolation: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[SPEC=]auto|conda|venv|host",
            help="What environments run in: auto is conda if it is built, else the hub's own interpreter.",
        ),
    ] = None,
    build: Annotated[
        bool, typer.Option("--build", help="First build from its locks what an environment is to run in.")
    ] = False,
    store: StoreOption = None,
    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", exists=True, dir_okay=False, help="A hub.toml that says all this."),
    ] = None,
    host: Annotated[
        str | None, typer.Option(metavar="HOST", help=f"Address to listen on; default {DEFAULT_HOST}.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(metavar="PORT", min=0, max=65535, help=f"Port, 0 for any; default {DEFAULT_PORT}."),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(metavar="TOKEN", envvar="ENVHUB_TOKEN", help="Bearer token that clients must show."),
    ] = None,
    tokens: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Tokens with roles and quotas (see `envhub token new`)."),
    ] = None,
    idle_timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="Seconds after which an unused session ends.")
    ] = 600.0,
    drain_timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="How long steps may take to end after SIGTERM.")
    ] = 10.0,
    record: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Keep every episode there (see `envhub trajectories`).")
    ] = None,
    state_dir: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Keep open sessions there: the next hub goes on with them."),
    ] = None,
    max_worker_mb: Annotated[
        float | None,
        typer.Option(metavar="MB", min=1, help="Memory of its own a worker may hold before it is killed."),
    ] = None,
    recycle_episodes: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Replace a worker after so many episodes.")
    ] = None,
    recycle_growth_mb: Annotated[
        float | None, typer.Option(metavar="MB", min=1, help="Replace a worker that has grown by so much.")
    ] = None,
    max_body_bytes: Annotated[int, typer.Option(metavar="BYTES", min=1024, help="Largest request body.")] = 16
    * 2**20,
    request_timeout: Annotated[
        float, typer.Option(metavar="SECONDS", min=0.1, help="How long a request may take to arrive.")
    ] = 60.0,
    log_format: Annotated[
        Literal["json", "pretty"] | None,
        typer.Option(help="How the log is written; default pretty on a terminal, else json."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON line when ready.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Show what environments print.")] = False,
) -> None:
    """Serve environments over HTTP, many replicas of each, until Ctrl-C."""
    if context.args:
        wanted = " ".join(f"--env {argument}" for argument in context.args)
        raise CommandError(f"serve takes options only: did you mean {wanted}?")
    with Starting():
        from envhub.build import Store  # here, so that the light commands stay quick
        from envhub.cli._runtimes import pool_plans
        from envhub.cli._serving import run_hub
        from envhub.pool import WorkerCare
        from envhub.server import HubSettings, Tokens, set_up_logs
        from envhub.session import SessionSettings

    as_json_lines = log_format == "json" or (log_format is None and not sys.stderr.isatty())
    set_up_logs(sys.stderr, as_json_lines, logging.INFO if verbose else logging.WARNING)
    with _failures_logged(as_json_lines):
        file = read_hub_file(config) if config is not None else HubConfig()
        arguments = [EnvArgument.parse(text) for text in env or []]
        assignments = [Assignment.parse(text) for text in settings or []]
        isolations = [IsolationArgument.parse(text) for text in isolation or []]
        plans = envs_to_serve(file, arguments, assignments, replicas, workers, isolations)
        if not plans:
            raise CommandError("nothing to serve: add --env NAME (see `envhub list`) or --config hub.toml")
        listen_on = host or file.host or DEFAULT_HOST
        tokens_file = tokens or file.tokens
        hub_settings = HubSettings(
            token=file.token if token is None else token,
            tokens=None if tokens_file is None else Tokens.of_file(tokens_file),
            host=listen_on,
            max_body_bytes=max_body_bytes,
            request_timeout_s=request_timeout,
            care=WorkerCare(max_worker_mb, recycle_episodes, recycle_growth_mb),
            sessions=SessionSettings(idle_timeout_s=idle_timeout),
        )
        with pool_plans(plans, Store(store or file.store), build or file.build) as decided:
            run_hub(
                decided,
                hub_settings,
                _open_recorder(record, state_dir),
                host=listen_on,
                port=next(choice for choice in (port, file.port, DEFAULT_PORT) if choice is not None),
                as_json=as_json,
                drain_timeout_s=drain_timeout,
                watched=sys.stderr.isatty() and not as_json_lines,
            )


@contextlib.contextmanager
def _failures_logged(wanted: bool) -> Iterator[None]:
    """Logs what ends the command, where standard error is to hold nothing but the log."""
    from envhub.build import BuildError  # here, so that the light commands stay quick

    try:
        yield
    except (SpecError, CommandError, BuildError) as error:
        if not wanted:
            raise
        log.error("%s", error)
        raise typer.Exit(2) from None
    except Exception:
        if not wanted:
            raise
        log.critical("the hub has a defect and ends", exc_info=True)
        raise typer.Exit(1) from None


def _open_recorder(record: Path | None, state_dir: Path | None) -> Recorder | None:
    """Opens the logs that are asked for; each has one hub that writes to it."""
    if record is not None and state_dir is not None and record.resolve() == state_dir.resolve():
        raise CommandError(
            f"--record and --state-dir name the same folder, {record}: give each one of its own"
        )
    try:
        logs = [None if folder is None else Log(folder) for folder in (record, state_dir)]
    except LogBusy as busy:
        raise CommandError(str(busy)) from None
    except OSError as error:
        raise CommandError(f"can't keep a record in {error.filename}: {error.strerror}") from None
    return Recorder(*logs) if any(logs) else None
