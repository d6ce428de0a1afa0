"""What a machine is like, found out without running a program of it or loading a library from it.

This runs in a fork of the first process, whose interpreter and modules came from outside before the agent
did. Questions are `[kind, arguments]`, and the kinds are

    lines     a file's lines without blanks at their ends, None if there is no such file  {path}
    unzipped  the same of a file that gzip has compressed                                 {path}
    type      "file", "dir", "link", "other" or None                                      {path}
    mode      permission bits such as "640"                                               {path}
    owner     "user:group"                                                                {path}
    tree      sorted names of all files below a folder, folders with a "/" at the end     {path}
    archive   name to lines of each file in a tar archive, any or "gz", "bz2", "xz"       {path, form}
    user      {"shell", "home", "groups"} of an account, None if there is none            {name}
    group     sorted members of a group                                                   {name}
    running   how many processes have the text in their command line                      {text}
    may       whether an account may "list" a folder, "read" or "create" a file           {path, user, do}
    ask       what a service at a Unix socket answers to a line                           {path, line}

What goes wrong answers `{"error": why}`: also where an account or a group has the number, or the name, that
another one had before the agent came, and where more would have to be read than `LIMIT_BYTES`.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import socket
import stat
import tarfile
import time
from collections.abc import Iterator
from typing import Any, Callable

with contextlib.suppress(ImportError):  # tarfile imports them when it needs them, and here it could not then
    import bz2  # noqa: F401
    import lzma  # noqa: F401

LIMIT_BYTES = 1 << 20
"""A larger file is not read."""
TIMEOUT_S = 20.0
PASSWD, GROUP = "/etc/passwd", "/etc/group"
_DENIED, _FAILED = 1, 2
_before: dict[str, dict[str, int]] = {PASSWD: {}, GROUP: {}}
"""The numbers that accounts and groups had before the agent came, by name."""
SIGNALLED_S, BUSY_S, PAUSE_S = 5.0, 0.3, 0.01
"""How long to wait for a process that is to end, for one that may be about to, and between two looks."""
PF_EXITING = 4


def _lines(data: bytes) -> list[str]:
    found = [line.rstrip() for line in data.decode("utf-8", "replace").split("\n")]
    while found and not found[-1]:
        found.pop()
    return found


def _read(path: str) -> bytes:
    """Reads a regular file, and waits for nothing else; OSError as `open` raises it."""
    file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    with open(file, "rb", buffering=0) as opened:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError(f"{path} is no regular file")
        return _whole(opened)


def _whole(file: Any) -> bytes:
    """What a file holds, all of it: what comes after a beginning could be anything."""
    data: bytes = file.read(LIMIT_BYTES + 1) or b""
    if len(data) > LIMIT_BYTES:
        raise OSError(f"it holds more than {LIMIT_BYTES} bytes")
    return data


def lines(path: str) -> list[str] | None:
    """What stands in a file; of this and the others see above."""
    return _lines(_read(path)) if os.path.isfile(path) else None


def unzipped(path: str) -> list[str]:
    """What a file compressed by gzip holds."""
    with gzip.GzipFile(fileobj=io.BytesIO(_read(path))) as file:
        return _lines(_whole(file))


def kind_of(path: str) -> str | None:
    """What kind of file it is."""
    if not os.path.lexists(path):
        return None
    mode = os.lstat(path).st_mode
    kinds = (("link", stat.S_ISLNK), ("dir", stat.S_ISDIR), ("file", stat.S_ISREG))
    return next((name for name, test in kinds if test(mode)), "other")


def mode(path: str) -> str:
    """Who may do what with it."""
    return f"{stat.S_IMODE(os.stat(path).st_mode):o}"


def owner(path: str) -> str:
    """Whose it is."""
    found = os.stat(path)
    names = (_name(PASSWD, found.st_uid), _name(GROUP, found.st_gid))
    return ":".join(names)


def tree(path: str) -> list[str]:
    """What lies below a folder."""
    found = []
    for folder, folders, files in os.walk(path):
        below = os.path.relpath(folder, path)
        found += [os.path.normpath(os.path.join(below, name)) for name in files]
        found += [os.path.normpath(os.path.join(below, name)) + "/" for name in folders]
    return sorted(found)


def archive(path: str, form: str = "*") -> dict[str, list[str]]:
    """What an archive holds."""
    found = {}
    with tarfile.open(fileobj=io.BytesIO(_read(path)), mode=f"r:{form}") as opened:
        for member in opened.getmembers():
            file = opened.extractfile(member) if member.isfile() else None
            if file is not None:
                found[os.path.normpath(member.name)] = _lines(_whole(file))
    return found


def user(name: str) -> dict[str, Any] | None:
    """What is known of an account."""
    account = _account(name)
    if account is None:
        return None
    groups = sorted(_name(GROUP, number) for number in _groups(account))
    return {"shell": account[6], "home": account[5], "groups": groups}


def group(name: str) -> list[str]:
    """Who is in a group."""
    for fields in _entries(GROUP, 4):
        if fields[0] == name:
            return sorted(filter(None, fields[3].split(",")))
    raise KeyError(f"there is no group {name}")


def running(text: str) -> int:
    """How many processes are called so. One that has been sent a signal gets some time to obey it."""
    begun = time.monotonic()
    while True:
        found = _called(text)
        waited = time.monotonic() - begun
        # One that runs may be about to end: between the signal and the end nothing else tells.
        busy = waited < BUSY_S and any(state == b"R" for _, state in found)
        if not busy and (waited > SIGNALLED_S or not any(_is_signalled(pid) for pid, _ in found)):
            return len(found)
        time.sleep(PAUSE_S)


def _called(text: str) -> list[tuple[int, bytes]]:
    """Processes that are called so and don't end just now, and their states."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, IndexError):
            words = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
            command = _read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode("utf-8", "replace")
            ends = words[0] in b"ZX" or int(words[6]) & PF_EXITING
            if text in command and not ends and int(pid) != os.getpid():
                found.append((int(pid), words[0]))
    return found


def _is_signalled(pid: int) -> bool:
    """Whether a signal is on its way to a process."""
    with contextlib.suppress(OSError):
        lines = _read(f"/proc/{pid}/status").decode("utf-8", "replace").split("\n")
        sets = {
            line[:6]: int(line[7:], 16) for line in lines if line.startswith(("SigPnd", "ShdPnd", "SigBlk"))
        }
        return bool((sets["SigPnd"] | sets["ShdPnd"]) & ~sets["SigBlk"])
    return False


def may(path: str, user: str, do: str) -> bool:
    """Whether an account can do something, by trying; to fail for any reason but rights is an error."""
    account = _account(user)
    if account is None:
        raise KeyError(f"there is no account {user}")
    uid, gid, groups = int(account[2]), int(account[3]), _groups(account)
    pid = os.fork()
    if pid == 0:
        status = _FAILED
        try:
            os.setgroups(groups)
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
            try:
                _DEEDS[do](path)
                status = 0
            except PermissionError:
                status = _DENIED
        finally:
            os._exit(status)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status not in (0, _DENIED):
        raise OSError(f"whether {user} may {do} {path} can't be tried")
    return status == 0


def _create(path: str) -> None:
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644))


_DEEDS: dict[str, Callable[[str], Any]] = {"list": os.listdir, "read": _read, "create": _create}


def ask(path: str, line: str) -> list[str]:
    """What a service says."""
    with socket.socket(socket.AF_UNIX) as service:
        service.settimeout(TIMEOUT_S)
        service.connect(path)
        service.sendall(line.encode() + b"\n")
        return _lines(service.makefile("rb").read(1 << 16))


KINDS: dict[str, Callable[..., Any]] = {
    "type": kind_of,
    **{
        kind.__name__: kind
        for kind in (lines, unzipped, mode, owner, tree, archive, user, group, running, may, ask)
    },
}


def _entries(path: str, count: int) -> Iterator[list[str]]:
    """The lines of an account file that have all fields. libc would load what reads them from inside."""
    return _parsed(_read(path), count)


def _parsed(data: bytes, count: int) -> Iterator[list[str]]:
    for line in data.decode("utf-8", "replace").split("\n"):
        fields = line.split(":")
        if len(fields) >= count and fields[2].isdigit():
            yield fields


def _account(name: str) -> list[str] | None:
    found = next((fields for fields in _entries(PASSWD, 7) if fields[0] == name), None)
    if found is not None:
        _check(PASSWD, name, int(found[2]))
    return found


def _groups(account: list[str]) -> list[int]:
    found = {int(account[3])}
    for fields in _entries(GROUP, 4):
        if account[0] in fields[3].split(","):
            found.add(int(fields[2]))
    return sorted(found)


def _name(path: str, number: int) -> str:
    for fields in _entries(path, 3):
        if int(fields[2]) == number:
            _check(path, fields[0], number)
            return fields[0]
    raise KeyError(f"{path} has no {number}")


def _check(path: str, name: str, number: int) -> None:
    """Makes sure that a name and a number belong together: who renumbers an account has given it nothing."""
    before = _before[path]
    names = {other for other, its in before.items() if its == number}
    if before.get(name, number) != number or (names and name not in names):
        raise ValueError(f"{path}: {name} did not have the number {number}")


def answers(questions: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    """What is so."""
    found: list[Any] = []
    for kind, arguments in questions:
        try:
            found.append(KINDS[kind](**arguments))
        except Exception as error:
            found.append({"error": f"{type(error).__name__}: {error}"})
    return found


def serve(source: int, sink: int, before: dict[str, bytes]) -> None:
    """Answers the questions that are JSON in one file with JSON in the other.

    Args:
        source: The questions.
        sink: For the answers.
        before: The files of accounts and of groups before the agent came, by path; those that are known.
    """
    for path, data in before.items():
        for fields in _parsed(data, 3):
            _before[path].setdefault(fields[0], int(fields[2]))
    with open(source, "rb", closefd=False) as file:
        questions = json.loads(file.read())
    with open(sink, "wb", closefd=False) as file:
        file.write(json.dumps(answers(questions)).encode())
