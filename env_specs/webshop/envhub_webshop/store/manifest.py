"""The manifest of a prepared folder: written last, so that a folder without one is not complete."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from envhub_webshop.errors import DataError

FORMAT = 1
"""The version of the layout of a prepared folder."""

NAME = "manifest.json"
_AGAIN = "Prepare the data again with `envhub data prepare webshop`"


def is_prepared(folder: Path) -> bool:
    """Tell whether a folder holds a prepared catalogue."""
    return (folder / NAME).is_file()


def read_manifest(folder: Path) -> dict[str, Any]:
    """Return the manifest of a prepared folder whose files are all there with their sizes.

    Raises:
        DataError: The folder is not prepared, is of another format, or a file is missing or cut short.
    """
    try:
        content = json.loads((folder / NAME).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{folder}: holds no complete prepared catalogue ({error}). {_AGAIN}") from error
    if content.get("format") != FORMAT:
        raise DataError(
            f"{folder}: is prepared in format {content.get('format')}, this version reads format {FORMAT}."
            f" {_AGAIN}"
        )
    manifest: dict[str, Any] = content
    for name, entry in manifest["files"].items():
        path = folder / name
        if not path.is_file() or path.stat().st_size != entry["size"]:
            raise DataError(f"{path}: is missing or not {entry['size']} bytes long. {_AGAIN}")
    return manifest


def verify(folder: Path, progress: Callable[[int, int], None] | None = None) -> None:
    """Check the digests of all files of a prepared folder.

    Args:
        folder: The folder.
        progress: Called with the number of files checked and of all.

    Raises:
        DataError: A file is missing or was changed.
    """
    entries = read_manifest(folder)["files"]
    for done, (name, entry) in enumerate(entries.items(), 1):
        if _sha256(folder / name) != entry["sha256"]:
            raise DataError(f"{folder / name}: was changed since it was prepared. {_AGAIN}")
        if progress is not None:
            progress(done, len(entries))


def write_manifest(
    folder: Path, content: dict[str, Any], progress: Callable[[int, int], None] | None = None
) -> None:
    """Write the manifest over everything that lies in the folder.

    Args:
        folder: The folder with all other files in place.
        content: What the manifest says beside format and files.
        progress: Called with the number of files digested and of all.
    """
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    entries = {}
    for done, path in enumerate(paths, 1):
        with path.open("rb+") as stream:
            os.fsync(stream.fileno())
        entries[path.relative_to(folder).as_posix()] = {"size": path.stat().st_size, "sha256": _sha256(path)}
        if progress is not None:
            progress(done, len(paths))
    text = json.dumps({"format": FORMAT, **content, "files": entries}, indent=1) + "\n"
    draft = folder / f"{NAME}.part"
    draft.write_text(text, "utf-8")
    os.replace(draft, folder / NAME)


def _sha256(path: Path) -> str:
    total = hashlib.sha256()
    with path.open("rb") as stream:
        for block in iter(lambda: stream.read(1 << 20), b""):
            total.update(block)
    return total.hexdigest()
