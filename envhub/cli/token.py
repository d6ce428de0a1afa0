"""`envhub token`: the tokens file of a hub, for `envhub serve --tokens`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from envhub.cli._output import AsJson, errors, print_json, print_table

if TYPE_CHECKING:
    from envhub.server import Role

DEFAULT_FILE = Path("tokens.toml")

TokensFile = Annotated[Path, typer.Option("--file", metavar="FILE", dir_okay=False, help="The tokens file.")]

token = typer.Typer(
    help="Make and list the tokens that `envhub serve --tokens FILE` takes.", no_args_is_help=True
)


@token.command()
def new(
    name: Annotated[str, typer.Argument(help="Whose token it is: letters, digits, '-' and '_'.")],
    role: Annotated[
        str,
        typer.Option(
            metavar="ROLE", help="client: its own sessions only. admin: everybody's.", show_default=True
        ),
    ] = "client",
    max_sessions: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="Sessions at once; default any number.")
    ] = None,
    requests_per_s: Annotated[
        float | None, typer.Option(metavar="N", help="Requests a second; default any number.")
    ] = None,
    file: TokensFile = DEFAULT_FILE,
) -> None:
    """Make a token: print it, this once, and add its hash to the file."""
    from envhub.server import Token, append_token  # here, so that the light commands stay quick

    made, text = Token.make(name, _role(role), max_sessions, requests_per_s)
    append_token(file, made)
    print(text)
    errors.print(
        f"Shown this once: {file} keeps only its hash. A hub that runs with the file knows it in a moment.",
        markup=False,
    )


@token.command("list")
def list_tokens(file: TokensFile = DEFAULT_FILE, as_json: AsJson = False) -> None:
    """List the tokens of a file: names, roles and limits."""
    from envhub.server import read_tokens

    tokens = [
        {
            "name": known.name,
            "role": known.role,
            "max_sessions": known.max_sessions,
            "requests_per_s": known.requests_per_s,
        }
        for known in read_tokens(file)
    ]
    if as_json:
        print_json(tokens)
        return
    rows = (["any" if value is None else value for value in known.values()] for known in tokens)
    print_table(("name", "role", "max sessions", "requests/s"), rows)


def _role(text: str) -> Role:
    if text not in ("client", "admin"):
        raise typer.BadParameter(f"{text!r} is neither client nor admin", param_hint="--role")
    return "admin" if text == "admin" else "client"
