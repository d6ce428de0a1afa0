"""A solver for conda-lock: answers `conda create --dry-run --json` with py-rattler.

conda-lock has no solver of its own. It runs a conda executable once a platform and reads from its JSON which
packages would be fetched. `write_solver` makes an executable that this module answers for, with the user's
mirrors applied: the answer names the original addresses.

It runs in a process of its own that ends by `os._exit`: py-rattler may crash an interpreter that exits in the
usual way (PyO3/pyo3-async-runtimes#40), after its work is done.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shlex
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from envhub.build._mirrors import Mirrors

if TYPE_CHECKING:
    from rattler import RepoDataRecord


def write_solver(folder: Path, mirrors: Mirrors) -> Path:
    """Write the executable for conda-lock's `--conda` into a folder and return its path."""
    words = [sys.executable, "-P", "-c", f"from {__name__} import main; main()", json.dumps(mirrors.prefixes)]
    executable = folder / "envhub-solver"
    executable.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n', encoding="utf-8")
    executable.chmod(0o755)
    return executable


def answer(arguments: Sequence[str], mirrors: Mirrors, platform: str) -> dict[str, Any]:
    """Solve what a conda command line asks for.

    Args:
        arguments: `create --dry-run --json --channel URL … SPEC …`, as conda-lock writes it.
        mirrors: Where the channels are read from.
        platform: The conda name of the platform to solve for, as in `linux-64`.

    Returns:
        conda's answer to `--dry-run --json`: every package of the solution under `actions`.
    """
    asked = _parser().parse_args(arguments)

    from rattler import Channel, Gateway, MatchSpec, solve  # after what may end the process in the usual way

    def address(channel: str) -> str:
        return mirrors.there(Channel(channel).base_url.rstrip("/"))

    channels = [Channel(address(channel)) for channel in asked.channels]
    specs = []
    for spec in asked.specs:
        channel, separator, package = spec.rpartition("::")
        specs.append(MatchSpec(f"{address(channel)}::{package}" if separator else spec))
    records = asyncio.run(
        solve(channels, specs, gateway=Gateway(), platforms=[platform, "noarch"])  # type: ignore[list-item]
    )
    packages = [_package(record, mirrors) for record in sorted(records, key=lambda one: one.name.normalized)]
    return {"success": True, "dry_run": True, "actions": {"FETCH": packages, "LINK": packages}}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("envhub-solver", exit_on_error=False)
    parser.add_argument("--version", action="version", version=version("py-rattler"))
    create = parser.add_subparsers(required=True).add_parser("create")
    for flag in ("--dry-run", "--json", "--override-channels"):
        create.add_argument(flag, action="store_true")
    create.add_argument("--prefix")
    create.add_argument("--channel", action="append", default=[], dest="channels")
    create.add_argument("specs", nargs="*")
    return parser


def _package(record: RepoDataRecord, mirrors: Mirrors) -> dict[str, Any]:
    """Return a record as conda prints it, with the keys conda-lock reads of a fetched and a linked one."""
    package: dict[str, Any] = json.loads(record.to_json())
    url = mirrors.back(record.url)
    base_url, subdir, file = url.rsplit("/", 2)
    return package | {
        "url": url,
        "fn": file,
        "base_url": base_url,
        "channel": base_url,
        "platform": subdir,
        "dist_name": f"{package['name']}-{package['version']}-{package['build']}",
    }


def main() -> None:
    """Answer the process's own command line: the mirrors as JSON, then what conda would be given."""
    status = _run(sys.argv[1:])
    sys.stdout.flush()
    os._exit(status)


def _run(arguments: Sequence[str]) -> int:
    """Answer on standard output, as conda does: a failure is an answer too."""
    mirrors = Mirrors(json.loads(arguments[0]))
    try:
        found = answer(arguments[1:], mirrors, os.environ.get("CONDA_SUBDIR", ""))
    except Exception as reason:
        print(
            json.dumps(
                {
                    "success": False,
                    "error": type(reason).__name__,
                    "message": mirrors.without_secrets(str(reason)),
                }
            )
        )
        return 1
    print(json.dumps(found))
    return 0
