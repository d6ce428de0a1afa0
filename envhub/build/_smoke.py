"""Trying what was built: can the spec's entry point be imported in it, as workers will?"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from envhub.build._built import Built
from envhub.build._errors import InstallFailed, SmokeFailed
from envhub.spec import Runtime, Spec, runtime_variables

LIMIT_S = 60.0
"""How long an import may take, unless the spec's own limit for loading is longer."""
_TRIAL = """
import importlib, platform, sys
print(platform.python_version(), flush=True)
sys.path.insert(0, sys.argv[1])
getattr(importlib.import_module(sys.argv[2]), sys.argv[3])
"""


def runs(built: Built) -> bool:
    """Whether the interpreter of an environment starts and ends as it should."""
    runtime = Runtime("conda" if built.kind == "conda" else "venv", built.python, built.digest)
    try:
        done = subprocess.run(
            [str(built.python), "-I", "-S", "-B", "-c", ""],
            env=runtime_variables(runtime, os.environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=LIMIT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def smoke_test(spec: Spec, folder: Path, runtime: Runtime, scratch: Path, fd: int) -> str:
    """Import a spec's entry point in a runtime.

    Args:
        spec: The spec.
        folder: Its folder.
        runtime: What was built.
        scratch: An empty place to run it in.
        fd: The lock that everything which writes to the prefix holds.

    Returns:
        The version of the interpreter.

    Raises:
        SmokeFailed: It cannot be imported, or not in time.
        InstallFailed: The interpreter does not run.
    """
    module, _, attribute = spec.entry_point.partition(":")
    limit = max(LIMIT_S, spec.limits.load_timeout_s)
    try:
        done = subprocess.run(
            [str(runtime.python), "-I", "-B", "-c", _TRIAL, str(folder), module, attribute],
            cwd=scratch,
            env=runtime_variables(runtime, os.environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=limit,
            pass_fds=[fd],
        )
    except subprocess.TimeoutExpired:
        raise SmokeFailed(
            f"{spec.name}: importing {spec.entry_point} in the built environment took longer than {limit:g} s"
        ) from None
    except OSError as error:
        raise InstallFailed(f"{spec.name}: the installed {runtime.python} does not run: {error}") from error
    if done.returncode:
        raise SmokeFailed(
            f"{spec.name}: {spec.entry_point} cannot be imported in the built environment:\n"
            f"{done.stderr[-3000:].strip()}\n"
            "What it imports belongs in environment.yml or requirements.in"
        )
    return done.stdout.splitlines()[0]
