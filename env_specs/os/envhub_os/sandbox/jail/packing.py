"""The files that were written in a sandbox as one stream of bytes: taken from it, and laid into a new one.

What is packed are the folders that lie under the overlays, with overlay's own marks: devices 0:0 where
something of the base was removed, attributes where a folder replaces one. Owners, modes, times, attributes,
access lists, hard links, holes and the order of names come back as they were. A stream is a length of 8
bytes, a list of entries as JSON, and the contents of the files one after the other. Ours because `tarfile`
writes neither attributes nor holes, and no program can be relied on: the agent may have replaced it.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterator
from typing import Any

FOLDERS = ("root", "links")
WRITTEN = ("upper", "sealed")
CHUNK = 1 << 18
_SIZE = 8
_KEPT = ("user.", "system.posix_acl_")
"""Beginnings of the attributes that a process here may set."""


def pack(sink: int, limit: int) -> None:
    """Writes what lies in the current folder: its `FOLDERS`, and those of `WRITTEN` in each numbered folder.

    Raises:
        OSError: It is more than `limit` bytes (EFBIG), or can't be read.
    """
    numbers = sorted(filter(str.isdigit, os.listdir(".")), key=int)
    backwards = any(_newest_first(os.listdir(number)) for number in numbers)
    entries: list[dict[str, Any]] = []
    links: dict[int, int] = {}  # inode: the first entry that is it
    size = 0
    places = [*FOLDERS, *(f"{number}/{layer}" for number in numbers for layer in WRITTEN)]
    for place in filter(os.path.isdir, places):
        for path in _walk(place, backwards):
            entry = _entry(path, links, len(entries))
            size += sum(length for _, length in entry.get("data", ()))
            if size > limit:
                raise OSError(errno.EFBIG, "more was written than is kept")
            entries.append(entry)
    head = json.dumps(entries, separators=(",", ":")).encode()
    if _SIZE + len(head) + size > limit:
        raise OSError(errno.EFBIG, "more files were written than are kept")
    gathered = bytearray(len(head).to_bytes(_SIZE, "little") + head)
    for entry in entries:
        if entry.get("data"):
            file = os.open(entry["path"], os.O_RDONLY | os.O_NOFOLLOW)
            for offset, length in entry["data"]:
                for chunk in _chunks(file, offset, length):
                    gathered += chunk
                    if len(gathered) >= CHUNK:
                        write(sink, gathered)
                        gathered.clear()
            os.close(file)
    write(sink, gathered)


def _newest_first(names: list[str]) -> bool:
    """Whether this file system lists what is newest first, by a folder in which `lower` is older."""
    return "work" in names and names.index("work") < names.index("lower")


def _walk(folder: str, backwards: bool) -> Iterator[str]:
    """All paths at and below a folder, in an order in which they are made to be listed as here."""
    yield folder
    entries = list(os.scandir(folder))
    for entry in reversed(entries) if backwards else entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(entry.path, backwards)
        else:
            yield entry.path


def _entry(path: str, links: dict[int, int], number: int) -> dict[str, Any]:
    found = os.lstat(path)
    if not stat.S_ISDIR(found.st_mode) and found.st_nlink > 1:
        first = links.setdefault(found.st_ino, number)
        if first != number:
            return {"path": path, "link": first}
    entry: dict[str, Any] = {
        "path": path,
        "mode": found.st_mode,
        "owner": (found.st_uid, found.st_gid),
        "times": (found.st_atime_ns, found.st_mtime_ns),
    }
    if stat.S_ISLNK(found.st_mode):
        entry["target"] = os.readlink(path)
        return entry
    if stat.S_ISREG(found.st_mode):
        entry["size"], entry["data"] = found.st_size, _data(path, found.st_size)
    if stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode):
        names = [name for name in os.listxattr(path, follow_symlinks=False) if name.startswith(_KEPT)]
        if names:
            entry["attributes"] = {name: os.getxattr(path, name).hex() for name in names}
    return entry


def _data(path: str, size: int) -> list[tuple[int, int]]:
    """Where a file has contents: (offset, length) of each stretch between holes."""
    stretches, end = [], 0
    file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        while end < size:
            begin = os.lseek(file, end, os.SEEK_DATA)
            end = min(os.lseek(file, begin, os.SEEK_HOLE), size)
            stretches.append((begin, end - begin))
    except OSError as error:
        if error.errno != errno.ENXIO:  # nothing but a hole is left
            raise
    finally:
        os.close(file)
    return stretches


def unpack(source: int) -> None:
    """Lays what `pack` wrote into the current folder; the file then stands where the stream ends.

    Raises:
        OSError: There is no room for it, or it can't be made here.
    """
    head = _read(source, int.from_bytes(_read(source, _SIZE), "little"))
    entries = json.loads(head)
    for entry in entries:
        path = entry["path"]
        if "link" in entry:
            os.link(entries[entry["link"]]["path"], path, follow_symlinks=False)
            continue
        if "target" in entry:
            os.symlink(entry["target"], path)
        elif stat.S_ISDIR(entry["mode"]):
            os.makedirs(path, exist_ok=True)
        elif stat.S_ISREG(entry["mode"]):
            _lay_down(source, entry)
        else:
            os.mknod(path, entry["mode"])  # a mark, whose device is 0:0, a pipe or a socket
        os.chown(path, *entry["owner"], follow_symlinks=False)
        if "target" not in entry:
            os.chmod(path, stat.S_IMODE(entry["mode"]))
        for name, value in entry.get("attributes", {}).items():
            os.setxattr(path, name, bytes.fromhex(value))
    for entry in entries:
        if "times" in entry:  # last, since what is made in a folder changes its own
            os.utime(entry["path"], ns=tuple(entry["times"]), follow_symlinks=False)


def _lay_down(source: int, entry: dict[str, Any]) -> None:
    file = os.open(entry["path"], os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.truncate(file, entry["size"])
        for offset, length in entry["data"]:
            os.lseek(file, offset, os.SEEK_SET)
            while length:
                chunk = _read(source, min(length, CHUNK))
                write(file, chunk)
                length -= len(chunk)
    finally:
        os.close(file)


def _chunks(file: int, offset: int, length: int) -> Iterator[bytes]:
    while length:
        chunk = os.pread(file, min(length, CHUNK), offset)
        if not chunk:
            raise OSError(errno.EIO, "a file became shorter while it was read")
        yield chunk
        offset, length = offset + len(chunk), length - len(chunk)


def _read(file: int, length: int) -> bytes:
    chunks = []
    while length:
        chunk = os.read(file, length)
        if not chunk:
            raise OSError(errno.EIO, "a saved sandbox ends too early")
        chunks.append(chunk)
        length -= len(chunk)
    return b"".join(chunks)


def write(file: int, data: bytes | bytearray) -> None:
    """Writes all of it."""
    at = 0
    while at < len(data):
        at += os.write(file, data[at : at + CHUNK])
