"""A run's folder: what was played, each episode, and what was lost to faults.

- `run.json` says what identifies the run (`Facts`); it is written once. A run that is begun again in its
  folder goes on, if it is the same run.
- `episodes.jsonl` has one line an episode: the form of `envhub trajectories export`, and more (`Episode`). A
  line is there whole or it is cut when the run goes on, whatever killed its process.
- `faults.jsonl` has one line for each try that an infrastructure fault ended: never a score.
- One process at a time writes to a folder.
"""

from __future__ import annotations

import fcntl
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec
from msgspec import Struct

FORMAT = 1


class RunInvalid(ValueError):
    """A folder is no run, another run, or in use; the message says what to do."""


class Facts(Struct, kw_only=True):
    """What identifies a run."""

    id: str = ""
    """Random; its sessions on the hub have it as their label `run`."""
    format: int = FORMAT
    env: str
    env_version: str
    config: dict[str, Any]
    limits: dict[str, int | float]
    isolation: str
    conda_locked: bool
    lock_digest: str | None
    data_digest: str | None
    split: str | None
    offset: int
    repeats: int
    seed: int
    max_steps: int | None
    policy: dict[str, Any]


class Result(Struct, kw_only=True):
    """What counts of an episode."""

    env: str
    seed: int
    task: Any
    job: int
    """Its number in the run, from 0: all of the first task, then the second, …"""
    repeat: int
    """Which episode of its task it is, from 0."""
    outcome: str
    """terminated, truncated, unfinished (cut after `max_steps`) or failed (by its policy)."""
    success: bool
    total_reward: float
    rewards: list[float]
    invalid_actions: int
    error: str | None
    """What failed, of one that failed."""

    @property
    def steps(self) -> int:
        """How many steps were taken."""
        return len(self.rewards)

    @property
    def task_id(self) -> str:
        """Its task's id; of an episode without one, its seed."""
        named = self.task.get("id") if isinstance(self.task, dict) else None
        return f"seed-{self.seed}" if named is None else str(named)

    @property
    def id(self) -> str:
        """Its name in conversations, the same whenever the run is played."""
        name = f"{self.env}-{self.task_id}"
        return f"{name}-{self.repeat}" if self.repeat else name


class Episode(Result, kw_only=True):
    """One line of `episodes.jsonl`."""

    env_version: str
    config: dict[str, Any]
    limits: dict[str, int | float]
    isolation: str
    conda_locked: bool
    lock_digest: str | None
    data_digest: str | None
    labels: dict[str, str]
    session: str
    episode: str
    asked_task: Any
    options: dict[str, Any]
    started_at: float
    reset_s: float
    step_s: list[float]
    inherited: int = 0
    observations: list[Any]
    actions: list[Any]
    infos: list[Any]
    terminated: bool
    truncated: bool
    attempts: int
    """How many tries it took; more than 1 after infrastructure faults."""
    replies: list[list[str]]
    """Of each action what the model wrote: the answers that could not be used, then the one that was. Empty
    of a script."""
    problems: list[list[str]]
    """Of each action why answers could not be used, as the model was told."""
    thoughts: list[str | None]
    """Of each action why it was taken, where the policy said so."""
    policy_s: float


class Fault(Struct, kw_only=True):
    """One line of `faults.jsonl`."""

    job: int
    attempt: int
    """From 1."""
    code: str
    message: str
    step: int
    """How many steps had been taken."""
    time: float


class _Job(Struct):
    job: int


T = TypeVar("T")


class Run:
    """A run that was opened for reading.

    Args:
        folder: Where it is.

    Raises:
        RunInvalid: There is none.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            self.facts = msgspec.json.decode((folder / "run.json").read_bytes(), type=Facts)
        except FileNotFoundError:
            raise RunInvalid(f"no run in {folder}: it has no run.json") from None
        except msgspec.MsgspecError as reason:
            raise RunInvalid(f"{folder / 'run.json'} is no run of this version of EnvHub: {reason}") from None

    def episodes(self) -> Iterator[Episode]:
        """Its episodes, whole, in the order of their jobs."""
        return self._each(Episode)

    def results(self) -> Iterator[Result]:
        """What counts of its episodes, in the order of their jobs."""
        return self._each(Result)

    def places(self) -> dict[int, int]:
        """Where in `episodes.jsonl` the line of each job begins: the first, were there several."""
        places: dict[int, int] = {}
        with _opened(self._episodes) as lines:
            at = 0
            for line in lines:
                if line.endswith(b"\n"):
                    places.setdefault(self._decoded(line, _Job).job, at)
                at += len(line)
        return places

    def faults(self) -> list[Fault]:
        """Every try that a fault ended."""
        with _opened(self.folder / "faults.jsonl") as lines:
            return [self._decoded(line, Fault) for line in lines if line.endswith(b"\n")]

    @property
    def _episodes(self) -> Path:
        return self.folder / "episodes.jsonl"

    def _each(self, kind: type[T]) -> Iterator[T]:
        places = self.places()
        with _opened(self._episodes) as lines:
            for job in sorted(places):
                lines.seek(places[job])
                yield self._decoded(lines.readline(), kind)

    def _decoded(self, line: bytes, kind: type[T]) -> T:
        try:
            return msgspec.json.decode(line, type=kind)
        except msgspec.MsgspecError as reason:
            raise RunInvalid(f"a line in {self.folder} can't be read: {reason}") from None


class WritableRun(Run):
    """A run that is being played: begun, or gone on with.

    Args:
        folder: Where it is or will be.
        facts: What identifies it.

    Raises:
        RunInvalid: The folder has another run, or another process writes to it.
    """

    def __init__(self, folder: Path, facts: Facts) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunInvalid(f"can't make the folder {folder}: {error.strerror}") from None
        self._lines = (folder / "episodes.jsonl").open("ab+")
        self._faults = (folder / "faults.jsonl").open("ab+")
        try:
            _lock(self._lines, folder)
            if not (folder / "run.json").exists():
                facts = msgspec.structs.replace(facts, id=secrets.token_hex(8))
                _write_whole(folder / "run.json", msgspec.json.format(msgspec.json.encode(facts)))
            super().__init__(folder)
            check_same(folder, self.facts, facts)
            for file in (self._lines, self._faults):
                _cut_torn_line(file)
            self.done = set(self.places())
        except BaseException:
            self.close()
            raise

    def add(self, episode: Episode) -> None:
        """Keep an episode."""
        self._lines.write(msgspec.json.encode(episode) + b"\n")
        self._lines.flush()
        self.done.add(episode.job)

    def add_fault(self, fault: Fault) -> None:
        """Keep a try that failed."""
        self._faults.write(msgspec.json.encode(fault) + b"\n")
        self._faults.flush()

    def close(self) -> None:
        """Let others write."""
        self._lines.close()
        self._faults.close()


def _opened(file: Path) -> BinaryIO:
    try:
        return file.open("rb")
    except FileNotFoundError:
        raise RunInvalid(f"{file} is missing: this is no run, or not the whole of it") from None


def _lock(file: BinaryIO, folder: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RunInvalid(
            f"another process is playing the run in {folder}: wait, or give another --out"
        ) from None


def check_same(folder: Path, before: Facts, now: Facts) -> None:
    """Refuse to go on with another run.

    Raises:
        RunInvalid: What identifies the two differs.
    """
    old, new = (msgspec.to_builtins(facts) for facts in (before, now))
    for key in old:
        if key != "id" and old[key] != new[key]:
            raise RunInvalid(
                f"{folder} has a run with {key} = {_said(old[key])}; now it would be {_said(new[key])}. Give "
                "another --out for another run"
            )


def _said(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _cut_torn_line(file: BinaryIO) -> None:
    file.seek(0)
    whole = 0
    for line in file:
        if line.endswith(b"\n"):
            whole += len(line)
    file.truncate(whole)


def _write_whole(file: Path, content: bytes) -> None:
    unfinished = file.with_name(file.name + ".part")
    unfinished.write_bytes(content)
    unfinished.replace(file)
