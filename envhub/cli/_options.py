"""Options that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from envhub.spec import Wanted

IsolationOption = Annotated[
    Wanted,
    typer.Option(
        "--isolation",
        help="What it runs in: auto is conda if that is built, else the hub's own interpreter.",
    ),
]


def _folder(text: str) -> Path:
    if not text:
        raise typer.BadParameter("an empty name is no folder; leave it out for the default one")
    return Path(text)


StoreOption = Annotated[
    Path | None,
    typer.Option(
        "--store",
        metavar="DIR",
        parser=_folder,
        envvar="ENVHUB_STORE",
        help="Where built environments are; default ~/.cache/envhub.",
    ),
]
OfflineOption = Annotated[
    bool, typer.Option("--offline", help="Fetch nothing; use the archives in the store.")
]
