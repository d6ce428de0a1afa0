"""One recorded episode, and its form as one line of an export."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

from envhub.record._events import Isolation, Started, Stepped

Outcome = Literal["terminated", "truncated", "failed", "unfinished", "incomplete"]


class Step(Struct):
    """One transition of a record, its JSON untouched."""

    step_index: int
    observation: Raw
    reward: float
    terminated: bool
    truncated: bool
    info: Raw
    action: Raw = Raw(b"null")
    step_us: int = 0


class _Start(Struct):
    observation: Raw
    info: Raw


class _Success(Struct):
    success: bool | None = None


class _Task(Struct):
    task: Raw = Raw(b"null")


class Exported(Struct, kw_only=True):
    """One line of `envhub trajectories export`: an episode, whole.

    `observations` and `infos` are one longer than `actions` and `rewards`: they begin with the reset's.
    """

    env: str
    env_version: str
    config: dict[str, Any]
    limits: dict[str, int | float]
    isolation: Isolation = "host"
    conda_locked: bool = False
    lock_digest: str | None
    data_digest: str | None
    labels: dict[str, str]
    session: str
    episode: str
    seed: int
    task: Raw
    """The task that was asked for, else the one that the environment named in its first info."""
    asked_task: Raw
    options: Raw
    started_at: float
    """Unix time."""
    reset_s: float
    step_s: list[float]
    inherited: int
    outcome: str
    error: str | None
    total_reward: float
    success: bool
    observations: list[Raw]
    actions: list[Raw]
    rewards: list[float]
    infos: list[Raw]
    terminated: bool
    truncated: bool
    complete: bool = True
    """Whether every step is there: none was dropped while the disk was full."""


_starts = msgspec.json.Decoder(_Start)
_steps = msgspec.json.Decoder(Step)
_successes = msgspec.json.Decoder(_Success)
_tasks = msgspec.json.Decoder(_Task)
_exported = msgspec.json.Decoder(Exported)


class RecordedEpisode:
    """An episode as it was recorded.

    Args:
        started: Its first event.
    """

    def __init__(self, started: Started) -> None:
        self.started = started
        self.steps: list[Step] = []
        self.damaged = False
        """Whether steps of it can't be read."""
        self.in_doubt = False
        """Whether what came last of it may have been dropped, while the disk was full."""
        self.error: tuple[str, str] | None = None
        """Code and message of the failure that ended it."""
        self.ended: str | None = None
        """Why its session ended while it was the current episode."""

    def add(self, event: Stepped) -> None:
        """Takes the next step's event.

        Raises:
            msgspec.MsgspecError: Its answer is none that a hub of this version gives.
        """
        step = _steps.decode(event.answer)
        step.action, step.step_us = event.action, event.step_us
        self.steps.append(step)
        self.in_doubt = False  # if steps are missing before it, its index tells

    def doubt(self) -> None:
        """Events were dropped here: unless the episode is over, some of them may be its own."""
        self.in_doubt = not (self.terminated or self.truncated or self.error)

    @property
    def id(self) -> str:
        """Its name."""
        return self.started.episode

    @property
    def first(self) -> tuple[Raw, Raw]:
        """The observation and the info of its reset."""
        start = _starts.decode(self.started.start)
        return start.observation, start.info

    @property
    def whole(self) -> bool:
        """Whether every step from the reset on is there, up to the last one."""
        if self.damaged or self.in_doubt or len(self.steps) < self.started.inherited:
            return False
        return all(step.step_index == index for index, step in enumerate(self.steps))

    @property
    def total_reward(self) -> float:
        """The sum of its rewards."""
        return sum(step.reward for step in self.steps)

    @property
    def terminated(self) -> bool:
        """Whether its last step terminated it."""
        return bool(self.steps) and self.steps[-1].terminated

    @property
    def truncated(self) -> bool:
        """Whether its last step truncated it."""
        return bool(self.steps) and self.steps[-1].truncated

    @property
    def outcome(self) -> Outcome:
        """How it ended; incomplete if steps of it are missing from the record."""
        if not self.whole:
            return "incomplete"
        if self.error is not None:
            return "failed"
        if self.terminated:
            return "terminated"
        return "truncated" if self.truncated else "unfinished"

    @property
    def finished(self) -> bool:
        """Whether it came to an end and all of it is there: it wasn't left for another and doesn't go on."""
        return self.outcome not in ("unfinished", "incomplete")

    @property
    def success(self) -> bool:
        """`success` of its last info; without that, whether it terminated with a return of 1 or more."""
        if not self.steps:
            return False
        try:
            said = _successes.decode(self.steps[-1].info).success
        except msgspec.MsgspecError:
            said = None
        return said if said is not None else self.terminated and self.total_reward >= 1.0

    @property
    def task(self) -> Any:
        """The task that was asked for, or the one the environment named in its first info."""
        return msgspec.json.decode(self._task())

    @property
    def task_id(self) -> str | None:
        """The id of the task."""
        return _text(self.task, "id")

    @property
    def split(self) -> str | None:
        """The split that was asked for, or that of the task."""
        return _text(self.task, "split") or _text(msgspec.json.decode(self.started.options), "split")

    def _task(self) -> Raw:
        if bytes(self.started.task) != b"null":
            return self.started.task
        try:
            return _tasks.decode(self.first[1]).task
        except msgspec.MsgspecError:  # an info that is no object
            return self.started.task

    def export(self) -> Exported:
        """The episode as one line of an export."""
        started, (observation, info) = self.started, self.first
        return Exported(
            env=started.env,
            env_version=started.env_version,
            config=started.config,
            limits=started.limits,
            isolation=started.isolation,
            conda_locked=started.conda_locked,
            lock_digest=started.lock_digest,
            data_digest=started.data_digest,
            labels=started.labels,
            session=started.session,
            episode=started.episode,
            seed=started.seed,
            task=self._task(),
            asked_task=started.task,
            options=started.options,
            started_at=started.time_us / 1e6,
            reset_s=started.reset_us / 1e6,
            step_s=[step.step_us / 1e6 for step in self.steps],
            inherited=started.inherited,
            outcome=self.outcome,
            error=None if self.error is None else f"{self.error[0]}: {self.error[1]}",
            total_reward=self.total_reward,
            success=self.success,
            observations=[observation, *(step.observation for step in self.steps)],
            actions=[step.action for step in self.steps],
            rewards=[step.reward for step in self.steps],
            infos=[info, *(step.info for step in self.steps)],
            terminated=self.terminated,
            truncated=self.truncated,
            complete=self.whole,
        )


def read_exported(file: Path) -> Iterator[RecordedEpisode]:
    """Reads an export in JSON lines.

    Raises:
        ValueError: A line is no exported episode.
    """
    with file.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            try:
                yield read_line(line)
            except (msgspec.MsgspecError, RecursionError) as reason:
                raise ValueError(f"{file}, line {number}: not an exported episode: {reason}") from None


def read_line(line: bytes) -> RecordedEpisode:
    """Reads one line of an export.

    Raises:
        msgspec.MsgspecError: It is no exported episode.
    """
    return _imported(_exported.decode(line))


def _imported(line: Exported) -> RecordedEpisode:
    start = b'{"observation":%b,"info":%b}' % (bytes(line.observations[0]), bytes(line.infos[0]))
    episode = RecordedEpisode(
        Started(
            env=line.env,
            env_version=line.env_version,
            config=line.config,
            limits=line.limits,
            isolation=line.isolation,
            conda_locked=line.conda_locked,
            lock_digest=line.lock_digest,
            data_digest=line.data_digest,
            labels=line.labels,
            session=line.session,
            episode=line.episode,
            seed=line.seed,
            task=line.asked_task,
            options=line.options,
            start=Raw(start),
            time_us=round(line.started_at * 1e6),
            reset_us=round(line.reset_s * 1e6),
            inherited=line.inherited,
        )
    )
    last = len(line.actions) - 1
    for index, action in enumerate(line.actions):
        episode.steps.append(
            Step(
                step_index=index,
                observation=line.observations[index + 1],
                reward=line.rewards[index],
                terminated=line.terminated and index == last,
                truncated=line.truncated and index == last,
                info=line.infos[index + 1],
                action=action,
                step_us=round(line.step_s[index] * 1e6),
            )
        )
    episode.damaged = not line.complete
    if line.outcome == "failed" and line.error is not None:
        code, _, message = line.error.partition(": ")
        episode.error = (code, message)
    return episode


def _text(value: Any, key: str) -> str | None:
    found = value.get(key) if isinstance(value, dict) else None
    return None if found is None else str(found)
