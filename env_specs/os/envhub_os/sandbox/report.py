"""What a sandbox made on this machine would be, for `envhub doctor` and benchmarks."""

from __future__ import annotations

from dataclasses import dataclass

from . import launcher
from .box import Sandbox
from .settings import SandboxError, Settings

IDS = {
    "root": "a range of 65,536 user ids of its own",
    "subuid": "the range of user ids in /etc/subuid",
    "single": "one user id: no other users inside (install uidmap, give this user a range in /etc/subuid)",
}


@dataclass(frozen=True)
class Report:
    """What holds a sandbox on this machine.

    Attributes:
        backend: What makes it; what "auto" is here.
        problem: Why none can be made, or None.
        ids: Where its user ids come from: "root", "subuid" or "single".
        groups: The version of the control groups, 2 or 1; 0: there are none to be had.
        controllers: What the groups limit: of memory, pids and cpu. What is missing, rlimits limit by process
            (memory, pids) or nothing does (cpu).
    """

    backend: str
    problem: str | None
    ids: str
    groups: int
    controllers: tuple[str, ...]

    def lines(self) -> list[str]:
        """The report in words, a line each."""
        if self.problem:
            return [self.problem]
        missing = sorted({"memory", "pids", "cpu"} - set(self.controllers))
        limits = (
            f"control groups v{self.groups}: {', '.join(self.controllers)}"
            if self.groups
            else "no control groups"
        )
        by_process = f"; by process only, or not at all: {', '.join(missing)}" if missing else ""
        return [f"{self.backend} with {IDS[self.ids]}", limits + by_process]


def report(settings: Settings) -> Report:
    """Makes a sandbox, ends it, and says what held it."""
    problem, backend = None, settings.backend
    try:
        with Sandbox.start(settings) as box:
            backend = box.settings.backend
    except SandboxError as error:
        problem = str(error)
    found = launcher.launcher().ask({})
    return Report(backend, problem, found["ids"], found["groups"], tuple(found["controllers"]))
