"""Asking apt: which mirrors this machine uses, and what would be installed from one now.

Nothing is installed, and no root is needed: apt works on a folder that is thrown away.
"""

from __future__ import annotations

import email.utils
import os
import re
import subprocess
import tempfile
import urllib.parse
from collections.abc import Iterator, Sequence
from pathlib import Path

from .lockfile import SUITE, Lock, Package, names

MIRROR = "http://deb.debian.org/debian"
SNAPSHOT = "https://snapshot.debian.org/archive/debian"
"""Has every state of the archive there ever was, by its date."""
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_SOURCES = Path("/etc/apt")
_DEBIAN = re.compile(r"https?://\S+/debian/?")
_URI = re.compile(r"'(?P<uri>[^']+)' \S+ \d+ SHA256:(?P<sha256>[0-9a-f]{64})")


class AptFailed(Exception):
    """apt is not there or failed; the message says why."""


def mirrors(sources: Path = _SOURCES) -> list[str]:
    """The Debian mirrors that this machine's apt is configured with, then Debian's own address.

    Args:
        sources: Where `sources.list` and `sources.list.d` are.
    """
    found = []
    files = [sources / "sources.list", *sorted((sources / "sources.list.d").glob("*"))]
    for file in files:
        if file.suffix in (".list", ".sources") and file.is_file():
            lines = file.read_text("utf-8", "replace").splitlines()
            words = (word for line in lines if not line.lstrip().startswith("#") for word in line.split())
            found += [word.rstrip("/") for word in words if _DEBIAN.fullmatch(word)]
    return list(dict.fromkeys([*found, MIRROR]))


def architecture() -> str:
    """Debian's word for this machine's processor.

    Raises:
        AptFailed: There is no dpkg here.
    """
    return _run(["dpkg", "--print-architecture"]).strip()


def lock() -> Lock:
    """Find out what the lists ask for, as the machine's first mirror has it now. apt checks its signature.

    Raises:
        AptFailed: There is no apt or no keyring, or it failed.
    """
    if not KEYRING.is_file():
        raise AptFailed(
            f"{KEYRING} is missing, by which a mirror is checked: apt-get install debian-archive-keyring"
        )
    mirror, machine = mirrors()[0], architecture()
    with tempfile.TemporaryDirectory() as folder:
        apt = _Apt(Path(folder), mirror, machine)
        date = apt.update()
        wanted = ["?essential", "?priority(required)", "apt", *names("packages.txt")]
        installed = set(apt.packages("installed", wanted))
        all_paths = {package.path for package in installed}
        both = apt.packages("offline", [*wanted, *names("offline.txt")])
        offline = [package for package in both if package.path not in all_paths]
        return Lock(SUITE, machine, date, (*installed, *offline))


class _Apt:
    """apt with nothing installed and one mirror."""

    def __init__(self, folder: Path, mirror: str, machine: str) -> None:
        self._folder, self._mirror = folder, mirror
        for name in ("state/lists/partial", "cache/archives/partial", "etc/apt.conf.d", "etc/preferences.d"):
            (folder / name).mkdir(parents=True)
        (folder / "state/status").touch()
        (folder / "etc/sources.list").write_text(f"deb [signed-by={KEYRING}] {mirror} {SUITE} main\n")
        places = {"Dir::Etc": "etc", "Dir::State": "state", "Dir::Cache": "cache"}
        settings = {name: str(folder / place) for name, place in places.items()}
        settings |= {
            "Dir::State::status": str(folder / "state/status"),
            "APT::Architecture": machine,
            "APT::Architectures": machine,
            "APT::Install-Recommends": "false",
            "APT::Sandbox::User": "",
            "Acquire::Languages": "none",
            "Acquire::ForceHash": "SHA256",
        }
        lines = [f'{name} "{value}";' for name, value in settings.items()]
        (folder / "apt.conf").write_text("\n".join(lines), "utf-8")

    def update(self) -> str:
        """Fetch what the mirror has; returns the date of that."""
        self._apt("update", "--error-on=any")
        (release,) = (self._folder / "state/lists").glob("*_InRelease")
        dated = re.search(r"^Date: (.+)$", release.read_text("utf-8", "replace"), re.MULTILINE)
        if dated is None:
            raise AptFailed(f"{self._mirror}: its Release file has no date")
        return email.utils.parsedate_to_datetime(dated[1].replace("UTC", "+0000")).strftime("%Y%m%dT%H%M%SZ")

    def packages(self, kind: str, wanted: Sequence[str]) -> list[Package]:
        """The archives that installing these would take."""
        return list(parse(self._apt("install", "--print-uris", "--yes", *wanted), kind, self._mirror))

    def _apt(self, *words: str) -> str:
        command = ["apt-get", "--quiet=2", *words]
        return _run(
            command, {**os.environ, "APT_CONFIG": str(self._folder / "apt.conf"), "LC_ALL": "C.UTF-8"}
        )


def parse(said: str, kind: str, mirror: str) -> Iterator[Package]:
    """Read the archives that apt says it would fetch from a mirror.

    Raises:
        AptFailed: It names none.
    """
    found = [_URI.match(line) for line in said.splitlines()]
    if not any(found):
        raise AptFailed(f"apt named no packages: {said[-2000:]}")
    for one in filter(None, found):
        path = urllib.parse.unquote(one["uri"].removeprefix(mirror).lstrip("/"))
        yield Package(kind, one["sha256"], path)


def _run(command: Sequence[str], environment: dict[str, str] | None = None) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
    except FileNotFoundError as error:
        raise AptFailed(
            f"{command[0]} is not installed: only on Debian and its like, or in a container"
        ) from error
    if done.returncode:
        raise AptFailed(f"{' '.join(command[:3])} failed ({done.returncode}): {done.stderr.strip()[-2000:]}")
    return done.stdout
