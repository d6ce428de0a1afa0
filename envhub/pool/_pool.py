"""All workers of one spec on this machine.

Invariants:
- A replica is free, leased, or on a worker that is down; never two of these.
- Waiting callers are served in the order in which they came, each whole: all its replicas or none.
- A worker that is busy with one operation for longer than the operation's limit plus a grace is killed;
  the worker itself interrupts environments at the limit, so this happens only to native hangs.
- A dead worker is started again: at once after its first quick deaths, ever later while it keeps dying.
- A worker is replaced, by plan, only when nobody on it would lose anything.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import math
import os
from collections import Counter, deque
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from envhub.pool._care import WorkerCare
from envhub.pool._death import Death
from envhub.pool._errors import LoadFailed, NoFreeReplica, QueueFull
from envhub.pool._keeper import Keeper
from envhub.pool._replica import Replica
from envhub.pool._template import Template
from envhub.pool._worker import FREE_DEATHS, HEALTHY_S, Worker
from envhub.spec import ServedSpec, check_data, counted
from envhub.worker import frames
from envhub.worker.times import Times

log = logging.getLogger("envhub.pool")

FIRST_BACKOFF_S = 0.3
MAX_BACKOFF_S = 5.0
STOP_GRACE_S = 0.7
RETIRE_S = 5.0
"""How long requests under way may hold up the replacement of their worker; then they are sent again."""
RETIRE_LOOK_S = 0.005


@dataclass(frozen=True)
class PoolStatus:
    """How a pool is doing."""

    total: int
    free: int
    leased: int
    queued: int
    workers: int
    ready_workers: int
    moving_workers: int
    """Those that are being replaced by plan just now."""
    restarts: int
    failure: str | None
    """Why a worker can't be started or keeps dying, while that lasts."""

    @property
    def ready(self) -> bool:
        """Whether every replica is there and no worker is in a crash loop."""
        up = self.ready_workers + self.moving_workers
        return 0 < self.workers == up and self.failure is None


@dataclass
class _Waiter:
    count: int
    future: asyncio.Future[list[Replica]]


class Pool:
    """The workers and replicas of one spec.

    Args:
        served: The spec and its settings.
        replicas: How many environments live at once.
        workers: How many processes host them, never more than replicas; default one a core, or more where the
            spec says how many replicas may share one.
        max_queue: How many callers may wait for a replica.
        care: How much a worker may hold, and when it is replaced.
    """

    def __init__(
        self,
        served: ServedSpec,
        replicas: int,
        workers: int | None = None,
        max_queue: int = 1024,
        care: WorkerCare | None = None,
    ) -> None:
        if replicas < 1:
            raise ValueError(f"{served.spec.name}: {counted(replicas, 'replica')}; at least 1 is needed")
        self.served = served
        self.described = asyncio.Event()
        """Set when `description` is there, or never will be."""
        self.description: dict[str, Any] = {}
        """What the environment says of itself: spaces, splits, data (see `envhub.worker.host`)."""
        shared = served.spec.replicas_per_worker or replicas
        count = min(replicas, workers or max(len(os.sched_getaffinity(0)), math.ceil(replicas / shared)))
        self.step_times = Times()
        """How long steps took from the hub's point of view: in line, on the way, in the environment."""
        self.environment_times = Times()
        """How long they took inside their environments, as of the workers' last reports."""
        self.deaths: Counter[str] = Counter()
        """Ends of worker processes after their start, by kind (see `Death`)."""
        self._workers = [
            Worker(number, len(range(number, replicas, count)), self.step_times, self._worker_lost)
            for number in range(count)
        ]
        self._keeper = Keeper(
            served.spec.name,
            self._workers,
            served.limits,
            care or WorkerCare(),
            self._retire,
            self.environment_times.include,
        )
        self._max_queue = max_queue
        self._free: dict[Worker, list[Replica]] = {worker: [] for worker in self._workers}
        self._waiters: deque[_Waiter] = deque()
        self._template_of: dict[int, Template] = {}
        self._templates: list[Template] = []
        """Every template started so far whose workers may still live."""
        self._template_lock = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        self.replays = 0
        """Episodes that were brought to another worker."""
        self.divergences = 0
        """Replays that differed from the record."""
        self.repeats = 0
        """Steps asked for again, which were answered without being executed again."""
        self._restarts = 0
        self._failure: str | None = None
        self._stopping = False

    # -- life ---------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Loads the environment, starts every worker and asks the environment to describe itself.

        Raises:
            LoadFailed: The environment can't be loaded or built; nothing is left running.
            DataInvalid: Its data is not what its spec declares.
        """
        self._spawn(self._keeper.watch())
        self._spawn(self._keeper.weigh())
        try:
            await asyncio.to_thread(check_data, self.served.spec)
            await asyncio.gather(*(self._spawn(self._start_worker(worker)) for worker in self._workers))
            code, payload = await self._workers[0].channel.call(frames.DESCRIBE, 0)
            described = json.loads(payload)
            if code >= frames.FIRST_ERROR:
                raise LoadFailed(f"{self.served.spec.name}: {described['message']}")
        except BaseException as failure:
            self._failure = str(failure)
            await self.stop()
            raise
        self.description = described
        self.described.set()

    async def stop(self) -> None:
        """Ends every process of the pool; environments get a moment to close."""
        self.described.set()
        self._stopping = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.turn_away("the pool is stopping")
        for worker in self._workers:
            worker.close()
        for template in self._templates:
            template.release()
        await asyncio.gather(*(template.wait(STOP_GRACE_S) for template in self._templates))
        for template in self._templates:
            template.kill()
        for worker in self._workers:
            worker.kill()
        await asyncio.gather(*(template.cleanup() for template in self._templates))

    def _spawn(self, coroutine: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Starts a task that `stop` will end."""
        task = asyncio.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _start_worker(self, worker: Worker) -> None:
        if self.served.spec.fork:
            async with self._template_lock:
                template = self._template_of.get(0)
                if template is None or not template.listening:
                    template = await self._start_template(0)
        else:
            template = await self._start_template(worker.number)
        await worker.start(template, self.served.spec.fork)
        self._free[worker] = [replica for replica in worker.replicas if not replica.leased]
        for replica in worker.replicas:
            if replica.on_back is not None:
                replica.on_back()
        worker.suspects.open()
        self._serve_waiters()

    async def _start_template(self, number: int) -> Template:
        """Starts the one template, or the one process of a worker that can't be forked."""
        template = Template(self.served, self._template_lost)
        self._template_of[number] = template
        self._templates = [known for known in self._templates if not known.finished]
        self._templates.append(template)
        await template.start()
        return template

    # -- supervision --------------------------------------------------------------------------------

    def _template_lost(self) -> None:
        if not self._stopping and self.served.spec.fork:
            log.warning("%s: the template process is gone; a new one starts", self.served.spec.name)
            self._spawn(self._revive_template())

    async def _revive_template(self) -> None:
        async with self._template_lock:
            if not self._template_of[0].listening:
                with contextlib.suppress(
                    LoadFailed, OSError
                ):  # the next worker that needs it reports the failure
                    await self._start_template(0)

    def _worker_lost(self, worker: Worker) -> None:
        self._free[worker] = []
        if self._stopping:
            self._tell_lost(worker)
        else:
            self._spawn(self._replace(worker))

    async def _replace(self, worker: Worker) -> None:
        """Learns how a worker died, tells its leaseholders, and starts it again."""
        death = await worker.learn_death()
        self.deaths[death.kind] += 1
        lived = asyncio.get_running_loop().time() - worker.started_at
        worker.quick_deaths = worker.quick_deaths + 1 if lived < HEALTHY_S else 0
        log.warning(
            "%s: worker %d %s; it is started again",
            self.served.spec.name,
            worker.number,
            death.words,
            extra=worker.about,
        )
        self._tell_lost(worker)
        worker.failure = f"worker {worker.number} died {worker.quick_deaths} times in a row; it {death.words}"
        await self._revive(worker)

    def _tell_lost(self, worker: Worker) -> None:
        for replica in worker.replicas:
            if replica.on_lost is not None:
                replica.on_lost()

    async def _revive(self, worker: Worker) -> None:
        """Starts a worker again: at once at first, ever more slowly while it keeps dying."""
        while True:
            if worker.quick_deaths > FREE_DEATHS:
                doublings = min(worker.quick_deaths - FREE_DEATHS - 1, 10)
                await asyncio.sleep(min(FIRST_BACKOFF_S * 2**doublings, MAX_BACKOFF_S))
            self._restarts += 1
            try:
                await self._start_worker(worker)
                return
            except (LoadFailed, OSError) as failure:  # OSError: no more descriptors, memory or processes
                worker.failure, worker.moving = str(failure), False
                self.deaths["not_started"] += 1
                worker.quick_deaths += 1
                log.error(
                    "%s: worker %d can't start: %s",
                    self.served.spec.name,
                    worker.number,
                    failure,
                    extra=worker.about,
                )

    def _retire(self, worker: Worker, death: Death) -> bool:
        """Has a worker that is well replaced, if that costs nobody anything and no other one is just now."""
        busy = any(other.moving for other in self._workers)
        if busy or not worker.ready or any(replica.fixed for replica in worker.replicas):
            return False
        worker.moving = True
        self._spawn(self._move(worker, death))
        return True

    async def _move(self, worker: Worker, death: Death) -> None:
        """Replaces a worker: leaseholders ask nothing more, what is under way ends, the next one starts."""
        loop, name = asyncio.get_running_loop(), self.served.spec.name
        try:
            self._free[worker] = []
            worker.ready, worker.death = False, death
            self._tell_lost(worker)
            deadline = loop.time() + RETIRE_S
            while worker.channel.oldest() is not None and loop.time() < deadline:
                await asyncio.sleep(RETIRE_LOOK_S)
            log.info("%s: worker %d %s", name, worker.number, death.words, extra=worker.about)
            self.deaths[death.kind] += 1
            self._spawn(worker.retire()(STOP_GRACE_S))
            worker.quick_deaths, worker.failure = 0, None
            await self._revive(worker)
        finally:
            worker.moving = False

    # -- leases -------------------------------------------------------------------------------------

    async def acquire(self, count: int, wait_s: float) -> list[Replica]:
        """Leases `count` replicas, all or none, waiting in line for at most `wait_s` seconds.

        Raises:
            NoFreeReplica: They did not come free in time, or there are not that many at all.
            QueueFull: Too many callers wait already.
        """
        name, total = self.served.spec.name, self.status().total
        if count > total:
            has = counted(total, "replica")
            raise NoFreeReplica(f"{name} has {has} in all; {count} were asked for at once")
        if not self._waiters and (taken := self._take(count)):
            return taken
        if wait_s <= 0:
            wanted = counted(count, "free replica")
            raise NoFreeReplica(f"{wanted} of {name} could not be had: it has {total} in all")
        if len(self._waiters) >= self._max_queue:
            waiting = counted(len(self._waiters), "caller")
            raise QueueFull(f"the queue for replicas of {name} has {waiting} already")
        waiter = _Waiter(count, asyncio.get_running_loop().create_future())
        self._waiters.append(waiter)
        try:
            await asyncio.wait([waiter.future], timeout=wait_s)
        except asyncio.CancelledError:
            if waiter.future.done() and waiter.future.exception() is None:  # they came as the caller left
                for replica in waiter.future.result():
                    self.release(replica)
            raise
        finally:
            in_time = not waiter.future.cancel()
            with contextlib.suppress(ValueError):
                self._waiters.remove(waiter)
            self._serve_waiters()
        if not in_time:
            raise NoFreeReplica(f"{counted(count, 'replica')} of {name} did not come free in {wait_s:g} s")
        return waiter.future.result()

    def release(self, replica: Replica) -> None:
        """Gives a leased replica back."""
        replica.leased, replica.on_lost, replica.on_back, replica.may_move = False, None, None, None
        if replica.worker.ready:
            self._free[replica.worker].append(replica)
            self._serve_waiters()

    def turn_away(self, reason: str) -> None:
        """Tells everybody who waits for replicas that none will come."""
        for waiter in self._waiters:
            if not waiter.future.done():
                waiter.future.set_exception(NoFreeReplica(reason))

    def _take(self, count: int) -> list[Replica]:
        """Takes free replicas, each from the worker that has most; none when they don't suffice."""
        if sum(map(len, self._free.values())) < count:
            return []
        taken = [max(self._free.values(), key=len).pop(0) for _ in range(count)]
        for replica in taken:
            replica.leased = True
        return taken

    def _serve_waiters(self) -> None:
        while self._waiters:
            waiter = self._waiters[0]
            if not waiter.future.done():
                taken = self._take(waiter.count)
                if not taken:
                    return
                waiter.future.set_result(taken)
            self._waiters.popleft()

    # -- looking ------------------------------------------------------------------------------------

    def status(self) -> PoolStatus:
        """How the pool is doing now."""
        return PoolStatus(
            total=sum(len(worker.replicas) for worker in self._workers),
            free=sum(map(len, self._free.values())),
            leased=sum(replica.leased for worker in self._workers for replica in worker.replicas),
            queued=len(self._waiters),
            workers=len(self._workers),
            ready_workers=sum(worker.answering for worker in self._workers),
            moving_workers=sum(worker.moving and not worker.ready for worker in self._workers),
            restarts=self._restarts,
            failure=next((worker.failure for worker in self._workers if worker.sick), self._failure),
        )

    def memory(self) -> dict[int, int]:
        """Bytes that each worker shares with nobody, by number; only of those that were weighed."""
        return {worker.number: worker.memory for worker in self._workers if worker.ready and worker.memory}

    def processes(self) -> list[int]:
        """The process ids of the templates and workers."""
        pids = [template.pid for template in self._templates if template.alive]
        return pids + [worker.pid for worker in self._workers if worker.ready]

    async def any_replica_call(self, operation: int, payload: bytes) -> tuple[int, bytes]:
        """Asks any live worker something that touches no episode (listing tasks).

        Raises:
            NoFreeReplica: No worker is up.
        """
        for worker in self._workers:
            if worker.ready:
                return await worker.channel.call(operation, 0, payload)
        raise NoFreeReplica(f"no worker of {self.served.spec.name} is up")
