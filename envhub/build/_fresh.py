"""Are the locks of a spec still those of what they were made from? Says so and changes nothing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from envhub.build._errors import LockInvalid, LockMissing, LockStale, WrongPlatform
from envhub.build._files import SpecFiles
from envhub.build._inputs import DEFAULT_VIRTUAL_PACKAGES, Inputs, read_inputs
from envhub.build._lock import MACHINES, read_lock
from envhub.build._yaml import load_yaml
from envhub.spec import Spec, python_suits, reference

NO_CONDA_LOCK = 3
"""The exit status of `_content_hash` when there is no conda-lock."""

_NOTE = re.compile(r"^# ([a-z.]+): (.*)$", re.MULTILINE)
_PINNED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^\]]*\])?==([^\s;\\]+)", re.MULTILINE)
_MARKERS = {
    "linux": {"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
    "osx": {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
}
_MACHINES = {platform: machine for (_, machine), platform in MACHINES.items()}
"""What the environment markers of a requirement mean on a conda platform."""


@dataclass(frozen=True, slots=True)
class Freshness:
    """What a look at a spec's locks found.

    Attributes:
        spec: The name of the spec.
        reasons: Why the locks are stale; nothing when they are fresh.
        notes: What could not be compared, and why.
    """

    spec: str
    reasons: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def fresh(self) -> bool:
        """Whether the locks are what locking anew would be based on."""
        return not self.reasons


def check_fresh(spec: Spec, *, thorough: bool = False) -> Freshness:
    """Compare the locks of a spec with its `environment.yml`, `virtual-packages.yml` and `requirements.in`.

    Args:
        spec: The spec.
        thorough: Whether the locks are also to be read as a build reads them, and conda-lock is to compute
            the hash it keeps in its lock. That takes about a second, and finds locks that no build would
            take and one that somebody else's conda-lock made from other inputs.

    Raises:
        LockMissing: the spec has no `environment.yml`.
        LockInvalid: one of the inputs cannot be read.
    """
    files, inputs = SpecFiles.of(spec), read_inputs(spec)
    missing = [
        file.name
        for file, source in (
            (files.conda_lock, files.environment),
            (files.requirements_lock, files.requirements),
        )
        if source.is_file() and not file.is_file()
    ]
    if missing:
        return Freshness(spec.name, tuple(f"{name} is missing" for name in missing))
    conda = _read_conda_lock(files.conda_lock)
    if conda is None:
        return Freshness(spec.name, ("conda-lock.yml cannot be read as a conda-lock file",))
    reasons = [*_conda_reasons(inputs, conda), *_python_reasons(spec, conda)]
    reasons += _pypi_reasons(inputs, conda, files.requirements_lock)
    notes: list[str] = []
    if thorough and not reasons:
        reasons = _broken_reasons(spec, inputs)
        if not reasons:
            reasons, notes = _compare_content_hash(files, inputs, conda)
    return Freshness(spec.name, tuple(reasons), tuple(notes))


def require_fresh(spec: Spec) -> None:
    """Refuse locks that are older than what they were made from.

    Raises:
        LockMissing: the spec has no `environment.yml`, or no locks.
        LockStale: its inputs have changed since; the message says which.
    """
    found = check_fresh(spec)
    if not found.fresh:
        error = LockMissing if any(reason.endswith(" is missing") for reason in found.reasons) else LockStale
        raise error(
            f"{spec.name}: the locks in {spec.path} are stale: {'; '.join(found.reasons)}; "
            f"run: envhub lock {reference(spec)}"
        )


def locked_python(conda_lock: dict[str, Any]) -> str | None:
    """Return the version of Python that a conda lock has (3.11.14)."""
    versions = [one["version"] for one in conda_lock["package"] if one["name"] == "python"]
    return str(versions[0]) if versions else None


def _read_conda_lock(file: Path) -> dict[str, Any] | None:
    try:
        content = load_yaml(file)
        for package in content["package"]:
            package["name"], package["version"]
        content["metadata"]["content_hash"], content["metadata"]["channels"], content["metadata"]["platforms"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return dict(content)


def _conda_reasons(inputs: Inputs, conda: dict[str, Any]) -> list[str]:
    notes = conda["metadata"].get("custom_metadata") or {}
    if not set(notes) >= set(inputs.conda_digests):
        return ["conda-lock.yml does not say what it was made from: it is not the work of `envhub lock`"]
    reasons = [
        f"{name} has changed since conda-lock.yml was made"
        for name, digest in inputs.conda_digests.items()
        if notes[name] != digest
    ]
    if inputs.selectors:  # what is asked for depends on the platform, as only conda-lock can tell
        return reasons
    locked = {(one.get("platform"), one["name"]) for one in conda["package"]}
    for platform in inputs.platforms:
        names = [name for name in inputs.conda_names if (platform, name) not in locked]
        if names:
            missing = f"environment.yml asks for {', '.join(names)}, not locked in conda-lock.yml"
            reasons.append(missing if len(inputs.platforms) == 1 else f"{missing} for {platform}")
    return reasons


def _python_reasons(spec: Spec, conda: dict[str, Any]) -> list[str]:
    python = locked_python(conda)
    if python is None or python_suits(spec.requires_python, python):
        return []
    return [f"envhub.toml requires Python {spec.requires_python} and conda-lock.yml has {python}"]


def _pypi_reasons(inputs: Inputs, conda: dict[str, Any], file: Path) -> list[str]:
    if inputs.requirements is None:
        return ["requirements.lock is left over: there is no requirements.in"] if file.is_file() else []
    text = file.read_text(encoding="utf-8", errors="replace")
    notes = dict(_NOTE.findall(text))
    if not set(notes) >= {"requirements.in", "python", "platforms"}:
        return ["requirements.lock does not say what it was made from: it is not the work of `envhub lock`"]
    reasons = []
    if notes["requirements.in"] != inputs.requirements_digest:
        reasons.append("requirements.in has changed since requirements.lock was made")
    reasons += _unmet(inputs, dict(_PINNED.findall(text)), notes["python"])
    python = locked_python(conda)
    if python is not None and notes["python"] != python:
        reasons.append(
            f"requirements.lock was made for Python {notes['python']} and conda-lock.yml has {python}"
        )
    if notes["platforms"] != platforms_note(inputs):
        reasons.append(
            f"requirements.lock was made for {notes['platforms']} and this is to be {platforms_note(inputs)}"
        )
    return reasons


def platforms_note(inputs: Inputs) -> str:
    """Return what `requirements.lock` says of its platforms, as in "linux-64 (glibc 2.28)"."""
    return ", ".join(
        f"{name} (glibc {inputs.glibc(name)})" if inputs.glibc(name) else name for name in inputs.platforms
    )


def _unmet(inputs: Inputs, pinned: dict[str, str], python: str) -> list[str]:
    """Say which requirements the locked versions do not meet."""
    locked = {canonicalize_name(name): version for name, version in pinned.items()}
    reasons = []
    for requirement in inputs.requirements or ():
        version = locked.get(canonicalize_name(requirement.name))
        if not _holds(requirement, inputs.platforms[0], python):
            continue
        if version is None:
            reasons.append(f"requirements.in asks for {requirement}, not locked in requirements.lock")
        elif not _allows(requirement, version):
            reasons.append(f"requirements.in asks for {requirement}, and requirements.lock has {version}")
    return reasons


def _holds(requirement: Requirement, platform: str, python: str) -> bool:
    """Tell whether a requirement is asked for on a platform; all that a lock is for need the same."""
    versions = {"python_version": ".".join(python.split(".")[:2]), "python_full_version": python}
    system = _MARKERS[platform.partition("-")[0]]
    machine = {"platform_machine": _MACHINES[platform]}
    return requirement.marker is None or requirement.marker.evaluate({**versions, **system, **machine})


def _allows(requirement: Requirement, version: str) -> bool:
    try:
        return requirement.specifier.contains(version, prereleases=True)
    except InvalidVersion:
        return False


def _broken_reasons(spec: Spec, inputs: Inputs) -> list[str]:
    """Read the locks as a build on each of the platforms does, and say why it would refuse them."""
    try:
        for platform in inputs.platforms:
            read_lock(spec, platform)
    except (LockInvalid, WrongPlatform) as reason:
        return [str(reason)]
    return []


def _compare_content_hash(
    files: SpecFiles, inputs: Inputs, conda: dict[str, Any]
) -> tuple[list[str], list[str]]:
    """Compare the lock's hash with the ones that conda-lock computes, in a process of its own.

    Returns:
        Why the lock is stale, and a note where there is no conda-lock.
    """
    with tempfile.TemporaryDirectory(prefix="envhub-lock-") as folder:
        virtual = files.virtual_packages
        if not virtual.is_file():
            virtual = Path(folder) / "virtual-packages.yml"
            virtual.write_text(DEFAULT_VIRTUAL_PACKAGES, encoding="utf-8")
        asked = {
            "environment": str(files.environment),
            "virtual_packages": str(virtual),
            "platforms": inputs.platforms,
            "channels": [channel["url"] for channel in conda["metadata"]["channels"]],
        }
        done = subprocess.run(
            [sys.executable, "-P", "-m", "envhub.build._content_hash", json.dumps(asked)],
            capture_output=True,
            text=True,
        )
    if done.returncode == NO_CONDA_LOCK:
        return [], ["content_hash was not compared: conda-lock is not installed (it is in the extra build)"]
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it said nothing"])[-1]
        return [f"conda-lock cannot compute the hash of environment.yml: {last}"], []
    allowed: dict[str, list[str]] = json.loads(done.stdout)
    reasons = [
        f"conda-lock.yml was made from something else: conda-lock has another content_hash for {platform}"
        for platform, hashes in allowed.items()
        if conda["metadata"]["content_hash"].get(platform) not in hashes
    ]
    return reasons, []
