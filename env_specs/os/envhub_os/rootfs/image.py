"""Unpacks the layers of an OCI or Docker image into a root file system.

The image is what `docker save` or an OCI tool (`skopeo copy … oci-archive:FILE`) writes to a tar file. Its
configuration names the SHA-256 of each unpacked layer and has one itself, the image's id: all are compared,
and so are the digests of an OCI image's manifests.
"""

from __future__ import annotations

import contextlib
import fcntl
import gzip
import hashlib
import json
import os
import platform
import re
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

HIDDEN, OPAQUE = ".wh.", ".wh..wh..opq"
MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
_DIGEST = re.compile("sha256:([0-9a-f]{64})")
_JSON_BYTES = 4 << 20
_BLOCK = 1 << 20
_MOST_LINKS = 40
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"


class ImageInvalid(Exception):
    """The file is no image that can be unpacked; the message says why."""


class _Layer(NamedTuple):
    """A layer: its member of the image's file, and its SHA-256 when it is not compressed."""

    member: str
    sha256: str


def unpack_once(image: Path, cache: Path) -> Path:
    """Unpack an image into a cache, unless it is there; returns the folder.

    It is there whole or not at all, whoever else unpacks it at the time. As root the files keep their owners;
    without they are this user's.

    Raises:
        ImageInvalid: It is none, is for other machines, is damaged, or a path in it leads out of the folder.
        OSError: It can't be read, or the cache can't be written to.
    """
    with _opened(image) as outer:
        name, layers = _read(image, outer)
        folder = cache / name
        if folder.is_dir():
            return folder / "root"
        cache.mkdir(parents=True, exist_ok=True)
        cache.chmod(0o700)  # an image may hold programs with the set-user-id bit
        with (cache / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not folder.is_dir():
                part = cache / f"{name}.part"
                shutil.rmtree(part, ignore_errors=True)
                (part / "root").mkdir(parents=True)
                try:
                    for layer in layers:
                        _apply(image, outer, layer, part / "root")
                except BaseException:
                    shutil.rmtree(part, ignore_errors=True)
                    raise
                part.rename(folder)
    return folder / "root"


@contextlib.contextmanager
def _opened(image: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(image) as outer:
            yield outer
    except (tarfile.TarError, EOFError, zlib.error, KeyError, ValueError, TypeError, AttributeError) as error:
        raise ImageInvalid(
            f"{image} is no image of docker save or of OCI, or is damaged: {error!r}"
        ) from error


def _read(image: Path, outer: tarfile.TarFile) -> tuple[str, list[_Layer]]:
    """An image's id, which is the SHA-256 of its configuration, and its layers, the lowest first."""
    names = set(outer.getnames())
    if "manifest.json" in names:
        manifests = json.loads(_small(outer, "manifest.json"))
        if len(manifests) != 1:
            raise ImageInvalid(f"{image} holds {len(manifests)} images: save one alone")
        named, members = manifests[0]["Config"], list(manifests[0]["Layers"])
        text = _small(outer, named)
        found = hashlib.sha256(text).hexdigest()
        told = PurePosixPath(named).name.partition(".")[0]
        if re.fullmatch("[0-9a-f]{64}", told) and told != found:
            raise ImageInvalid(f"{image} is damaged: {named} has the SHA-256 {found}")
    elif "index.json" in names:
        manifest = json.loads(_small(outer, "index.json"))
        while "manifests" in manifest:
            manifest = json.loads(_blob(image, outer, _of_this_machine(image, manifest["manifests"])))
        members = [_blob_name(layer["digest"]) for layer in manifest["layers"]]
        text = _blob(image, outer, manifest["config"]["digest"])
    else:
        raise ImageInvalid(
            f"{image} is no image of docker save or of OCI: it has no manifest.json, no index.json"
        )
    config = json.loads(text)
    _check_machine(image, config.get("architecture"), config.get("os", "linux"))
    unpacked = [_hexadecimal(digest) for digest in config["rootfs"]["diff_ids"]]
    if len(members) != len(unpacked):
        raise ImageInvalid(f"{image} has {len(members)} layers, and its configuration names {len(unpacked)}")
    layers = [_Layer(member, sha256) for member, sha256 in zip(members, unpacked)]
    return hashlib.sha256(text).hexdigest(), layers


def _of_this_machine(image: Path, manifests: list[dict[str, Any]]) -> str:
    """The digest of the manifest that is for this kind of machine."""
    for manifest in manifests:
        about = manifest.get("platform", {})
        if about.get("architecture", _machine()) == _machine() and about.get("os", "linux") == "linux":
            return str(manifest["digest"])
    raise ImageInvalid(f"{image} has no image for linux on {_machine()}")


def _check_machine(image: Path, architecture: str | None, system: str) -> None:
    if architecture not in (None, _machine()) or system != "linux":
        raise ImageInvalid(f"{image} is for {system} on {architecture}, and this is linux on {_machine()}")


def _machine() -> str:
    return MACHINES.get(platform.machine(), platform.machine())


def _hexadecimal(digest: str) -> str:
    found = _DIGEST.fullmatch(digest)
    if found is None:
        raise ValueError(f"{digest!r} is no SHA-256")
    return found[1]


def _blob_name(digest: str) -> str:
    return f"blobs/sha256/{_hexadecimal(digest)}"


def _blob(image: Path, outer: tarfile.TarFile, digest: str) -> bytes:
    text = _small(outer, _blob_name(digest))
    if hashlib.sha256(text).hexdigest() != _hexadecimal(digest):
        raise ImageInvalid(f"{image} is damaged: {_blob_name(digest)} has another SHA-256")
    return text


def _small(outer: tarfile.TarFile, name: str) -> bytes:
    return _member(outer, name).read(_JSON_BYTES)


def _member(outer: tarfile.TarFile, name: str) -> IO[bytes]:
    member = outer.extractfile(name)
    if member is None:
        raise ValueError(f"{name} is no file")
    return member


# -- layers -----------------------------------------------------------------------------------------


class _Hashed:
    """A file that is read once and hashed meanwhile."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._hash = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        """Read on."""
        block = self._file.read(size)
        self._hash.update(block)
        return block

    def finish(self) -> str:
        """Read to the end and return the SHA-256 of all."""
        while self.read(_BLOCK):
            pass
        return self._hash.hexdigest()


def _apply(image: Path, outer: tarfile.TarFile, layer: _Layer, target: Path) -> None:
    """Put a layer over those before it."""
    if _member(outer, layer.member).read(4) == _ZSTD:
        raise ImageInvalid(
            f"{image}: its layers are compressed with zstd: save it with docker save, or with gzip "
            "(skopeo copy --dest-compress-format gzip)"
        )
    packed = _member(outer, layer.member)
    compressed = packed.read(2) == _GZIP
    packed.seek(0)
    hashed = _Hashed(gzip.open(packed) if compressed else packed)
    with tarfile.open(fileobj=hashed, mode="r|") as members:  # type: ignore[call-overload]  # reading suffices
        members.extraction_filter = lambda member, path: member  # owners, modes and links stay
        _extract(image, members, target)
    found = hashed.finish()
    if found != layer.sha256:
        raise ImageInvalid(f"{image} is damaged: {layer.member} has the SHA-256 {found}, not {layer.sha256}")


def _extract(image: Path, members: tarfile.TarFile, root: Path) -> None:
    """Extract a layer's files. Devices are left out: a sandbox has its own.

    A link on the way to a file leads to where it would lead on the machine itself, so never out of the root.
    A whiteout concerns the layers below, wherever in its own layer it stands.
    """
    own: set[Path] = set()
    for member in members:
        path = _place(image, root, member.name)
        if path == root:
            continue
        if path.name == OPAQUE:
            for entry in list(path.parent.iterdir()) if path.parent.is_dir() else []:
                if entry not in own:
                    _remove(entry)
        elif path.name.startswith(HIDDEN):
            hidden = path.with_name(path.name[len(HIDDEN) :])
            if hidden not in own:
                _remove(hidden)
        elif not (member.ischr() or member.isblk()):
            source = _place(image, root, member.linkname) if member.islnk() else path
            if member.islnk() and source != path and not os.path.lexists(source):
                raise ImageInvalid(f"{image}: {member.name!r} is a link to what is not there")
            if source != path or not member.islnk():
                _put(members, member, root, path, source)
            own.update((path, *path.parents))


def _put(members: tarfile.TarFile, member: tarfile.TarInfo, root: Path, path: Path, source: Path) -> None:
    if path.is_symlink() or (path.exists() and not (path.is_dir() and member.isdir())):
        _remove(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if member.islnk():
        os.link(source, path, follow_symlinks=False)
    else:
        member.name = str(path.relative_to(root))
        members.extract(member, root, numeric_owner=True)


def _place(image: Path, root: Path, name: str) -> Path:
    """Where a name of an image leads; its last part may be a link, which is not followed."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise ImageInvalid(f"{image}: the path {name!r} leads out of the image")
    if not path.parts:
        return root
    return _followed(image, root, list(path.parts[:-1])) / path.name


def _followed(image: Path, root: Path, parts: list[str]) -> Path:
    place, links = root, 0
    while parts:
        part = parts.pop(0)
        if part == "..":
            place = place.parent if place != root else root
        elif (place / part).is_symlink():
            links += 1
            if links > _MOST_LINKS:
                raise ImageInvalid(f"{image}: {place / part} is one of too many links")
            target = PurePosixPath(os.readlink(place / part))
            if target.is_absolute():
                place = root
            parts = [one for one in target.parts if one != "/"] + parts
        else:
            place = place / part
    return place


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()
