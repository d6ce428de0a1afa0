"""Does the hub's own interpreter satisfy a spec? Answered from what is installed, without importing it."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib import metadata
from typing import TYPE_CHECKING

from envhub.build._files import SpecFiles
from envhub.build._lock import INTERPRETER
from envhub.spec import Spec, python_suits

if TYPE_CHECKING:
    from packaging.requirements import Requirement


def host_lacks(spec: Spec) -> list[str]:
    """Say what a spec asks for and the hub's own interpreter does not have; nothing when it has all.

    Looked at are `requires_python`, the packages of `requirements.in`, and the conda packages that
    `environment.yml` asks for: of those only Python and its installers can be on the host.

    Raises:
        LockInvalid: One of the files can't be read.
    """
    lacks = []
    if not python_suits(spec.requires_python):
        lacks.append(f"Python {spec.requires_python} (here it is {platform.python_version()})")
    if spec.path is None:
        return lacks
    from envhub.build._inputs import read_inputs, read_requirements

    files = SpecFiles(spec.path)
    if files.environment.is_file():
        inputs = read_inputs(spec)
        lacks += [f"{name} (a conda package)" for name in inputs.conda_names if name not in INTERPRETER]
        lacks += _missing(inputs.requirements or ())
    else:
        lacks += _missing(read_requirements(spec, files.requirements) or ())
    return lacks


def _missing(requirements: tuple[Requirement, ...]) -> Iterator[str]:
    for requirement in requirements:
        if requirement.marker is not None and not requirement.marker.evaluate():
            continue
        try:
            version = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            yield f"{requirement} (not installed)"
            continue
        if not requirement.specifier.contains(version, prereleases=True):
            yield f"{requirement} (installed is {version})"
