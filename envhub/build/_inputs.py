"""What locks are made from: `environment.yml`, `virtual-packages.yml` and `requirements.in`.

Each has a digest over what it says. The locks carry the digests of what they were made from, so that a
change of meaning shows, and one of comments, blank lines or quotes does not.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from envhub.build._errors import LockInvalid, LockMissing
from envhub.build._files import SpecFiles
from envhub.build._yaml import load_yaml
from envhub.spec import Spec, reference

PLATFORMS = ("linux-64", "linux-aarch64", "osx-64", "osx-arm64")
DEFAULT_PLATFORMS = ("linux-64",)
DEFAULT_VIRTUAL_PACKAGES = """\
# What a machine provides itself, as far as the solver may rely on it. Newer systems are fine, older ones not.
subdirs:
  linux-64:
    packages:
      __unix: "0"
      __linux: "5.10"
      __archspec: "1 x86_64"
      __glibc: "2.28"
  linux-aarch64:
    packages:
      __unix: "0"
      __linux: "5.10"
      __archspec: "1 aarch64"
      __glibc: "2.28"
"""

_SELECTOR = re.compile(r"^\s*([^#\s].*?)\s*#.*\[([^\[\]]+)\][^()]*$")
_SELECTORS = frozenset(
    {"linux", "linux64", "aarch64", "ppc64le", "unix", "osx", "osx64", "arm64", "win", "win64"}
)
_CONDA_NAME = re.compile(r"^(?:\S+::)?([A-Za-z0-9_.-]+)")


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the locks of a spec are made from.

    Attributes:
        environment: What `environment.yml` says.
        selectors: Its lines for some platforms only, `- pkg  # [linux64]`: to conda-lock such comments count.
        virtual_packages: What `virtual-packages.yml` says, by platform; the default where it is missing.
        requirements: What `requirements.in` asks for; None where it is missing.
    """

    environment: Mapping[str, Any]
    selectors: tuple[tuple[str, str], ...]
    virtual_packages: Mapping[str, Mapping[str, str]]
    requirements: tuple[Requirement, ...] | None

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels that packages are taken from, the first one first."""
        return tuple(self.environment["channels"])

    @property
    def platforms(self) -> tuple[str, ...]:
        """The platforms to lock for, by their conda names."""
        return tuple(self.environment.get("platforms", DEFAULT_PLATFORMS))

    @property
    def conda_names(self) -> tuple[str, ...]:
        """The names of the conda packages that are asked for."""
        return _conda_names(self.environment["dependencies"])

    def glibc(self, platform: str) -> str | None:
        """Return the version of glibc that a platform provides, or None where it has none."""
        return self.virtual_packages[platform].get("__glibc")

    @property
    def conda_digests(self) -> dict[str, str]:
        """The digests of the files behind `conda-lock.yml`, by file name."""
        return {
            "environment.yml": _digest([self.environment, self.selectors]),
            "virtual-packages.yml": _digest(self.virtual_packages),
        }

    @property
    def requirements_digest(self) -> str | None:
        """The digest of `requirements.in`."""
        return None if self.requirements is None else _digest([str(one) for one in self.requirements])


def _conda_names(dependencies: Iterable[str]) -> tuple[str, ...]:
    found = (_CONDA_NAME.match(one) for one in dependencies)
    return tuple(match[1].lower() for match in found if match)


def _digest(content: object) -> str:
    text = json.dumps(content, sort_keys=True, default=str)
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def read_inputs(spec: Spec) -> Inputs:
    """Read what a spec's locks are made from.

    Raises:
        LockMissing: the spec has no `environment.yml`.
        LockInvalid: one of the files cannot be read or says what a lock cannot hold.
    """
    files = SpecFiles.of(spec)
    if not files.environment.is_file():
        raise LockMissing(
            f"{spec.name}: it has no {files.environment}; write one with channels, dependencies and "
            f"platforms (docs/locks.md), then run: envhub lock {reference(spec)}"
        )
    environment = _environment(spec, files.environment)
    platforms = environment.get("platforms", list(DEFAULT_PLATFORMS))
    return Inputs(
        environment=environment,
        selectors=_selectors(spec, files.environment),
        virtual_packages=_virtual_packages(spec, files.virtual_packages, platforms),
        requirements=read_requirements(spec, files.requirements),
    )


def _environment(spec: Spec, file: Path) -> dict[str, Any]:
    content = _yaml(spec, file, file)
    if not isinstance(content, dict):
        raise _invalid(spec, file, "must have the keys channels, dependencies and platforms")
    for key in ("channels", "dependencies", "platforms"):
        if key not in content and key == "platforms":
            continue
        if not isinstance(content.get(key), list) or not content[key]:
            raise _invalid(spec, file, f"{key!r} must be a list with something in it")
    for item in content["dependencies"]:
        if isinstance(item, dict) and "pip" in item:
            raise _invalid(
                spec, file, f"has a pip section; its packages belong in requirements.in beside {file.name}"
            )
        if not isinstance(item, str):
            raise _invalid(spec, file, f"dependency {item!r} is not of the form `name version`")
    if "python" not in _conda_names(content["dependencies"]):
        raise _invalid(spec, file, "asks for no python; add a line such as `- python 3.11.*` to dependencies")
    return content


def _selectors(spec: Spec, file: Path) -> tuple[tuple[str, str], ...]:
    """Find the lines that hold for some platforms only, and refuse those that would hold for none."""
    matches = (_SELECTOR.match(line) for line in _text(spec, file).splitlines())
    found = tuple((match[1], match[2]) for match in matches if match)
    for line, selector in found:
        if selector not in _SELECTORS:
            raise _invalid(
                spec, file, f"{line!r} would be left out: [{selector}] in its comment is read as a platform"
            )
    return found


def _virtual_packages(spec: Spec, file: Path, platforms: list[str]) -> dict[str, dict[str, str]]:
    content = _yaml(spec, file, file if file.is_file() else DEFAULT_VIRTUAL_PACKAGES)
    try:
        found = {name: dict(subdir["packages"]) for name, subdir in content["subdirs"].items()}
    except (AttributeError, KeyError, TypeError, ValueError):
        raise _invalid(
            spec, file, "must have the form subdirs: PLATFORM: packages: __NAME: VERSION"
        ) from None
    for platform, packages in found.items():
        for name, version in packages.items():
            if not isinstance(version, str):  # 2.30 without quotes is 2.3
                raise _invalid(
                    spec, file, f'{name} of {platform} must have its version in quotes, as in {name}: "2.28"'
                )
    for platform in platforms:
        if platform not in PLATFORMS:
            raise _invalid(
                spec, file.with_name("environment.yml"), f"{platform!r} is none of {', '.join(PLATFORMS)}"
            )
        if platform not in found:
            raise _invalid(
                spec,
                file,
                f"says nothing about {platform}, which environment.yml locks for; it has {', '.join(found)}",
            )
    return found


def read_requirements(spec: Spec, file: Path) -> tuple[Requirement, ...] | None:
    """Read `requirements.in`: requirements, one a line, and no addresses, options or other files.

    Returns:
        They, or None where the file is missing.

    Raises:
        LockInvalid: the file cannot be read or says something else, of which no lock could tell.
    """
    if not file.is_file():
        return None
    requirements = []
    for number, line in enumerate(_text(spec, file).splitlines(), start=1):
        bare = re.sub(r"(^|\s)#.*", "", line).strip()
        if not bare:
            continue
        try:
            requirement = Requirement(bare)
        except InvalidRequirement:
            raise _invalid(
                spec,
                file,
                f"line {number}: {bare!r} is no requirement; write one a line, as in `numpy>=1.26`",
            ) from None
        if requirement.url:
            raise _invalid(
                spec,
                file,
                f"line {number}: {bare!r} names an address; a lock holds names, versions and hashes only",
            )
        requirement.name = canonicalize_name(requirement.name)
        requirements.append(requirement)
    return tuple(requirements)


def _yaml(spec: Spec, file: Path, source: Path | str) -> Any:
    try:
        return load_yaml(source)
    except (OSError, ValueError) as reason:
        raise _invalid(spec, file, f"cannot be read: {reason}") from reason


def _text(spec: Spec, file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as reason:
        raise _invalid(spec, file, f"cannot be read: {reason}") from reason


def _invalid(spec: Spec, file: Path, complaint: str) -> LockInvalid:
    return LockInvalid(f"{spec.name}: {file}: {complaint}; then run: envhub lock {reference(spec)}")
