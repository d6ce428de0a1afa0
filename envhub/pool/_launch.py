"""How a template's process is started: which interpreter, which arguments, which environment variables."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from envhub.spec import Runtime, runtime_variables

WORKER_MAIN = Path(__file__).resolve().parent.parent / "worker"
# One process a core is the parallelism; native thread pools inside each would only fight over cores.
SINGLE_THREADED = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


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
    given = {**dict.fromkeys(SINGLE_THREADED, "1"), **ours}
    return {**runtime_variables(runtime, given), "PYTHONUNBUFFERED": "1"}
