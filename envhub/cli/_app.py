"""All commands, each registered in one line."""

from __future__ import annotations

from typing import Annotated

import typer

import envhub
from envhub.cli.build import build
from envhub.cli.check import check
from envhub.cli.collect import collect
from envhub.cli.data import data
from envhub.cli.doctor import doctor
from envhub.cli.eval import evaluation
from envhub.cli.list_specs import list_specs
from envhub.cli.lock import lock
from envhub.cli.new import new
from envhub.cli.pack import pack
from envhub.cli.replay import replay
from envhub.cli.serve import serve
from envhub.cli.sessions import sessions
from envhub.cli.show import show
from envhub.cli.store import store
from envhub.cli.token import token
from envhub.cli.train import train
from envhub.cli.trajectories import trajectories

app = typer.Typer(
    help="Serve environments for language agents.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,  # plain help: no boxes, no types beside flags
)
app.command(context_settings={"allow_extra_args": True})(serve)  # it says itself what was meant
app.command("list")(list_specs)
app.command()(show)
app.command()(new)
app.command()(check)
app.command()(lock)
app.command()(build)
app.command()(pack)
app.command()(doctor)
app.command(context_settings={"allow_extra_args": True})(train)
app.command()(replay)
app.command()(collect)
app.add_typer(evaluation, name="eval")
app.add_typer(trajectories, name="trajectories")
app.add_typer(data, name="data")
app.add_typer(token, name="token")
app.add_typer(sessions, name="sessions")
app.add_typer(store, name="store")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"envhub {envhub.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass
