"""How a template's process is started: which interpreter, which arguments, which environment variables."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from envhub.spec import Runtime

WORKER_MAIN = Path(__file__).resolve().parent.parent / "worker"
HUB_TOKEN = "ENVHUB_TOKEN"
"""The hub's secret in its own environment variables; none of an environment's business."""
# One process a core is the parallelism; native thread pools inside each would only fight over cores.
SINGLE_THREADED = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_HUBS_OWN = ("PYTHON", "CONDA_", "_CE_", "MAMBA_", "VIRTUAL_ENV")
"""How the names begin of variables that tell an interpreter, or a tool, where the hub's packages are."""


def command(runtime: Runtime, control_fd: int) -> list[str]:
    """The command that starts a template.

    An isolated interpreter sees what is installed in its prefix and nothing else (`-I`): no user site, no
    folder that a variable names. The hub's own sees what the hub sees.
    """
    flags = ["-I"] if runtime.isolated else []
    return [str(runtime.python), "-u", *flags, str(WORKER_MAIN), str(control_fd)]


def variables(runtime: Runtime, ours: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment variables of a template.

    Args:
        runtime: What it runs in.
        ours: The hub's variables.
    """
    given = {**dict.fromkeys(SINGLE_THREADED, "1"), **ours, "PYTHONUNBUFFERED": "1"}
    given.pop(HUB_TOKEN, None)
    if not runtime.isolated:
        return given
    home = runtime.python.parent.parent
    cleaned = {name: value for name, value in given.items() if not name.startswith(_HUBS_OWN)}
    if "LD_LIBRARY_PATH" in ours:
        cleaned["LD_LIBRARY_PATH"] = os.pathsep.join(_not_the_hubs(ours["LD_LIBRARY_PATH"], ours))
    return {
        **cleaned,
        "PATH": os.pathsep.join([str(home / "bin"), *_not_the_hubs(ours.get("PATH", os.defpath), ours)]),
        "CONDA_PREFIX" if runtime.isolation == "conda" else "VIRTUAL_ENV": str(home),
        "PYTHONNOUSERSITE": "1",  # for interpreters that the environment starts
        "PYTHONUNBUFFERED": "1",
    }


def _not_the_hubs(path: str, ours: Mapping[str, str]) -> list[str]:
    """Return the folders of a search path that lie in no conda or virtual environment of the hub's."""
    hubs = [ours[name] for name in ("CONDA_PREFIX", "VIRTUAL_ENV") if ours.get(name)]
    if sys.prefix != sys.base_prefix:
        hubs.append(sys.prefix)
    return [folder for folder in path.split(os.pathsep) if not any(_within(folder, hub) for hub in hubs)]


def _within(folder: str, hub: str) -> bool:
    return os.path.normpath(folder).startswith(os.path.normpath(hub) + os.sep)
