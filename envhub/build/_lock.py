"""Reading a spec's locks: which packages, in which version, with which bytes."""

from __future__ import annotations

import hashlib
import json
import platform
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from envhub.build._errors import LockInvalid, LockMissing, VenvRefused, WrongPlatform
from envhub.build._files import SpecFiles
from envhub.build._setup import SetupStep, read_steps
from envhub.build._yaml import load_yaml
from envhub.spec import Spec, reference

Kind = Literal["conda", "venv"]
"""What is built: a conda prefix, or a plain virtual environment of the PyPI part alone."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_MD5 = re.compile(r"[0-9a-f]{32}")
_PINNED = re.compile(
    r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]*)(\[[A-Za-z0-9._,\s-]*\])?==(?P<version>[^\s;\\,*]+)"
)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
MACHINES = {
    ("linux", "x86_64"): "linux-64",
    ("linux", "aarch64"): "linux-aarch64",
    ("linux", "ppc64le"): "linux-ppc64le",
    ("darwin", "x86_64"): "osx-64",
    ("darwin", "arm64"): "osx-arm64",
}
"""Conda's name of a platform, by the names that Python has for the system and the machine."""
INTERPRETER = frozenset({"python", "pip", "setuptools", "wheel"})
"""Conda packages that any Python installation stands in for."""


@dataclass(frozen=True, slots=True)
class CondaPackage:
    """One locked conda package.

    Attributes:
        name: Its name.
        version: Its version.
        build: Its build string.
        url: The address of its archive.
        sha256: The archive's SHA-256, in hexadecimal digits.
        md5: The archive's MD5, where the lock has it.
        depends: What it needs, as match specs ("libzlib >=1.3.1,<2.0a0").
    """

    name: str
    version: str
    build: str
    url: str
    sha256: str
    md5: str | None
    depends: tuple[str, ...]

    @property
    def file_name(self) -> str:
        """The name of the archive."""
        return archive_name(self.url)

    @property
    def hashes(self) -> tuple[str, ...]:
        """The SHA-256 that its archive may have: one."""
        return (self.sha256,)


@dataclass(frozen=True, slots=True)
class PypiPackage:
    """One locked PyPI package.

    Attributes:
        name: Its normalized name.
        version: Its version.
        hashes: The SHA-256 of every archive that may be installed for it, sorted.
    """

    name: str
    version: str
    hashes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Lock:
    """Everything an environment is made of, to the byte.

    Attributes:
        spec: The name of the spec.
        reference: What a command finds the spec by.
        platform: The conda platform it is for, such as "linux-64".
        conda: The conda packages, by name.
        pypi: The PyPI packages, by name.
        setup: What is run when all packages are there, in order.
    """

    spec: str
    reference: str
    platform: str
    conda: tuple[CondaPackage, ...]
    pypi: tuple[PypiPackage, ...]
    setup: tuple[SetupStep, ...]

    @property
    def digest(self) -> str:
        """The name of what is built from this lock, "sha256:…": equal locks have equal digests."""
        return self.digest_for("conda")

    def digest_for(self, kind: Kind) -> str:
        """Return the digest of one kind of environment.

        A plain virtual environment has no conda packages; of those only Python's version (3.11) counts.
        """
        packages: list[tuple[str, str, str, str | None, str]]
        packages = [("pypi", one.name, one.version, None, " ".join(one.hashes)) for one in self.pypi]
        if kind == "conda":
            packages += [("conda", one.name, one.version, one.url, one.sha256) for one in self.conda]
        else:
            packages += [("python", "python", self.python, None, "")]
        steps = [
            {"name": step.name, "run": step.run, "inputs": [[one.path, one.sha256] for one in step.inputs]}
            for step in self.setup
        ]
        content = {"packages": sorted(packages, key=lambda one: one[:2]), "setup": steps}
        return "sha256:" + hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def check_kind(self, kind: Kind) -> None:
        """Refuse a kind of environment that cannot hold what is locked.

        Raises:
            VenvRefused: A virtual environment is wanted, and native conda packages are locked.
        """
        if kind == "venv" and self.native:
            raise VenvRefused(
                f"{self.spec}: a virtual environment cannot hold its conda packages "
                f"{', '.join(self.native)}; use --isolation conda"
            )

    @property
    def python(self) -> str:
        """The version of Python without its last part, such as "3.11"."""
        version = next(one.version for one in self.conda if one.name == "python")
        return ".".join(version.split(".")[:2])

    @property
    def native(self) -> tuple[str, ...]:
        """The conda packages beyond Python and its installers with all they need: only conda has them."""
        depends = {one.name: one.depends for one in self.conda}
        wanted = [name for name in depends if name in INTERPRETER]
        covered: set[str] = set()
        while wanted:
            name = wanted.pop()
            if name not in covered:
                covered.add(name)
                wanted += [need.split()[0] for need in depends.get(name, ())]
        return tuple(name for name in depends if name not in covered)


def host_platform() -> str:
    """Return the conda platform of this machine, such as "linux-64".

    Raises:
        WrongPlatform: Conda has no name for it.
    """
    try:
        return MACHINES[(sys.platform, platform.machine())]
    except KeyError:
        raise WrongPlatform(
            f"this machine ({sys.platform}, {platform.machine()}) is none that environments can be built "
            f"for; possible: {', '.join(MACHINES.values())}"
        ) from None


def read_lock(spec: Spec, platform: str | None = None) -> Lock:
    """Read the locks of a spec.

    Args:
        spec: The spec.
        platform: A conda platform; by default this machine's.

    Raises:
        LockMissing: The spec has no locks.
        LockInvalid: A lock is unreadable, incomplete or at odds with itself.
        WrongPlatform: The locks are not for that platform.
    """
    files = SpecFiles.of(spec)
    platform = platform or host_platform()
    return Lock(
        spec=spec.name,
        reference=reference(spec),
        platform=platform,
        conda=tuple(sorted(_conda(spec, files.conda_lock, platform), key=lambda one: one.name)),
        pypi=tuple(sorted(_pypi(spec, files), key=lambda one: one.name)),
        setup=read_steps(files),
    )


def _conda(spec: Spec, file: Path, platform: str) -> list[CondaPackage]:
    if not file.is_file():
        raise LockMissing(f"{spec.name}: {file} is missing; make it with: envhub lock {reference(spec)}")
    try:
        content = load_yaml(file)
    except (OSError, ValueError) as reason:
        raise _invalid(spec, file, f"cannot be read: {reason}") from reason
    if not isinstance(content, dict) or content.get("version") != 1:
        raise _invalid(spec, file, "is no conda-lock file of version 1")
    metadata, items = content.get("metadata"), content.get("package")
    platforms = metadata.get("platforms") if isinstance(metadata, dict) else None
    if not isinstance(items, list) or not isinstance(platforms, list):
        raise _invalid(spec, file, "has no packages or no platforms")
    if platform not in platforms:
        raise WrongPlatform(
            f"{spec.name}: {file} is for {', '.join(map(str, platforms))} and this is {platform}; "
            f"add {platform} to the platforms in environment.yml and run: envhub lock {reference(spec)}"
        )
    packages = []
    for item in items:
        if not isinstance(item, dict):
            raise _invalid(spec, file, f"{item!r} is no package")
        if item.get("platform") == platform and item.get("category", "main") == "main":
            packages.append(_conda_package(spec, file, item))
    _check_names(spec, file, [one.name for one in packages])
    _check_complete(spec, file, packages)
    return packages


def _conda_package(spec: Spec, file: Path, item: dict[str, Any]) -> CondaPackage:
    name, version, url = (str(item.get(key, "")) for key in ("name", "version", "url"))
    where = f"package {name!r}"
    if item.get("manager") != "conda":
        raise _invalid(
            spec, file, f"{where} comes from {item.get('manager')!r}; PyPI packages belong in requirements.in"
        )
    hashes = item.get("hash")
    sha256 = hashes.get("sha256") if isinstance(hashes, dict) else None
    md5 = hashes.get("md5") if isinstance(hashes, dict) else None
    if not isinstance(sha256, str) or not _SHA256.fullmatch(sha256):
        raise _invalid(spec, file, f"{where} has no sha256, so nothing says which bytes were meant")
    if md5 is not None and not (isinstance(md5, str) and _MD5.fullmatch(md5)):
        raise _invalid(spec, file, f"{where}: {md5!r} is no md5")
    stem = re.sub(r"\.(conda|tar\.bz2)$", "", archive_name(url))
    parts = stem.rsplit("-", 2)
    if stem == archive_name(url) or len(parts) != 3 or parts[:2] != [name, version]:
        raise _invalid(
            spec,
            file,
            f"{where} version {version} points to {archive_name(url)!r}, which is another package's archive",
        )
    depends = item.get("dependencies")
    if not isinstance(depends, dict):
        raise _invalid(spec, file, f"{where} does not say what it depends on")
    return CondaPackage(
        name=name,
        version=version,
        build=parts[2],
        url=url,
        sha256=sha256,
        md5=md5,
        depends=tuple(f"{need} {constraint or ''}".strip() for need, constraint in sorted(depends.items())),
    )


def _check_complete(spec: Spec, file: Path, packages: list[CondaPackage]) -> None:
    names = {one.name for one in packages}
    if "python" not in names:
        raise _invalid(spec, file, "locks no python; add `python 3.11.*` to environment.yml")
    for package in packages:
        for need in package.depends:
            if need.split()[0] not in names and not need.startswith("__"):  # __glibc: the machine's own
                raise _invalid(spec, file, f"package {package.name!r} needs {need!r}, which is not locked")


def _pypi(spec: Spec, files: SpecFiles) -> list[PypiPackage]:
    file = files.requirements_lock
    if not file.is_file():
        if files.requirements.is_file():
            raise LockMissing(f"{spec.name}: {file} is missing; make it with: envhub lock {reference(spec)}")
        return []
    packages = []
    for line in _logical_lines(spec, file):
        pinned, hashes = _PINNED.match(line), sorted(set(_HASH.findall(line)))
        rest = _HASH.sub("", line[pinned.end() :]).strip() if pinned else line
        if pinned is None or rest:
            raise _invalid(
                spec, file, f"{line.split(' --hash')[0]!r} is not of the form name==version --hash=sha256:…"
            )
        if not hashes:
            raise _invalid(spec, file, f"package {pinned['name']!r} has no sha256")
        name = re.sub(r"[-_.]+", "-", pinned["name"]).lower()
        packages.append(PypiPackage(name, pinned["version"], tuple(hashes)))
    _check_names(spec, file, [one.name for one in packages])
    return packages


def _logical_lines(spec: Spec, file: Path) -> Iterator[str]:
    """The lines of a requirements file, continued ones joined, without comments."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as reason:
        raise _invalid(spec, file, f"cannot be read: {reason}") from reason
    bare = (re.sub(r"(^|\s)#.*", "", line) for line in text.splitlines())
    for line in "\n".join(bare).replace("\\\n", " ").splitlines():
        if line.strip():
            yield " ".join(line.split())


def _check_names(spec: Spec, file: Path, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise _invalid(spec, file, f"package {name!r} is there more than once")


def archive_name(url: str) -> str:
    """Return the name of the file that an address leads to."""
    return PurePosixPath(unquote(urlsplit(url).path)).name


def _invalid(spec: Spec, file: Path, complaint: str) -> LockInvalid:
    return LockInvalid(
        f"{spec.name}: {file}: {complaint}; make the locks again with: envhub lock {reference(spec)}"
    )
