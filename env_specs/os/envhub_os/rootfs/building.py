"""Makes a root file system of archives that were checked: a mirror of nothing else, and an installer.

mmdebstrap, or debootstrap where that is not installed, takes what the lock names and cannot take anything
else: the mirror it is given is a folder with those archives. What it installed is compared all the same.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from envhub_os.sandbox.jail.namespaces import id_source

from .lockfile import HERE, Lock, Package

INSTALL = "apt-get install mmdebstrap"
_SAID = re.compile(r"(?:I: )?(Unpacking|Setting up|Configuring) ([\w.+-]+)")
_SHOWN_LINES = 15
_MERGED = "/usr/share/mmdebstrap/hooks/merged-usr"
"""Of mmdebstrap: makes /bin and its like links before there is anything in them."""
_EPOCH_S = 1_700_000_000
"""The date of what the installers write themselves."""


class BuildFailed(Exception):
    """No root file system was made; the message says why and what to do."""


def installer() -> str:
    """The program that installs.

    Raises:
        BuildFailed: None is there, or the one that is needs root, or a range of user ids.
    """
    if shutil.which("mmdebstrap"):
        if id_source() == "single" and os.geteuid() != 0:
            raise BuildFailed(
                "without root mmdebstrap needs a range of user ids: apt-get install uidmap, usermod "
                "--add-subuids 100000-165535 --add-subgids 100000-165535 with this user's name, and "
                "build again; without, set rootfs to the tar file of an image, or to a folder"
            )
        return "mmdebstrap"
    if shutil.which("debootstrap", path=_path()):
        if os.geteuid() == 0:
            return "debootstrap"
        raise BuildFailed(f"debootstrap works as root only; without root install mmdebstrap: {INSTALL}")
    raise BuildFailed(
        f"neither mmdebstrap nor debootstrap is installed here: {INSTALL} (on Debian and Ubuntu), then build "
        "again; without, set rootfs to the tar file of an image, or to a folder"
    )


def require_machine(lock: Lock, machine: str) -> None:
    """Refuse the lock of another kind of machine.

    Raises:
        BuildFailed: It is one.
    """
    if lock.architecture != machine:
        raise BuildFailed(
            f"debian.lock is for {lock.architecture} and this machine is {machine}: envhub lock os makes it "
            "for this one"
        )


def build(target: Path, archives: Path, lock: Lock) -> None:
    """Make a root file system; what it says on standard output is how far that is.

    As root the files get their owners. Without root they get those of the range in `/etc/subuid`, through
    mmdebstrap's user namespace.

    Args:
        target: A new folder; its parent is there.
        archives: A folder with the archives of the lock, each of the locked SHA-256.
        lock: What it is made of.

    Raises:
        BuildFailed: The installer failed, or installed something else than the lock says.
    """
    program = installer()
    # what an installer runs may be another user, who cannot enter this user's folders
    with tempfile.TemporaryDirectory(dir=None if os.geteuid() == 0 else "/tmp") as name:
        work = Path(name)
        work.chmod(0o755)
        _mirror(work / "mirror", archives, lock)
        _flat(work / "offline", archives, lock.of("offline"))
        shutil.copy(HERE / "customize.sh", work)
        total = 2 * len(lock.of("installed"))
        if program == "debootstrap":
            _run(_debootstrap(target, work, lock), total)
            _run(["sh", str(work / "customize.sh"), str(target), str(work / "offline")], total)
        elif os.geteuid() == 0:
            _run([*_mmdebstrap(work, lock), str(target), _source(work, lock)], total)
        else:
            _run([*_mmdebstrap(work, lock), str(work / "root.tar"), _source(work, lock)], total)
            _unpack_unprivileged(work / "root.tar", target)
    _compare(target, lock)
    for device in (target / "dev").glob("*") if os.geteuid() == 0 else ():  # a sandbox has its own
        shutil.rmtree(device) if device.is_dir() and not device.is_symlink() else device.unlink()


def _mmdebstrap(work: Path, lock: Lock) -> list[str]:
    customize = f'--customize-hook=sh {work}/customize.sh "$1" {work}/offline'
    return [
        *("mmdebstrap", "--verbose", "--variant=essential", f"--include={_names(lock)}"),
        *(f"--architectures={lock.architecture}", "--dpkgopt=force-unsafe-io", customize),
        *(f"--hook-dir={_MERGED}", "--skip=cleanup/apt", lock.suite),
    ]


def _source(work: Path, lock: Lock) -> str:
    return f"deb [trusted=yes] copy:{work}/mirror {lock.suite} main"


def _debootstrap(target: Path, work: Path, lock: Lock) -> list[str]:
    return [
        *("debootstrap", "--variant=minbase", "--no-check-gpg", f"--include={_names(lock)}"),
        *(f"--arch={lock.architecture}", lock.suite, str(target), f"file://{work}/mirror"),
    ]


def _names(lock: Lock) -> str:
    return ",".join(package.name for package in lock.of("installed"))


def _path() -> str:
    return f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"


def _apart() -> list[str]:
    """What runs a command so that nothing it starts or mounts outlives it, where root may have that."""
    command = ["unshare", "--mount", "--pid", "--fork", "--kill-child"]
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        return []
    allowed = subprocess.run([*command, "true"], stderr=subprocess.DEVNULL).returncode == 0
    return command if allowed else []  # then nothing can be mounted either


def _run(command: Sequence[str], total: int) -> None:
    """Run an installer, and say how far it is."""
    environment = {
        "PATH": _path(),
        "HOME": os.environ.get("HOME", "/"),
        "LC_ALL": "C.UTF-8",
        "DEBIAN_FRONTEND": "noninteractive",
        "SOURCE_DATE_EPOCH": str(_EPOCH_S),
    }
    lines: deque[str] = deque(maxlen=_SHOWN_LINES)
    done = 0
    with subprocess.Popen(
        [*_apart(), *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env=environment,
    ) as running:
        assert running.stdout is not None
        try:
            for line in running.stdout:
                lines.append(line)
                said = _SAID.match(line)
                if said:
                    done += 1
                    print(f"{min(done, total)}/{total} {said[1].lower()} {said[2].rstrip('.')}", flush=True)
        except BaseException:  # nobody listens any more
            running.kill()
            raise
    if running.returncode:
        raise BuildFailed(f"{command[0]} failed ({running.returncode}):\n{''.join(lines).strip()}")


def _unpack_unprivileged(archive: Path, target: Path) -> None:
    """Unpack with the owners of this user's range of ids, who may enter the target's folder meanwhile."""
    mode = target.parent.stat().st_mode
    target.parent.chmod(0o777)
    try:
        with archive.open("rb") as opened:
            done = subprocess.run(
                [
                    "mmdebstrap",
                    "--unshare-helper",
                    "sh",
                    "-c",
                    'mkdir "$0" && tar -C "$0" -xp --exclude "./dev/*"',
                    target.name,
                ],
                cwd=target.parent,
                stdin=opened,
                stderr=subprocess.PIPE,
                text=True,
            )
    finally:
        target.parent.chmod(mode)
    if done.returncode:
        raise BuildFailed(f"{target}: it could not be unpacked: {done.stderr.strip()}")


# -- the mirror -------------------------------------------------------------------------------------


def _mirror(folder: Path, archives: Path, lock: Lock) -> None:
    """A Debian mirror that has the packages to install."""
    packages = folder / "dists" / lock.suite / "main" / f"binary-{lock.architecture}" / "Packages"
    packages.parent.mkdir(parents=True)
    (folder / "pool").mkdir()
    text = _stanzas(archives, lock.of("installed"), folder / "pool", "pool").encode()
    packages.write_bytes(text)
    listed = packages.relative_to(folder / "dists" / lock.suite)
    (folder / "dists" / lock.suite / "Release").write_text(
        f"Suite: {lock.suite}\nCodename: {lock.suite}\nComponents: main\nArchitectures: {lock.architecture}\n"
        f"Date: Thu, 01 Jan 1970 00:00:00 UTC\nSHA256:\n"
        f" {hashlib.sha256(text).hexdigest()} {len(text)} {listed}\n"
    )


def _flat(folder: Path, archives: Path, packages: Sequence[Package]) -> None:
    """A folder that apt takes for a mirror: archives and the list of them."""
    folder.mkdir()
    (folder / "Packages").write_text(_stanzas(archives, packages, folder, "."), "utf-8")


def _stanzas(archives: Path, packages: Sequence[Package], folder: Path, place: str) -> str:
    """Put archives into a folder, and return what a list of packages says of them."""

    def stanza(package: Package) -> str:
        archive = archives / package.file_name
        shutil.copyfile(archive, folder / package.file_name)
        asked = ["dpkg-deb", "--field", str(archive)]
        done = subprocess.run(asked, capture_output=True, text=True)
        if done.returncode:
            raise BuildFailed(f"{package.file_name} is no Debian archive: {done.stderr.strip()}")
        where = f"Filename: {place}/{package.file_name}\nSize: {archive.stat().st_size}"
        return f"{done.stdout.rstrip()}\n{where}\nSHA256: {package.sha256}\n\n"

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return "".join(threads.map(stanza, packages))


# -- the result -------------------------------------------------------------------------------------


def _compare(root: Path, lock: Lock) -> None:
    """Refuse a root file system that has other packages than the lock."""
    locked = {(package.name, package.version) for package in lock.of("installed")}
    found = set(_installed(root))
    if found != locked:
        other = ", ".join(f"{name} {version}" for name, version in sorted(found ^ locked))
        raise BuildFailed(
            f"what was installed is not what debian.lock says, which differs in {other}: restore it, or make "
            "it anew: envhub lock os"
        )


def _installed(root: Path) -> Iterator[tuple[str, str]]:
    """Names and versions, without their epochs, of the packages in a root file system."""
    for stanza in (root / "var/lib/dpkg/status").read_text("utf-8").split("\n\n"):
        fields = dict(re.findall(r"^(Package|Version|Status): (.+)$", stanza, re.MULTILINE))
        if fields.get("Status", "").endswith(" ok installed"):
            yield fields["Package"], fields["Version"].rpartition(":")[2]
