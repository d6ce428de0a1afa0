"""Installing the conda part with py-rattler, in a process of its own: `python -m envhub.build._install`.

The library may crash the interpreter that loaded it when that shuts down, so this one never does: it ends
with `os._exit`. An order comes in as JSON on standard input; what happens goes out as one JSON object a line:
`{"linked": name}` for each package, and at the end `{"done": true}` or `{"error": kind, "message": text}`.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from envhub.build._disk import SPARE_BYTES, megabytes
from envhub.build._errors import BuildError, DiskFull, InstallFailed, LockInvalid, WrongPlatform
from envhub.build._files import SpecFiles
from envhub.build._lock import Lock

if TYPE_CHECKING:
    from rattler import RepoDataRecord

_ERRORS = {kind.__name__: kind for kind in (DiskFull, InstallFailed, LockInvalid, WrongPlatform)}
_PR_SET_PDEATHSIG = 1


def install(
    lock: Lock,
    files: SpecFiles,
    archives: Sequence[Path],
    prefix: Path,
    scratch: Path,
    fd: int,
    on_linked: Callable[[str], None],
    more_room: str,
) -> None:
    """Install the conda part of a lock from its archives.

    Args:
        lock: The lock.
        files: The files it was read from.
        archives: The packages' archives, in the lock's order.
        prefix: Where to.
        scratch: A folder for unpacking.
        fd: The lock that everything which writes to the prefix holds.
        on_linked: Called with the name of each package that is done.
        more_room: What to do where it does not fit on the disk, in words.

    Raises:
        LockInvalid: An archive holds another package than the lock says, or something it needs is not locked.
        WrongPlatform: A package needs another system than this one.
        DiskFull: It does not fit on the disk.
        InstallFailed: Anything else.
    """
    packages = [
        {"name": one.name, "version": one.version, "build": one.build, "url": one.url, "file": str(archive)}
        for one, archive in zip(lock.conda, archives, strict=True)
    ]
    order = {"prefix": str(prefix), "scratch": str(scratch), "platform": lock.platform, "packages": packages}
    command = [sys.executable, "-P", "-m", __name__, str(os.getpid())]
    with (
        (scratch / "errors").open("w+") as errors,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            pass_fds=[fd],
        ) as helper,
    ):
        assert helper.stdin and helper.stdout
        with contextlib.suppress(BrokenPipeError), helper.stdin:
            json.dump(order, helper.stdin)
        for line in helper.stdout:
            event = json.loads(line)
            if "linked" in event:
                on_linked(event["linked"])
            elif "error" in event:
                kind = _ERRORS[event["error"]]
                hints: dict[type[BuildError], str] = {
                    DiskFull: f"; {more_room}",
                    LockInvalid: f"; make the locks again with: envhub lock {lock.reference}",
                }
                raise kind(f"{lock.spec}: {files.conda_lock}: {event['message']}{hints.get(kind, '')}")
            elif event.get("done"):
                return
        helper.wait()
        errors.seek(0)
        last = errors.read().strip()
    raise InstallFailed(
        f"{lock.spec}: {files.conda_lock}: the installation ended by itself ({helper.returncode}): {last}"
    )


# -- the helper process ---------------------------------------------------------------------------------


def main() -> NoReturn:
    """Take one order and end."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    status = 1
    try:
        if os.getppid() == int(sys.argv[1]):  # else the builder died before it could be noticed
            asyncio.run(_install(json.load(sys.stdin)))
            _say(done=True)
            status = 0
    except BuildError as error:
        _say(error=type(error).__name__, message=str(error))
    except Exception as error:
        kind = "DiskFull" if "No space left" in str(error) or "os error 28" in str(error) else "InstallFailed"
        _say(error=kind, message=str(error))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _say(**event: Any) -> None:
    print(json.dumps(event), flush=True)


async def _install(order: dict[str, Any]) -> None:
    import rattler
    from rattler.exceptions import ValidatePackageRecordsError
    from rattler.install import InstallerReporter

    class Reporter(InstallerReporter):
        def on_link_start(self, operation: int, package_name: str) -> int:
            names.append(package_name)
            return len(names) - 1

        def on_link_complete(self, index: int) -> None:
            _say(linked=names[index])

    names: list[str] = []
    scratch, prefix = Path(order["scratch"]), Path(order["prefix"])
    records = [await _record(package) for package in order["packages"]]
    _check_machine(records)
    try:
        rattler.PackageRecord.validate(list(records))
    except ValidatePackageRecordsError as error:
        raise LockInvalid(str(error)) from error
    _check_room(order["packages"], scratch)
    await rattler.install(
        records,
        prefix,
        cache_dir=scratch / "packages",
        installed_packages=[],
        platform=rattler.Subdir(order["platform"]),
        execute_link_scripts=True,
        show_progress=False,
        reporter=Reporter(),  # type: ignore[abstract]  # the other methods do nothing
    )
    _note_origin(order["packages"], prefix / "conda-meta")


async def _record(package: dict[str, str]) -> RepoDataRecord:
    """Read what an archive says of itself, which must be what the lock says of it."""
    import rattler

    file = Path(package["file"])
    try:
        record = await rattler.RepoDataRecord.from_package_archive(file)
    except Exception as error:
        raise InstallFailed(f"package {package['name']!r}: {file} is no conda package: {error}") from error
    found = (record.name.source, str(record.version), str(record.build))
    locked = (package["name"], package["version"], package["build"])
    if found != locked:
        raise LockInvalid(
            f"package {package['name']!r}: its archive {file.name} holds {' '.join(found)}, "
            f"not {' '.join(locked)}"
        )
    return record


def _check_machine(records: Sequence[RepoDataRecord]) -> None:
    """Refuse packages that need another system: a newer glibc, a GPU."""
    import rattler

    here = [one.into_generic() for one in rattler.VirtualPackage.detect()]
    offered = {
        one.name.source: rattler.PackageRecord(one.name, str(one.version), one.build_string, 0, "noarch")
        for one in here
    }
    for record in records:
        for need in record.depends:
            name = need.split()[0]
            if not name.startswith("__"):
                continue
            machine = offered.get(name)
            if machine is None or not rattler.MatchSpec(need).matches(machine):
                has = f"{name} {machine.version}" if machine else f"no {name}"
                raise WrongPlatform(
                    f"package {record.name.source!r} needs {need}, and this machine has {has}"
                )


def _check_room(packages: Sequence[dict[str, str]], folder: Path) -> None:
    """Refuse to begin when the unpacked files, and those of them that are rewritten, do not fit."""
    from rattler import PathsJson

    size = 0
    for package in packages:
        for entry in PathsJson.from_package_archive(Path(package["file"])).paths:
            size += (entry.size_in_bytes or 0) * (2 if entry.prefix_placeholder else 1)
    free = shutil.disk_usage(folder).free
    if size + SPARE_BYTES > free:
        raise DiskFull(f"the packages unpack to {megabytes(size)} and {folder} has {megabytes(free)} left")


def _note_origin(packages: Sequence[dict[str, str]], folder: Path) -> None:
    """Name the lock's addresses in the prefix's own records, in place of files of this store."""
    for package in packages:
        file = folder / f"{package['name']}-{package['version']}-{package['build']}.json"
        noted = json.loads(file.read_text(encoding="utf-8"))
        noted |= {"url": package["url"], "channel": package["url"].rsplit("/", 2)[0]}
        for key in ("package_tarball_full_path", "extracted_package_dir"):
            noted.pop(key, None)
        file.write_text(json.dumps(noted, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
