"""One file that holds a spec and everything it is built from, for machines without a network.

A pack is a tar archive: first `pack.json`, which says what it is and lists every other member with its
SHA-256, then the spec's folder below `spec/`, then the archives below `archives/`. The same spec and locks
give the same bytes. Nothing is taken out of a pack that is not on the list with the hash it has there.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO, Any

from envhub.build._archives import conda_archives, pypi_archives
from envhub.build._artifacts import artifact_archives
from envhub.build._disk import sha256_of
from envhub.build._errors import LockMissing, PackInvalid
from envhub.build._fetch import Report, Wanted, disk_error, fetch
from envhub.build._files import SpecFiles
from envhub.build._fresh import require_fresh
from envhub.build._lock import read_lock
from envhub.build._mirrors import Mirrors, read_mirrors
from envhub.build._store import Store
from envhub.spec import Spec, SpecError, load

FORMAT = 1
_INDEX = "pack.json"
_LEFT_OUT = ("__pycache__", ".*_cache", ".git", ".venv", "venv", ".env*", "*.pyc", "*.envhub")
"""Names of files and folders of a spec that no pack holds: caches, environments, secrets and other packs."""
_BLOCK = 2**20


@dataclass(frozen=True, slots=True)
class Pack:
    """What is in a pack.

    Attributes:
        file: The pack.
        spec: The name of the spec.
        version: The spec's version.
        digest: The digest of its locks, "sha256:…".
        platform: The conda platform it is for.
        size: The pack's size in bytes.
        archives: How many archives of packages it holds.
    """

    file: Path
    spec: str
    version: str
    digest: str
    platform: str
    size: int
    archives: int


def pack(
    spec: Spec,
    store: Store,
    file: Path | None = None,
    *,
    offline: bool = False,
    mirrors: Mirrors | None = None,
    report: Report,
) -> Pack:
    """Write a spec, its locks and the archives of all its packages into one file.

    Archives that the store does not have are fetched into it. The file is there whole or not at all. Data
    that a spec names by an address is not in it; what lies in the spec's folder is, apart from caches,
    environments, `.git`, `.env*` and other packs.

    Args:
        spec: The spec.
        store: Where the archives are kept.
        file: The file to write; by default NAME-VERSION-PLATFORM.envhub in the current folder.
        offline: Whether only archives in the store may be used.
        mirrors: The mirrors to fetch from; by default the user's.
        report: Called with the progress.

    Raises:
        BuildError: The locks are missing, stale or invalid, an archive cannot be had, the disk is full, or
            the file cannot be written.
    """
    require_fresh(spec)
    lock, files = read_lock(spec), SpecFiles.of(spec)
    mirrors = mirrors or read_mirrors()
    file = (file or Path(f"{spec.name}-{spec.version}-{lock.platform}.envhub")).absolute()
    _check_target(spec, file)
    try:
        members = dict(_spec_members(files.folder))
        wanted = conda_archives(lock, files, "conda", store) + pypi_archives(lock, files, store, offline)
        wanted += [one for artifact in spec.artifacts for one in artifact_archives(spec, artifact)]
        with store.scratch() as scratch:
            fetched = fetch(wanted, store, scratch, mirrors, offline=offline, report=report)
        members |= {_archive_member(one): path for one, path in zip(wanted, fetched, strict=True)}
        about = {"spec": spec.name, "version": spec.version, "digest": lock.digest, "platform": lock.platform}
        partial = file.with_name(f".{file.name}.{os.getpid()}")
        try:
            _write(partial, about, members, report)
            os.replace(partial, file)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise _failed(error, f"{spec.name}: {file}", store) from error
    return Pack(file, **about, size=file.stat().st_size, archives=len(wanted))


def _check_target(spec: Spec, file: Path) -> None:
    """Refuse a place where no file can be written, before anything is fetched."""
    complaint = None
    if file.is_dir():
        complaint = f"it is a folder; name a file, as in --output {file / f'{spec.name}.envhub'}"
    elif not file.parent.is_dir():
        complaint = f"there is no folder {file.parent}; make it, or name another file with --output"
    elif not os.access(file.parent, os.W_OK):
        complaint = f"nothing may be written to {file.parent}; name another file with --output"
    if complaint:
        raise PackInvalid(f"{spec.name}: {file} cannot be written: {complaint}")


def _spec_members(folder: Path) -> Iterator[tuple[str, Path]]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(filter(_belongs, folders))
        for name in folders:
            path = Path(parent, name)
            if path.is_symlink():
                raise PackInvalid(
                    f"{path} is a link to a folder, which no pack can hold; put a copy of the folder there, "
                    "or take the link out"
                )
        for name in sorted(filter(_belongs, names)):
            path = Path(parent, name)
            _check_file(folder, path)
            yield f"spec/{path.relative_to(folder).as_posix()}", path


def _belongs(name: str) -> bool:
    return not any(fnmatchcase(name, pattern) for pattern in _LEFT_OUT)


def _check_file(folder: Path, path: Path) -> None:
    """Refuse what is no file of the spec's own."""
    if not path.is_file():
        what = f"a link to {os.readlink(path)}, which is not there" if path.is_symlink() else "no plain file"
        raise PackInvalid(f"{path} is {what}; take it out, or put a file there")
    if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
        raise PackInvalid(
            f"{path} is a link to {path.resolve()}, outside the spec's folder; put a copy of the file there, "
            "or take the link out"
        )


def _archive_member(one: Wanted) -> str:
    return f"archives/{one.sha256}/{one.file_name}"


def _write(file: Path, about: dict[str, str], members: dict[str, Path], report: Report) -> None:
    total = len(members)
    listed = []
    for name, path in members.items():
        listed.append({"name": name, "sha256": sha256_of(path), "run": os.access(path, os.X_OK)})
    index = json.dumps({"format": FORMAT, **about, "members": listed}, indent=1).encode()
    with tarfile.open(file, "w", format=tarfile.GNU_FORMAT) as tar:
        tar.addfile(_plain(_INDEX, len(index), run=False), io.BytesIO(index))
        for number, (entry, path) in enumerate(zip(listed, members.values(), strict=True)):
            report("pack", path.name, number, total)
            with path.open("rb") as opened:
                size = os.fstat(opened.fileno()).st_size
                tar.addfile(_plain(str(entry["name"]), size, run=bool(entry["run"])), opened)


def _plain(name: str, size: int, *, run: bool) -> tarfile.TarInfo:
    """Return the head of a member with nothing in it that differs from machine to machine."""
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o755 if run else 0o644
    return member


def unpack(file: Path, store: Store, folder: Path | None, *, report: Report) -> Spec:
    """Take a pack apart: its archives into a store, its spec into a folder.

    Args:
        file: The pack.
        store: Where the archives go.
        folder: Where the spec's folder is to be; by default one of its name in the current folder. One that
            is there already must hold the same spec.
        report: Called with the progress.

    Raises:
        PackInvalid: The file is no pack or is not the one that was written; or the folder holds something
            else.
        WrongPlatform: The pack is for another platform.
        DiskFull: It does not fit on the disk.
    """
    with _opened(file) as tar:
        about = _read_index(file, tar)
        target = (folder or Path(about["spec"])).absolute()
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with (
                store.scratch() as scratch,
                tempfile.TemporaryDirectory(prefix=".unpack-", dir=target.parent) as beside,
            ):
                _take_out(file, tar, about["members"], store, scratch, Path(beside), report)
                return _settle(file, Path(beside) / "spec", target, about)
        except OSError as error:
            raise _failed(error, f"{file}: {target}", store) from error


def _failed(error: OSError, where: str, store: Store) -> Exception:
    """Return what to raise when a file cannot be read or written."""
    full = disk_error(error, where, store)
    return PackInvalid(f"{where}: {error.strerror} ({error.filename})") if full is error else full


@contextlib.contextmanager
def _opened(file: Path) -> Iterator[tarfile.TarFile]:
    try:
        with tarfile.open(file, "r:") as tar:
            yield tar
    except tarfile.TarError as reason:
        raise PackInvalid(f"{file} is no pack, or is damaged: {reason}; copy or make it again") from reason
    except FileNotFoundError as reason:
        if reason.filename != str(file):
            raise
        raise PackInvalid(f"{file} is not there; make a pack with: envhub pack SPEC") from reason


def _read_index(file: Path, tar: tarfile.TarFile) -> dict[str, Any]:
    first = tar.next()
    content = tar.extractfile(first) if first is not None and first.name == _INDEX and first.isreg() else None
    if content is None:
        raise PackInvalid(
            f"{file} is no pack: it does not begin with {_INDEX}; make one with: envhub pack SPEC"
        )
    try:
        about = json.loads(content.read())
        if about["format"] != FORMAT:
            raise PackInvalid(
                f"{file} has format {about['format']} and this EnvHub reads format {FORMAT}; pack it again"
            )
        for key in ("spec", "version", "digest", "platform"):
            if not isinstance(about[key], str):
                raise TypeError(key)
        for member in about["members"]:
            _check_place(file, member["name"])
            member["sha256"], member["run"]
    except (ValueError, KeyError, TypeError) as reason:
        raise PackInvalid(
            f"{file}: its {_INDEX} cannot be read ({reason}); copy or make it again"
        ) from reason
    if "/" in about["spec"] or about["spec"] in ("", ".", ".."):
        raise PackInvalid(f"{file}: {about['spec']!r} is no name of a spec")
    return dict(about)


def _check_place(file: Path, name: str) -> None:
    parts = PurePosixPath(name).parts
    archive = len(parts) == 3 and parts[0] == "archives"
    inside = len(parts) > 1 and parts[0] == "spec"
    if not (archive or inside) or ".." in parts or str(PurePosixPath(name)) != name or "\0" in name:
        raise PackInvalid(f"{file}: {name!r} is no place in a pack; nothing was taken out of it")


def _take_out(
    file: Path,
    tar: tarfile.TarFile,
    members: list[dict[str, Any]],
    store: Store,
    scratch: Path,
    beside: Path,
    report: Report,
) -> None:
    for number, listed in enumerate(members):
        name = listed["name"]
        report("unpack", PurePosixPath(name).name, number, len(members))
        member = tar.next()
        content = tar.extractfile(member) if member is not None and member.isreg() else None
        if member is None or content is None or member.name != name:
            raise PackInvalid(f"{file}: {name} is missing from it; copy or make it again")
        kind, *inner = PurePosixPath(name).parts
        target = scratch / "archive" if kind == "archives" else beside / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if _copied(content, target) != listed["sha256"]:
            raise PackInvalid(f"{file}: {name} in it is not what was packed; copy or make it again")
        if kind == "archives":
            if inner[0] != listed["sha256"]:
                raise PackInvalid(f"{file}: {name} has another SHA-256 than its place says; make it again")
            store.keep(target, inner[0], inner[1])
        elif listed["run"]:
            target.chmod(0o755)


def _copied(content: IO[bytes], target: Path) -> str:
    """Copy what is read into a file and return its SHA-256."""
    digest = hashlib.sha256()
    with target.open("wb") as out:
        while block := content.read(_BLOCK):
            digest.update(block)
            out.write(block)
    return digest.hexdigest()


def _settle(file: Path, source: Path, target: Path, about: dict[str, Any]) -> Spec:
    """Move the spec's folder to where it is to be, and load it."""
    try:
        spec = load(source)
        lock = read_lock(spec)
    except (SpecError, LockMissing) as reason:
        raise PackInvalid(f"{file}: the spec in it cannot be read: {reason}") from reason
    if (spec.name, lock.digest) != (about["spec"], about["digest"]):
        raise PackInvalid(f"{file}: its locks are not those it was packed with; make it again")
    if not target.exists():
        shutil.move(source, target)
    elif not target.is_dir() or _digests(target) != _digests(source):
        raise PackInvalid(
            f"{target} is there and holds something else than the spec in {file}; name another folder "
            "with --dir"
        )
    return load(target)


def _digests(folder: Path) -> dict[str, str]:
    return {name: sha256_of(path) for name, path in _spec_members(folder)}
