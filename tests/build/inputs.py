"""Specs that say what they need and have no locks yet."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from envhub.spec import Spec, load

from .channel import PYTHON, SUBDIR, Channel

TOML = """
name = "probe"
version = "1"
summary = "a test"
entry_point = "probe_env:Env"
[action]
description = "any"
[observation]
description = "any"
"""


def write_inputs(
    folder: Path,
    channel: Channel | str,
    conda: Iterable[str] = ("tally",),
    pypi: Iterable[str] | None = ("abacus",),
    head: str = "",
) -> Spec:
    """Write a spec that asks for packages of a channel and of the index, and load it."""
    folder.mkdir(exist_ok=True)
    (folder / "envhub.toml").write_text(head + TOML)
    lines = "".join(f"  - {one}\n" for one in (f"python {PYTHON}.*", *conda))
    url = channel if isinstance(channel, str) else channel.url
    (folder / "environment.yml").write_text(
        f"channels:\n  - {url}\ndependencies:\n{lines}platforms:\n  - {SUBDIR}\n"
    )
    if pypi is not None:
        (folder / "requirements.in").write_text("".join(f"{one}\n" for one in pypi))
    return load(folder)
