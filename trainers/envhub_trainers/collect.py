"""Playing many episodes of a policy through a hub, into a run's folder.

Invariants:
- Each job is one episode; it is kept once, however often the run is killed and gone on with.
- An infrastructure fault is never an episode: the job is played again on a fresh session, after the others,
  up to `retries` times; then it is lost for now. A run that is gone on with tries again what was lost.
- A run ends when its hub is gone for longer than the SDK waits for it, or too many episodes are lost.
- At most `concurrency` sessions are open, and never more than the hub has replicas.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from envhub_sdk import AsyncEnv, AsyncHub, Busy, ConnectFailed, EnvHubError, EnvInfo, TransportError
from envhub_trainers._playing import Faulted, Job, Stopped, facts_of, play
from envhub_trainers._policies import Player
from envhub_trainers._runs import Episode, Facts, Fault, Run, RunInvalid, WritableRun, check_same

__all__ = ["Collected", "Episode", "Facts", "Plan", "Player", "Run", "RunInvalid", "Stopped", "collect"]

REPEAT_SEEDS = 1_000_003
"""Seeds of one task's episodes are so far apart."""

Progress = Callable[["Collected", Episode | None], None]
"""Called after each episode, and with None after each fault."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be played.

    Attributes:
        split: Split whose tasks are played; None: `usual_split` where there is one, else the first that
            is not empty.
        offset: How many of its tasks to leave out.
        limit: How many tasks to play; None: all. Of an environment that lists no tasks, how many episodes.
        repeats: How many episodes of each task.
        seed: Of the first task's first episode; the next task has `seed + 1`.
        max_steps: Cut episodes after so many steps; None: only the environment's own limit holds.
        concurrency: How many episodes at a time.
        retries: How often an episode that a fault ended is played again.
        max_lost: The run stops when more episodes than this are lost to faults.
        wait_s: Seconds to wait for a free replica.
    """

    split: str | None = None
    usual_split: str | None = None
    offset: int = 0
    limit: int | None = None
    repeats: int = 1
    seed: int = 0
    max_steps: int | None = None
    concurrency: int = 16
    retries: int = 2
    max_lost: int = 20
    wait_s: float = 30.0


@dataclass(slots=True)
class Collected:
    """How far a run is."""

    total: int = 0
    """Its episodes."""
    done: int = 0
    """Those that are kept, of this call and of earlier ones."""
    played: int = 0
    """Those that were played by this call."""
    successes: int = 0
    """Of those."""
    lost: int = 0
    """Episodes that ended in faults for as often as they were tried."""
    faults: Counter[str] = field(default_factory=Counter)
    """Tries of this call that faults ended, by code."""
    last_fault: str | None = None


async def collect(
    hub: AsyncHub,
    served: EnvInfo,
    plan: Plan,
    player: Player,
    folder: Path,
    progress: Progress | None = None,
) -> Collected:
    """Play what is planned and is not in the folder yet.

    Args:
        hub: Where.
        served: What the hub says of the environment.
        plan: What.
        player: By whom.
        folder: Where the run is kept.
        progress: Called after each episode and each fault.

    Returns:
        How far the run is. Episodes that are neither done nor lost were not played: too many were lost, or
        the hub is gone.

    Raises:
        RunInvalid: The folder has another run, or another process plays it.
        Stopped: The run can't be played: no such split, no replica, a policy that nobody answers for.
        EnvHubError: The hub can't be asked for its tasks.
        OSError: The folder can't be written to.
    """
    jobs = await _jobs(hub, served, plan)
    run = WritableRun(folder, _facts(served, plan, player))
    try:
        await _close_leftovers(hub, run)
        playing = _Playing(hub, served, plan, player, run, progress)
        await playing.all(jobs)
        return playing.collected
    finally:
        run.close()


class _Playing:
    def __init__(
        self,
        hub: AsyncHub,
        served: EnvInfo,
        plan: Plan,
        player: Player,
        run: WritableRun,
        progress: Progress | None,
    ) -> None:
        self.collected = Collected()
        self._hub = hub
        self._served = served
        self._plan = plan
        self._player = player
        self._run = run
        self._progress = progress or (lambda collected, episode: None)
        self._todo: deque[tuple[Job, int]] = deque()
        self._workers = 0  # that still take jobs
        self._hub_gone = False

    async def all(self, jobs: list[Job]) -> None:
        """Play the jobs that are not done."""
        self._todo.extend((job, 1) for job in jobs if job.number not in self._run.done)
        self.collected.total = len(jobs)
        self.collected.done = len(jobs) - len(self._todo)
        workers = min(self._plan.concurrency, len(self._todo), max(1, self._served.replicas["total"]))
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(workers):
                    group.create_task(self._work())
            if not self._hub_gone:
                await self._check_environment()
        except* (Stopped, OSError) as several:
            raise several.exceptions[0] from None

    async def _work(self) -> None:
        self._workers += 1
        env = await self._environment()
        try:
            while self._todo and self.collected.lost <= self._plan.max_lost and not self._hub_gone:
                job, attempt = self._todo.popleft()
                try:
                    self._keep(await self._play(env, job, attempt))
                except Busy as error:
                    self._todo.appendleft((job, attempt))
                    if self._workers == 1:
                        raise Stopped(f"{error.code}: {error}") from error
                    return  # the others go on with the replicas they have
                except Faulted as fault:
                    self._note(fault, job, attempt)
                    if not self._hub_gone:
                        await env.close()
                        await self._check_environment()
                        env = await self._environment()
        finally:
            self._workers -= 1
            await env.close()

    async def _environment(self) -> AsyncEnv:
        labels = {"run": self._run.facts.id, "policy": str(self._player.facts.get("name", ""))[:100]}
        return await self._hub.make(self._served, wait_s=self._plan.wait_s, labels=labels)

    async def _check_environment(self) -> None:
        """See to it that a hub that was away has come back with the same environment.

        Raises:
            Stopped: It has another one.
        """
        try:
            now = await self._hub.env(self._served.name)
            check_same(self._run.folder, self._run.facts, _facts(now, self._plan, self._player))
        except (TransportError, Busy):
            return  # it is away: the next episode will tell
        except (EnvHubError, RunInvalid) as difference:
            raise Stopped(f"the hub has come back with another environment: {difference}") from None

    async def _play(self, env: AsyncEnv, job: Job, attempt: int) -> Episode:
        policy = self._player.make(job.seed)
        return await play(env, policy, job, attempt, self._plan.max_steps)

    def _keep(self, episode: Episode) -> None:
        self._run.add(episode)
        self.collected.done += 1
        self.collected.played += 1
        self.collected.successes += episode.success
        self._progress(self.collected, episode)

    def _note(self, fault: Faulted, job: Job, attempt: int) -> None:
        self._run.add_fault(
            Fault(
                job=job.number,
                attempt=attempt,
                code=fault.code,
                message=str(fault),
                step=fault.step,
                time=time.time(),
            )
        )
        self.collected.faults[fault.code] += 1
        self.collected.last_fault = f"{fault.code}: {fault}"
        self._hub_gone |= fault.code == ConnectFailed.code  # for longer than the SDK waits for it
        if attempt <= self._plan.retries:
            self._todo.append((job, attempt + 1))
        else:
            self.collected.lost += 1
        self._progress(self.collected, None)


async def _close_leftovers(hub: AsyncHub, run: WritableRun) -> None:
    """Give back what a killed process of this run left open: nobody else plays it now."""
    left = [one.id for one in await hub.sessions() if one.labels.get("run") == run.facts.id]
    for session in left:
        with contextlib.suppress(EnvHubError):
            await hub.end_session(session)


def _facts(served: EnvInfo, plan: Plan, player: Player) -> Facts:
    return Facts(
        **facts_of(served),
        split=_split(served, plan),
        offset=plan.offset,
        repeats=plan.repeats,
        seed=plan.seed,
        max_steps=plan.max_steps,
        policy=dict(player.facts),
    )


def _split(served: EnvInfo, plan: Plan) -> str | None:
    if plan.split is not None and plan.split not in served.splits:
        known = ", ".join(served.splits) or "none"
        raise Stopped(f"{served.name} has no split {plan.split!r}; there are: {known}")
    if plan.split is None and plan.usual_split in served.splits:
        return plan.usual_split
    if plan.split is not None:
        return plan.split
    filled = (split for split, about in served.splits.items() if about["tasks"] != 0)
    return next(filled, next(iter(served.splits), None))


async def _jobs(hub: AsyncHub, served: EnvInfo, plan: Plan) -> list[Job]:
    split = _split(served, plan)
    if split is not None and served.splits[split]["tasks"] is not None:
        tasks: list[dict[str, Any] | None] = []
        async for task in hub.iter_tasks(served.name, split, plan.offset):
            if len(tasks) == plan.limit:
                break
            tasks.append(task)
        if not tasks:
            raise Stopped(f"{served.name} has no task in {split} from number {plan.offset} on")
        options: dict[str, Any] = {}
    elif plan.limit is None:
        raise Stopped(f"{served.name} lists no tasks: say with --limit how many episodes to play")
    else:
        tasks, options = [None] * plan.limit, {} if split is None else {"split": split}
    return [
        Job(
            number=index * plan.repeats + repeat,
            task=task,
            repeat=repeat,
            seed=plan.seed + plan.offset + index + repeat * REPEAT_SEEDS,
            options=options,
        )
        for index, task in enumerate(tasks)
        for repeat in range(plan.repeats)
    ]
