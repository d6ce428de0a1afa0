"""Machines: whether they can be had, and making one ready for a task: files, scripts, what is typed."""

from __future__ import annotations

import functools
import io
import tarfile

from envhub_os.errors import InvalidOptions, SetupFailed
from envhub_os.judge import Deadline, run_script
from envhub_os.sandbox import Completed, Refused, Sandbox, Settings
from envhub_os.task import File, Script, Task

EPOCH = 1_709_251_200
"""The beginning of 1 March 2024 in Unix seconds: files are as old as their `days_old` says, from here."""

_DAY = 86_400
_SHOWN = 400

_ONE_USER = (
    "; these machines have a single user id, so tasks with other accounts fail: install uidmap, and give the "
    "hub's user a range in /etc/subuid and /etc/subgid"
)


@functools.cache
def probe(settings: Settings, programs: tuple[str, ...], pid: int) -> str:
    """Make a machine, once in a process, so that who can't have a good one is told before a reset.

    Args:
        settings: What it is to be made of.
        programs: Those it must have.
        pid: This process, so that a fork makes one of its own.

    Returns:
        What is to be known of it, as the end of a sentence; mostly nothing.

    Raises:
        InvalidOptions: It lacks programs, or no safe one can be made.
    """
    missing = "for name; do command -v $name > /dev/null || echo $name; done"
    try:
        sandbox = Sandbox.start(settings)
    except Refused as error:
        raise InvalidOptions(str(error)) from error
    with sandbox:
        found = sandbox.exec(["sh", "-c", missing, "sh", *programs]).stdout.decode().split()
        ids = sum(int(line.split()[2]) for line in sandbox.read("/proc/self/uid_map").splitlines())
    if found:
        raise InvalidOptions(
            f"the machines have no {', '.join(found)}, which the tasks need: install them on this machine, "
            "build a root file system that has them (envhub build os), or set rootfs to one"
        )
    return _ONE_USER if ids == 1 else ""


def prepare(sandbox: Sandbox, task: Task, seed: int, timeout_s: float) -> None:
    """Make a machine ready.

    Bash scripts that draw from $RANDOM draw the same for the same seed.

    Args:
        sandbox: A machine just started.
        task: What for.
        seed: Of $RANDOM.
        timeout_s: For all of it.

    Raises:
        SetupFailed: A part of it failed.
    """
    setup, deadline = task.setup, Deadline(timeout_s)
    if setup.files:
        done = sandbox.exec(
            ["tar", "-xpf", "-", "-C", "/"], stdin=_archive(setup.files), timeout_s=deadline.left_s
        )
        _require(task, "laying down its files", done)
    for number, script in enumerate(setup.scripts, 1):
        done = run_script(sandbox, _seeded(script, seed), (), deadline.left_s)
        _require(task, f"its script {number}", done)
    if setup.start is not None:
        started = sandbox.run(setup.start, timeout_s=deadline.left_s, limit_bytes=_SHOWN)
        if started.timed_out:  # otherwise what comes of it does not matter, as published
            raise SetupFailed(f"the machine of task {task.id} could not be made ready: its start never ended")
    sandbox.seal()


def _seeded(script: Script, seed: int) -> Script:
    return Script(f"RANDOM={seed % 32768}; {script.code}") if script.language == "bash" else script


def _require(task: Task, part: str, done: Completed) -> None:
    if done.exit_code != 0:
        how = "took too long" if done.exit_code is None else f"ended with status {done.exit_code}"
        words = (done.stderr or done.stdout).decode("utf-8", "replace").strip()[-_SHOWN:]
        raise SetupFailed(f"the machine of task {task.id} could not be made ready: {part} {how}: {words}")


def _archive(files: tuple[File, ...]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for file in files:
            content = (file.content or "").encode()
            entry = tarfile.TarInfo(file.path.lstrip("/"))
            entry.mode, entry.mtime = file.mode, int(EPOCH - file.days_old * _DAY)
            entry.uid, entry.gid = file.owner
            if file.target is not None:
                entry.type, entry.linkname = tarfile.SYMTYPE, file.target
            elif file.content is None:
                entry.type = tarfile.DIRTYPE
            else:
                entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue()
