"""Unpacks the layers of an OCI or Docker image into a root file system."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
from pathlib import Path, PurePosixPath
from typing import IO, Any

HIDDEN, OPAQUE = ".wh.", ".wh..wh..opq"


class ImageInvalid(Exception):
    """The file is no image that can be unpacked; the message says why."""


def unpack(image: Path, target: Path) -> None:
    """Unpacks an image that `docker save` or an OCI tool wrote to a tar file into a new folder.

    Run it as root: the files keep their owners.

    Raises:
        ImageInvalid: It is none, or a path in it leads out of the folder.
        FileExistsError: The folder is there.
    """
    target.mkdir(parents=True)
    try:
        with tarfile.open(image) as outer:
            for name in _layers(outer):
                member = outer.extractfile(name)
                if member is None:
                    raise ImageInvalid(f"{image}: {name} is no layer")
                with tarfile.open(fileobj=member) as layer:
                    _apply(layer, target)
    except (tarfile.TarError, KeyError, ValueError) as error:
        shutil.rmtree(target)
        raise ImageInvalid(f"{image} is no image of docker save or of OCI: {error}") from error
    except BaseException:
        shutil.rmtree(target)
        raise


def _layers(outer: tarfile.TarFile) -> list[str]:
    """The names of an image's layers, the lowest first."""
    names = set(outer.getnames())
    if "manifest.json" in names:
        (manifest,) = _json(outer, "manifest.json")
        return list(manifest["Layers"])
    index = _json(outer, "index.json")
    while "manifests" in index:
        index = _json(outer, _blob(index["manifests"][0]["digest"]))
    return [_blob(layer["digest"]) for layer in index["layers"]]


def _blob(digest: str) -> str:
    algorithm, _, value = digest.partition(":")
    return f"blobs/{algorithm}/{value}"


def _json(outer: tarfile.TarFile, name: str) -> Any:
    member: IO[bytes] | None = outer.extractfile(name)
    if member is None:
        raise ImageInvalid(f"{name} is no file")
    return json.loads(member.read())


def _apply(layer: tarfile.TarFile, target: Path) -> None:
    """Puts a layer over those before it. Devices are left out: a sandbox has its own."""
    layer.extraction_filter = lambda member, path: member  # owners and links stay
    for member in layer:
        place = PurePosixPath(member.name)
        linked = PurePosixPath(member.linkname) if member.islnk() else place
        if any(path.is_absolute() or ".." in path.parts for path in (place, linked)):
            raise ImageInvalid(f"the path {member.name!r} leads out of the image")
        folder = target / place.parent
        if not folder.resolve().is_relative_to(target.resolve()):
            raise ImageInvalid(f"the path {member.name!r} leads out of the image by a link")
        if place.name == OPAQUE:
            for entry in list(folder.iterdir()) if folder.is_dir() else []:
                _remove(entry)
        elif place.name.startswith(HIDDEN):
            _remove(folder / place.name[len(HIDDEN) :])
        elif not (member.ischr() or member.isblk()):
            path = target / place
            if path.is_symlink() or (path.exists() and not (path.is_dir() and member.isdir())):
                _remove(path)
            layer.extract(member, target, numeric_owner=True)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()
