"""What a sandbox is made of, and what its calls answer."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

AUTO = ("namespaces", "bwrap")
"""What "auto" tries: our own namespaces need no program and start faster; bubblewrap's are the same walls."""
BACKENDS = ("auto", *AUTO, "none")


class SandboxError(Exception):
    """This sandbox is broken or gone: close it and start another."""


class NotAtRest(SandboxError):
    """This sandbox can't be saved as it is: there is more in it than files and a shell at its prompt."""


class Refused(SandboxError):
    """No safe sandbox can be made here, or a setting makes no sense; the message says why and what to do."""


@dataclass(frozen=True)
class Settings:
    """A sandbox's root and limits.

    Attributes:
        rootfs: The folder of a root file system, shared read-only by all sandboxes. None: host mode, the
            programs of this machine (`/usr`, the world-readable part of `/etc`) and nothing else of it.
        backend: "namespaces" (of our own making), "bwrap" (of bubblewrap's making); "none" is no sandbox at
            all and needs `i_know`; "auto" is the first of `AUTO` that works here, or a refusal.
        i_know: Said by someone who wants "none" on a machine that may be destroyed.
        memory_mb: Memory of all processes and files together (control group), or of each process (rlimit).
        disk_mb: Space for files; it lies in memory and counts there too.
        inodes: Files and directories that can be made.
        pids: Processes and threads at one time.
        open_files: Open files of each process.
        cpus: Processor time per second, in processors. Needs a control group.
        hostname: The name of the machine inside.
        cwd: Where the shell starts and `exec` runs.
    """

    rootfs: Path | None = None
    backend: str = "auto"
    i_know: bool = False
    memory_mb: int = 512
    disk_mb: int = 128
    inodes: int = 50_000
    pids: int = 256
    open_files: int = 1 << 18
    cpus: float = 1.0
    hostname: str = "envhub"
    cwd: str = "/root"

    def check(self) -> None:
        """Makes sure that a sandbox can be made with these settings.

        Raises:
            Refused: One of them makes no sense.
        """
        if self.backend not in BACKENDS:
            raise Refused(f"sandbox backend {self.backend!r}: choose one of {', '.join(BACKENDS)}")
        if self.backend == "none" and (not self.i_know or self.rootfs):
            raise Refused(
                'sandbox "none" gives the agent this machine itself, as the user that runs the hub: only on '
                "a machine that may be destroyed, without a root file system (rootfs=host), and when you say "
                "that you know (i_know)"
            )
        for name in ("memory_mb", "disk_mb", "inodes", "pids", "open_files", "cpus"):
            if getattr(self, name) <= 0:
                raise Refused(f"{name} is {getattr(self, name)}: it must be more than 0")
        if self.rootfs is not None and not (self.rootfs / "bin" / "bash").exists():
            raise Refused(f"{self.rootfs} is no root file system: it has no /bin/bash")


@dataclass(frozen=True)
class Result:
    """What a command in the shell did.

    Attributes:
        output: What the terminal showed, stdout and stderr in order, without escape sequences and prompts.
        exit_code: The shell's `$?` after it; None when it was interrupted, or when the program in front is
            not bash (`su` to a user of another shell, `python3`) and waits for input.
        timed_out: It was interrupted.
        truncated: More came than `limit_bytes`; the first so many are in `output`.
        new_shell: The shell exited or had to be killed, and a new one was started.
    """

    output: str
    exit_code: int | None
    timed_out: bool = False
    truncated: bool = False
    new_shell: bool = False


@dataclass(frozen=True)
class Completed:
    """What a process of `exec` did.

    Attributes:
        exit_code: Its exit code, minus the number of the signal that ended it, or None when its time was up.
        stdout: What it wrote, at most `limit_bytes`.
        stderr: The same for its errors.
    """

    exit_code: int | None
    stdout: bytes
    stderr: bytes
