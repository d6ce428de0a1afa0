"""Which root file system the machines have, from what the setting `rootfs` says."""

from __future__ import annotations

import functools
import os
from pathlib import Path
from typing import NamedTuple

from envhub_os.errors import InvalidOptions

from .image import ImageInvalid, unpack_once

HOST = "host"
_BUILD = "envhub build os"


class Root(NamedTuple):
    """A root file system.

    Attributes:
        folder: Where it is; None: the programs of this machine.
        words: What it is, for people.
    """

    folder: Path | None
    words: str


@functools.cache
def locate(rootfs: str, cache: Path | None = None) -> Root:
    """Find a root file system; an image is unpacked, once for all.

    Args:
        rootfs: A folder; the tar file of an OCI or Docker image; "host", or nothing: the programs of this
            machine. What is built the hub puts in the place of nothing.
        cache: Where images are unpacked to; by default `envhub-os` among the user's caches.

    Raises:
        InvalidOptions: It is none of that.
    """
    if rootfs in ("", HOST):
        hint = "" if rootfs else f"; `{_BUILD}` makes a root file system that is the same everywhere"
        return Root(None, f"the machines have this machine's programs ({_release(Path('/'))}){hint}")
    path = Path(rootfs).expanduser()
    if path.is_file():
        try:
            folder = unpack_once(path, cache or _cache())
        except ImageInvalid as error:
            raise InvalidOptions(f"rootfs: {error}") from error
        except OSError as error:
            raise InvalidOptions(
                f"rootfs: {path} can't be unpacked to {cache or _cache()}: {error}"
            ) from error
        return Root(
            folder, f"the machines are made of the image {path} ({_release(folder)}), unpacked to {folder}"
        )
    if not path.is_dir():
        raise InvalidOptions(
            f"rootfs: there is no {path}. Name a folder, an image's tar file or {HOST}, or leave it "
            f"out: then it is what `{_BUILD}` made, or this machine's programs"
        )
    return Root(path, f"the machines have the root file system {path} ({_release(path)})")


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "envhub-os"


def _release(root: Path) -> str:
    """What a root file system says it is."""
    for name in ("etc/os-release", "usr/lib/os-release"):
        file = root / name
        try:
            if file.is_symlink():  # of an image, perhaps: it may lead anywhere
                continue
            lines = file.read_text("utf-8", "replace").splitlines()
        except OSError:
            continue
        for line in lines:
            key, _, value = line.partition("=")
            if key == "PRETTY_NAME":
                return value.strip().strip('"')[:100]
    return "of unknown origin"
