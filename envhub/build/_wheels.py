"""The PyPI part: which archive of each package, and their installation by uv."""

from __future__ import annotations

import os
import subprocess
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from envhub.build._errors import DiskFull, FetchFailed, InstallFailed, LockInvalid, NotCached
from envhub.build._fetch import Wanted
from envhub.build._lock import Lock, PypiPackage, archive_name
from envhub.build._store import Store
from envhub.spec import Runtime, runtime_variables


class Choice:
    """Chooses the archive of each PyPI package that suits an interpreter best: a wheel, else the source.

    Args:
        lock: The lock.
        file: The file it was read from.
    """

    def __init__(self, lock: Lock, file: Path) -> None:
        from packaging import tags

        version = tuple(int(part) for part in lock.python.split("."))
        suiting = [*tags.cpython_tags(version), *tags.compatible_tags(version, f"cp{version[0]}{version[1]}")]
        self._lock, self._file = lock, file
        self._ranks = {tag: rank for rank, tag in reversed(list(enumerate(suiting)))}

    def from_index(self) -> list[Wanted]:
        """Ask the index, through uv, for the addresses of the locked archives.

        Raises:
            FetchFailed: The index does not answer.
            LockInvalid: The index does not have a locked version or any archive with a locked hash, or none
                of those suits.
        """
        listed = self._listed()
        chosen = []
        for package in self._lock.pypi:
            archives = {sha256: url for sha256, url in listed[package.name] if sha256 in package.hashes}
            names = {sha256: archive_name(url) for sha256, url in archives.items()}
            sha256 = self._best(package, names)
            if not archives:
                raise LockInvalid(
                    f"{self._lock.spec}: {self._file}: none of the locked archives of {package.name} "
                    f"{package.version} is on the index: no archive there has a hash that is locked. "
                    f"{self._restore}"
                )
            if sha256 is None:
                raise LockInvalid(
                    f"{self._lock.spec}: {self._file}: none of the locked archives of {package.name} "
                    f"{package.version} suits Python {self._lock.python} on {self._lock.platform}; make the "
                    f"locks again with: envhub lock {self._lock.reference}"
                )
            chosen.append(self._wanted(package, names[sha256], archives[sha256], sha256))
        return chosen

    def from_store(self, store: Store) -> list[Wanted]:
        """Choose among the archives in the store.

        Raises:
            NotCached: There is none of a package.
        """
        chosen = []
        for package in self._lock.pypi:
            kept = {sha256: file for sha256 in package.hashes if (file := store.archive(sha256))}
            sha256 = self._best(package, {one: file.name for one, file in kept.items()})
            if sha256 is None:
                raise NotCached(
                    f"{package.name} {package.version} ({self._file}): no archive of it is in the store "
                    f"{store.root}, and --offline fetches nothing: run it without --offline where the "
                    "package index can be reached, or bring all of it in a pack (envhub pack)"
                )
            chosen.append(self._wanted(package, kept[sha256].name, kept[sha256].as_uri(), sha256))
        return chosen

    def _best(self, package: PypiPackage, names: Mapping[str, str]) -> str | None:
        """The SHA-256 of the archive that suits best, out of file names by SHA-256."""
        ranked = sorted((rank, one) for one, name in names.items() if (rank := self._rank(name)) is not None)
        return ranked[0][1] if ranked else None

    def _rank(self, name: str) -> int | None:
        from packaging.utils import InvalidWheelFilename, parse_wheel_filename

        if name.endswith((".tar.gz", ".zip")):
            return len(self._ranks)
        try:
            ranks = [self._ranks[tag] for tag in parse_wheel_filename(name)[3] if tag in self._ranks]
        except InvalidWheelFilename:
            return None
        return min(ranks, default=None)

    def _wanted(self, package: PypiPackage, name: str, url: str, sha256: str) -> Wanted:
        return Wanted(f"{package.name} {package.version}", self._file, name, url, sha256)

    @property
    def _restore(self) -> str:
        """What to do about a lock that names what the index does not have."""
        return (
            f"The lock was altered, or the index lacks it: restore {self._file.name}, or make the locks "
            f"again with: envhub lock {self._lock.reference}"
        )

    def _listed(self) -> dict[str, list[tuple[str, str]]]:
        """The SHA-256 and address of every archive on the index, by package."""
        command = ["pip", "compile", str(self._file), "--no-deps", "--format", "pylock.toml", "--quiet"]
        command += ["--python-version", self._lock.python, "--no-header"]
        done = uv(command)
        if done.returncode:
            said = done.stderr.strip()
            if "No solution found" in said and "network was disabled" not in said:
                raise LockInvalid(
                    f"{self._lock.spec}: {self._file}: the package index does not have what is locked:\n"
                    f"{said}\n{self._restore}"
                )
            raise FetchFailed(
                f"{self._lock.spec}: the package index does not give what {self._file} locks:\n{said}\n"
                "Check the network and the index (uv's own settings, such as UV_DEFAULT_INDEX, are used)"
            )
        listed: dict[str, list[tuple[str, str]]] = {package.name: [] for package in self._lock.pypi}
        for package in tomllib.loads(done.stdout).get("packages", []):
            listed.setdefault(package["name"], []).extend(_archives(package))
        return listed


def _archives(package: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for one in [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]:
        sha256 = one.get("hashes", {}).get("sha256")
        url = one.get("url") or (Path(one["path"]).absolute().as_uri() if "path" in one else None)
        if sha256 and url:
            yield sha256, url


def install(
    lock: Lock, file: Path, archives: Sequence[Path], runtime: Runtime, scratch: Path, fd: int
) -> None:
    """Install the PyPI part: exactly these archives, no index, no dependencies.

    A package that has only a source archive is built with what is installed already, for a build of its own
    would bring packages that no lock names.

    Raises:
        InstallFailed: uv refuses or fails.
    """
    links = scratch / "wheels"
    links.mkdir()
    for archive in archives:
        (links / archive.name).symlink_to(archive)
    sources = [
        package.name for package, archive in zip(lock.pypi, archives, strict=True) if archive.suffix != ".whl"
    ]
    command = ["pip", "install", "--python", str(runtime.python), "--quiet", "--require-hashes", "--no-deps"]
    command += ["--no-index", "--find-links", str(links), "--offline", "--no-cache", "--link-mode", "copy"]
    command += ["--break-system-packages", "--only-binary", ":all:", "--requirements", str(file)]
    for name in sources:
        command += ["--no-binary", name, "--no-build-isolation-package", name]
    done = _uv([*command, "--no-config"], fd, runtime_variables(runtime, os.environ))
    if done.returncode:
        hint = ""
        if sources:
            hint = (
                f"\n{', '.join(sources)} had to be built from source; what that needs (setuptools, a "
                "compiler) belongs in environment.yml"
            )
        full = "No space left" in done.stderr
        raise (DiskFull if full else InstallFailed)(
            f"{lock.spec}: {file} cannot be installed:\n{done.stderr.strip()}{hint}"
        )


def make_venv(prefix: Path, python: Path, fd: int) -> None:
    """Make a virtual environment with nothing in it.

    Raises:
        InstallFailed: uv fails.
    """
    command = ["venv", "--quiet", "--no-config", "--no-project", "--python", str(python), str(prefix)]
    done = _uv(command, fd, os.environ)
    if done.returncode:
        raise InstallFailed(f"{prefix}: the virtual environment cannot be made:\n{done.stderr.strip()}")


def _uv(arguments: Sequence[str], fd: int, environ: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run uv for what the options say and no variable changes; `fd` is a lock that it holds."""
    return uv(arguments, [fd], {name: value for name, value in environ.items() if not name.startswith("UV_")})


def uv(
    arguments: Sequence[str], fds: Sequence[int] = (), environ: Mapping[str, str] = os.environ
) -> subprocess.CompletedProcess[str]:
    """Run uv, which holds the locks `fds` as long as it lives."""
    from uv import find_uv_bin

    return subprocess.run(
        [find_uv_bin(), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        pass_fds=fds,
        env={**environ, "UV_PYTHON_DOWNLOADS": "never", "NO_COLOR": "1"},
    )
