"""Fetches the official release of the games: downloads that survive broken connections, checked by digest."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import shutil
import time
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from envhub_alfworld.errors import DataError

RELEASES = "https://github.com/alfworld/alfworld/releases/download"
"""Where the files of ALFWorld's releases are."""


class Release(NamedTuple):
    """A file of a release.

    Attributes:
        path: Its address below `RELEASES`.
        size: Its size in bytes, as others recorded it: for progress bars where the server tells none.
    """

    path: str
    size: int

    @property
    def name(self) -> str:
        """Its file name."""
        return self.path.rpartition("/")[2]


FILES = (
    Release("0.2.2/json_2.1.1_json.zip", 72018818),
    Release("0.2.2/json_2.1.1_pddl.zip", 34881784),
    Release("0.4.0/json_2.1.2_tw-pddl.zip", 36493542),
)
"""What ``alfworld-download`` of alfworld 0.4.2 fetches, but for the vision models."""

RECORD = "sha256.json"
"""Beside the downloads: file name to the SHA-256 of what was fetched first."""

_TRIES = 5  # in a row without a single byte
_CHUNK = 1 << 18
_LIMIT_S = 60.0
_ROOT = re.compile(r"json_2\.1\.\d+[^/]*")

Progress = Callable[[str, int, int], None]
"""Is told a stage, how much of it is done, and how much there is."""


def fetch(
    out: Path,
    source: Path | None = None,
    *,
    files: tuple[Release, ...] = FILES,
    releases: str = RELEASES,
    pause_s: float = 2.0,
    progress: Progress = lambda stage, done, total: None,
) -> dict[str, str]:
    """Fetch the release's files and lay them out as ``$ALFWORLD_DATA``.

    The files stay in ``downloads``, so that fetching again checks them and downloads nothing.

    Args:
        out: The folder; games go to ``json_2.1.1`` in it.
        source: A folder with the files, or one such file, instead of the network and of what is kept.
        files: The files.
        releases: The address that their paths are appended to.
        pause_s: How long to wait, in seconds, before trying again what failed.
        progress: Is told how far it is.

    Returns:
        File name to SHA-256.

    Raises:
        DataError: A file can't be had, is not complete, or is another one than was fetched first.
    """
    kept = out / "downloads"
    kept.mkdir(parents=True, exist_ok=True)
    if source is not None and source.is_file():
        files = (Release(source.name, source.stat().st_size),)
    digests = {}
    for file in files:
        path = kept / file.name
        part = path.with_name(path.name + ".part")
        given = source if source is None or source.is_file() else source / file.name
        anew = given is not None and (given.is_file() or not path.is_file())
        if anew and given is not None:
            _copy(given, part)
            _keep(part, path, str(given))
        elif not path.is_file():
            url = f"{releases.rstrip('/')}/{file.path}"
            _download(url, part, file.size, pause_s, progress)
            _keep(part, path, url)
        digests[file.name] = _checked(path, progress, anew)
    for file in files:
        _unpack(kept / file.name, out, progress)
    return digests


def _download(url: str, part: Path, size: int, pause_s: float, progress: Progress) -> None:
    """Download a file, going on where an earlier attempt, of this or another run, broke off."""
    stage = f"fetch {url.rpartition('/')[2]}"
    failures = 0
    while True:
        before = part.stat().st_size if part.is_file() else 0
        try:
            _receive(url, part, before, lambda done, total: progress(stage, done, total or size))
            return
        except urllib.error.HTTPError as error:
            if error.code == 416 and error.headers.get("Content-Range") == f"bytes */{before}":
                return  # all of it had come before
            if error.code in (401, 403, 404, 410):
                raise DataError(f"{url}: HTTP {error.code} {error.reason}. {_ELSEWHERE}") from error
            if error.code == 416:
                part.unlink()
            reason = f"HTTP {error.code} {error.reason}"
        except (OSError, http.client.HTTPException) as error:
            reason = str(getattr(error, "reason", error)) or type(error).__name__
        after = part.stat().st_size if part.is_file() else 0
        failures = 0 if after > before else failures + 1
        if failures == _TRIES:
            raise DataError(
                f"{url}: {reason}, {failures} times in a row. What has come is kept: fetch again to go on."
                f" {_ELSEWHERE}"
            )
        time.sleep(pause_s)


def _receive(url: str, part: Path, start: int, tell: Callable[[int, int], None]) -> None:
    """Send one request and append to `part`, or write it anew where the server can't go on.

    Raises:
        OSError: The connection broke, or the server refused.
        http.client.HTTPException: The answer ended too early.
    """
    headers = {"User-Agent": "envhub", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=_LIMIT_S) as response:
        going_on = response.headers.get("Content-Range", "").startswith(f"bytes {start}-")
        done = start if going_on else 0
        length = response.headers.get("Content-Length")
        total = done + int(length) if length else 0
        with part.open("ab" if going_on else "wb") as file:
            while chunk := response.read(_CHUNK):
                file.write(chunk)
                done += len(chunk)
                tell(done, total)
    if done < total:
        raise http.client.IncompleteRead(b"", total - done)


def _copy(source: Path, part: Path) -> None:
    if not source.is_file():
        wanted = ", ".join(file.name for file in FILES)
        raise DataError(
            f"--from {source}: there is no such file. Name a folder with {wanted}, or one zip file"
        )
    shutil.copyfile(source, part)


def _keep(part: Path, path: Path, origin: str) -> None:
    """Keep a file as `path`, in place of another one, if it is a sound archive; else remove it.

    Raises:
        DataError: It is not, or would write elsewhere; names where it came from.
    """
    try:
        with zipfile.ZipFile(part) as packed:
            for member in packed.infolist():
                _place(member.filename, origin)
            bad = packed.testzip()
        if bad is not None:
            raise zipfile.BadZipFile(f"{bad!r} in it is damaged")
    except DataError:
        part.unlink()
        raise
    except _UNSOUND as error:
        part.unlink()
        raise DataError(f"{origin}: is no sound zip file ({error}). Nothing of it was kept") from error
    os.replace(part, path)


def _checked(path: Path, progress: Progress, anew: bool) -> str:
    """Return a file's SHA-256: recorded at first, and where it is `anew`, else compared with the record."""
    digest = hashlib.sha256()
    size, done = path.stat().st_size, 0
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
            done += len(chunk)
            progress(f"check {path.name}", done, size)
    found = digest.hexdigest()
    record = path.with_name(RECORD)
    known: dict[str, str] = json.loads(record.read_text("utf-8")) if record.is_file() else {}
    if anew:
        known[path.name] = found
    if known.setdefault(path.name, found) != found:
        raise DataError(
            f"{path}: its SHA-256 is {found}, but {known[path.name]} was fetched first. Remove the file and"
            f" fetch again; if the new one is right, remove its line from {record}"
        )
    record.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    return found


def _unpack(archive: Path, out: Path, progress: Progress) -> None:
    """Lay an archive's files out below `out`; what is there with the same content is left alone."""
    try:
        with zipfile.ZipFile(archive) as packed:
            members = [member for member in packed.infolist() if not member.is_dir()]
            for done, member in enumerate(members, 1):
                path = out / _place(member.filename, str(archive))
                if not _holds(path, member):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    part = path.with_name(path.name + ".part")
                    with packed.open(member) as content, part.open("wb") as file:
                        shutil.copyfileobj(content, file)
                    os.replace(part, path)
                progress(f"unpack {archive.name}", done, len(members))
    except _UNSOUND as error:
        raise DataError(f"{archive}: is no sound zip file ({error}). Remove it and fetch again") from error


def _holds(path: Path, member: zipfile.ZipInfo) -> bool:
    """Tell whether a file has the content of a member of an archive."""
    if not path.is_file() or path.stat().st_size != member.file_size:
        return False
    return zlib.crc32(path.read_bytes()) == member.CRC


def _place(name: str, archive: str) -> PurePosixPath:
    """Return where a member of an archive goes: always below ``json_2.1.1`` if it is of a version of it."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name:
        raise DataError(f"{archive}: holds {name!r}, which would be written elsewhere. Don't use this file")
    first, *rest = path.parts
    return PurePosixPath("json_2.1.1" if _ROOT.fullmatch(first) else first, *rest)


_UNSOUND = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
"""What `zipfile` raises of archives that are damaged, encrypted or packed in a way it doesn't know."""

_ELSEWHERE = "Or get the files in another way and name their folder with --from DIR"
