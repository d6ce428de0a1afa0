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
        source: A folder with the files, or one such file, instead of the network.
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
        if not path.is_file():
            part = path.with_name(path.name + ".part")
            if source is None:
                _download(f"{releases.rstrip('/')}/{file.path}", part, file.size, pause_s, progress)
            else:
                _copy(source if source.is_file() else source / file.name, part)
            os.replace(part, path)
        digests[file.name] = _checked(path, progress)
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


def _checked(path: Path, progress: Progress) -> str:
    """Return a file's SHA-256: recorded when it is fetched first, compared with the record afterwards."""
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
    if known.setdefault(path.name, found) != found:
        raise DataError(
            f"{path}: its SHA-256 is {found}, but {known[path.name]} was fetched first. Remove the file and"
            f" fetch again; if the new one is right, remove its line from {record}"
        )
    record.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    return found


def _unpack(archive: Path, out: Path, progress: Progress) -> None:
    """Lay an archive's files out below `out`; what is there with the same size is left alone."""
    try:
        with zipfile.ZipFile(archive) as packed:
            members = [member for member in packed.infolist() if not member.is_dir()]
            for done, member in enumerate(members, 1):
                path = out / _place(member.filename, archive)
                if not (path.is_file() and path.stat().st_size == member.file_size):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    part = path.with_name(path.name + ".part")
                    with packed.open(member) as content, part.open("wb") as file:
                        shutil.copyfileobj(content, file)
                    os.replace(part, path)
                progress(f"unpack {archive.name}", done, len(members))
    except zipfile.BadZipFile as error:
        raise DataError(f"{archive}: is no sound zip file ({error}). Remove it and fetch again") from error


def _place(name: str, archive: Path) -> PurePosixPath:
    """Return where a member of an archive goes: always below ``json_2.1.1`` if it is of a version of it."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\\" in name:
        raise DataError(f"{archive}: holds {name!r}, which would be written elsewhere. Don't use this file")
    first, *rest = path.parts
    return PurePosixPath("json_2.1.1" if _ROOT.fullmatch(first) else first, *rest)


_ELSEWHERE = "Or get the files in another way and name their folder with --from DIR"
