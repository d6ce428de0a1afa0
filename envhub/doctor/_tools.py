"""What locks and builds need: their tools, a solver, the channels, the store."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from urllib.parse import unquote, urlsplit

import httpx

from envhub.build import (
    BuildError,
    Mirrors,
    Store,
    channel_url,
    choose_solver,
    config_file,
    read_mirrors,
)
from envhub.doctor._finding import Finding

ENOUGH_BYTES = 2 * 2**30
"""Free space under which builds may not fit: an environment takes 0.1 to 1 GB, its archives half of that."""
REACH_S = 10.0
_TOOLS = ("conda-lock", "py-rattler", "uv")
_INSTALL = "pip install 'envhub[build]' (in a clone: pip install '.[build]')"


def look_at_tools() -> Finding:
    """Whether the tools that lock and build are installed."""
    found, missing = [], []
    for name in _TOOLS:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        words = f"{', '.join(missing)} missing: nothing can be locked or built, only served as it is here"
        return Finding("tools", "", "warning", words, _INSTALL)
    return Finding("tools", "", "ok", ", ".join(found))


def look_at_solver(channels: Iterable[str]) -> Iterator[Finding]:
    """What conda-lock would ask, and whether the user's mirrors can be read."""
    try:
        mirrors = read_mirrors()
    except BuildError as reason:
        yield Finding("mirrors", str(config_file()), "problem", str(reason), f"edit {config_file()}")
        return
    if mirrors.prefixes:
        words = ", ".join(f"{old} from {mirrors.shown(old)}" for old in mirrors.prefixes)
        yield Finding("mirrors", str(config_file()), "ok", words)
    try:
        yield Finding("solver", "", "ok", choose_solver(None, tuple(channels), mirrors).name)
    except BuildError as reason:
        yield Finding("solver", "", "warning", str(reason), _INSTALL)


def look_at_channels(channels: Iterable[str]) -> Iterator[Finding]:
    """Whether each channel, or the mirror that stands in for it, answers."""
    try:
        mirrors = read_mirrors()
    except BuildError:
        return  # said already
    with (
        httpx.Client(timeout=REACH_S, follow_redirects=True) as client,
        ThreadPoolExecutor(8) as threads,
    ):
        yield from threads.map(lambda one: _channel(one, mirrors, client), channels)


def _channel(channel: str, mirrors: Mirrors, client: httpx.Client) -> Finding:
    url = mirrors.shown(channel_url(channel))
    complaint = _unreachable(f"{mirrors.there(channel_url(channel))}/noarch/repodata.json", client)
    if complaint is None:
        return Finding("channel", channel, "ok", f"{url} answers")
    mend = f"name a mirror under [mirrors] in {config_file()}, or build with --offline from kept archives"
    return Finding("channel", channel, "warning", f"{url} does not answer: {complaint}", mend)


def _unreachable(url: str, client: httpx.Client) -> str | None:
    """Say why an address cannot be read, or nothing when it can."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        return None if Path(unquote(parts.path)).is_file() else f"{unquote(parts.path)} is not there"
    try:
        answer = client.head(url)
    except httpx.HTTPError as reason:
        return str(reason) or type(reason).__name__
    return None if answer.is_success else f"status {answer.status_code}"


def look_at_store(store: Store) -> Iterator[Finding]:
    """Whether the store can be written to, has room, and holds what a build left that did not finish."""
    about = str(store.root)
    place = next(folder for folder in (store.root, *store.root.parents) if folder.exists())
    if not os.access(place, os.W_OK | os.X_OK) or not place.is_dir():
        words = f"{place} cannot be written to"
        yield Finding("store", about, "problem", words, "name another folder with --store or ENVHUB_STORE")
        return
    free = shutil.disk_usage(place).free
    words = f"{len(store.all())} environments, {free / 2**30:.1f} GB free"
    low = free < ENOUGH_BYTES
    gc = store.command("store", "gc")
    yield Finding("store", about, "warning" if low else "ok", words, gc if low else None)
    for moved in store.moved():
        words = (
            f"{moved.built.prefix} ({moved.built.spec}) was built as {moved.origin} and works only there: it "
            "was moved or copied"
        )
        again = store.command("build", moved.built.spec, "--offline")
        mend = f"{again} (for a spec that is not bundled its folder, in place of the name)"
        yield Finding("store", about, "note", words, mend)
    if left := store.leftovers():
        words = f"{len(left)} folders are left of builds that did not finish: {', '.join(map(str, left))}"
        yield Finding("store", about, "note", words, gc)
