"""`envhub pack`: one file for machines without a network."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from envhub.cli._options import OfflineOption, StoreOption
from envhub.cli._output import AsJson, console, print_json
from envhub.cli.build import Bars
from envhub.spec import find


def pack(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="A name or a path to a spec's folder.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Default NAME-VERSION-PLATFORM.envhub."),
    ] = None,
    offline: OfflineOption = False,
    store: StoreOption = None,
    as_json: AsJson = False,
) -> None:
    """Write a spec, its locks and the archives of all its packages into one file.

    `envhub build --from FILE` builds it on a machine without any network.
    """
    from envhub.build import Store
    from envhub.build import pack as pack_spec

    found = find(spec)
    with Bars(found.name) as bars:
        packed = pack_spec(found, Store(store), output, offline=offline, report=bars.report)
    if as_json:
        print_json(asdict(packed))
        return
    console.print(
        f"{packed.spec}: {packed.file} ({packed.archives} packages, {packed.size / 2**20:,.0f} MB, "
        f"{packed.platform})\n  {packed.digest}\nBuild it elsewhere: envhub build --from {packed.file.name}",
        markup=False,
    )
