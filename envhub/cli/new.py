"""`envhub new`: a working environment to start from."""

from __future__ import annotations

import keyword
import re
from importlib import resources
from pathlib import Path
from typing import Annotated

import typer

from envhub.cli import CommandError
from envhub.cli._output import console
from envhub.spec import bundled

_NAME = re.compile(r"[a-z][a-z0-9]*([_-][a-z0-9]+)*")


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Lower-case letters, digits, '-' and '_'.")],
    into: Annotated[
        Path, typer.Option("--dir", metavar="DIR", help="Where to make the folder NAME.", file_okay=False)
    ] = Path("."),
) -> None:
    """Write a working environment to start from.

    It comes with its test, and is to be changed into your own.
    """
    folder = write_skeleton(name, into)
    console.print(f"Wrote {folder}: a small guessing game. Next:", markup=False)
    for command in (
        f"pip install pytest && pytest {folder}",
        f"envhub check {_shown(folder)}",
        f"envhub serve --env {_shown(folder)}",
    ):
        console.print(f"  {command}", markup=False)


def write_skeleton(name: str, into: Path) -> Path:
    """Write the skeleton to the folder `into/name` and return that folder.

    Raises:
        CommandError: the name is not usable or taken, or the folder exists.
    """
    if keyword.iskeyword(name):
        raise CommandError(f"{name!r} is a Python keyword: choose another name, as in my-{name}")
    if not _NAME.fullmatch(name) or len(name) > 40:
        raise CommandError(
            f"{name!r} is not a usable name: write lower-case letters and digits, starting with a letter, "
            f"joined by single '-' or '_', at most 40 characters, as in my-maze"
        )
    if name in {spec.name for spec in bundled()}:
        raise CommandError(f"{name!r} is the name of a bundled spec: choose another")
    words = re.split("[-_]", name)
    package = "envhub_" + "_".join(words)
    folder = into / name
    try:
        (folder / package).mkdir(parents=True)
    except FileExistsError:
        raise CommandError(f"{folder} exists already: choose another name or another --dir") from None
    except OSError as reason:
        raise CommandError(f"{folder} cannot be made: {reason.strerror}") from reason
    filled = {"name": name, "package": package, "class": "".join(map(str.capitalize, words)) + "Env"}
    for template, file in (
        ("envhub.toml", folder / "envhub.toml"),
        ("environment.yml", folder / "environment.yml"),
        ("requirements.in", folder / "requirements.in"),
        ("package.py", folder / package / "__init__.py"),
        ("test.py", folder / f"test_{'_'.join(words)}.py"),
    ):
        file.write_text(_fill(template, filled), encoding="utf-8")
    return folder


def _fill(template: str, filled: dict[str, str]) -> str:
    text = resources.files("envhub.cli").joinpath("_skeleton", f"{template}.template").read_text("utf-8")
    for key, value in filled.items():
        text = text.replace("{{" + key + "}}", value)
    return text


def _shown(folder: Path) -> str:
    """Return the folder as a reference that no bundled name can be mistaken for."""
    return str(folder) if "/" in str(folder) else f"./{folder}"
