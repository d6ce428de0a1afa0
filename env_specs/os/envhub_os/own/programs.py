"""Programs that run when the agent comes: as bash that starts them."""

from __future__ import annotations

from collections import Counter

from envhub_os.task import File, Script, Setup

QUIET = "< /dev/null > /dev/null 2>&1 &"
"""Makes a command of bash run by itself."""

_START = "/tmp/start"


def sleeper(name: str, before: str = "") -> str:
    """Start a program of this name, `NAME 1000000` by its command line, that does nothing.

    Args:
        name: What it is called.
        before: What its process does before it becomes the program.
    """
    return f"setsid bash -c '{before}exec -a {name} sleep 1000000' {QUIET}"


def running(starts: list[str], names: list[str]) -> str:
    """Start programs, and wait until sleepers of these names run, each as often as it is named."""
    waits = [
        f"until [ $(pgrep -cf '^{name} 1000000') -ge {count} ]; do sleep 0.01; done"
        for name, count in Counter(names).items()
    ]
    return "\n".join([*starts, *waits])


def with_programs(programs: str, files: tuple[File, ...] = (), scripts: tuple[Script, ...] = ()) -> Setup:
    """Return a setup that ends with starting programs from the agent's shell.

    Programs of a setup's scripts may do more than the agent may, which could not look into them.

    Args:
        programs: Bash that starts them and waits until they run.
        files: See `Setup`.
        scripts: See `Setup`.
    """
    return Setup((*files, File(_START, programs, 0o700)), scripts, f"bash {_START}; rm {_START}")
