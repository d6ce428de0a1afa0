"""Looking after the workers of a pool: whether they answer, how much they hold, when one is replaced.

Every worker that runs is asked now and then whether it is there; the answer also says what it did. One
that hangs, gives no sign of life or holds too much memory is killed. One that has grown or done its share
of episodes is handed to `retire`, which replaces it between two requests.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from envhub.pool._care import MB, WorkerCare, private_bytes
from envhub.pool._death import Death, of_hang
from envhub.pool._worker import Worker
from envhub.spec import Limits, counted
from envhub.worker import frames

log = logging.getLogger("envhub.pool")

WATCH_S = 0.25
KILL_GRACE_S = 2.0
"""How long beyond its limit a worker is waited for. Counted in looks, not by the clock: while the hub or the
whole machine stands still, no look is taken and no worker is to blame."""
PING_S = 1.0
"""How often a worker is asked whether it is there."""
PING_LIMIT_S = 5.0
"""How long it may take to answer when it has nothing else to do; then `KILL_GRACE_S` more, as for all."""
WEIGH_S = 1.0
"""How often workers are weighed; with a memory cap, every `WATCH_S`."""


class Keeper:
    """Watches workers.

    Args:
        env: The name of their spec, for the log.
        workers: Whom to watch.
        limits: How long what may take.
        care: How much a worker may hold, and when it is replaced.
        retire: Replaces a worker that is well; False when that would cost somebody something now.
        heard: Takes how long a worker's steps took: counts by bucket, seconds in all.
    """

    def __init__(
        self,
        env: str,
        workers: list[Worker],
        limits: Limits,
        care: WorkerCare,
        retire: Callable[[Worker, Death], bool],
        heard: Callable[[list[int], float], None],
    ) -> None:
        self._env = env
        self._workers = workers
        self._care = care
        self._retire = retire
        self._heard = heard
        self._reset_limit = limits.reset_timeout_s
        self._allowed = {
            frames.STEP: limits.step_timeout_s,
            frames.REPLAY: limits.step_timeout_s,
            frames.RENDER: limits.step_timeout_s,
            frames.MAKE: limits.load_timeout_s,
            frames.DESCRIBE: limits.load_timeout_s,
            frames.PING: PING_LIMIT_S,
        }

    async def watch(self) -> None:
        """Looks at every worker now and then, for as long as it is let."""
        while True:
            await asyncio.sleep(WATCH_S)
            for worker in self._workers:
                if worker.pid and worker.generation:
                    self._look_at(worker)

    def _look_at(self, worker: Worker) -> None:
        busy = worker.channel.oldest()
        limit = self._reset_limit if busy is None else self._allowed.get(busy[0], self._reset_limit)
        worker.overdue_looks = worker.overdue_looks + 1 if busy is not None and busy[1] > limit else 0
        if busy is not None and worker.overdue_looks * WATCH_S > KILL_GRACE_S:
            worker.channel.hung = True
            self._kill(worker, of_hang(busy[0], limit))
        elif worker.ready:
            worker.ping(PING_S, self._heard)
            episodes = self._care.recycle_episodes
            if episodes is not None and worker.episodes >= episodes:
                played = counted(worker.episodes, "episode")
                self._retire(worker, Death("recycled", f"was replaced after {played}"))

    def _kill(self, worker: Worker, death: Death) -> None:
        log.error("%s: worker %d %s", self._env, worker.number, death.words, extra=worker.about)
        worker.kill(death)

    async def weigh(self) -> None:
        """Weighs every worker now and then, in a thread: it may take a while for a large one."""
        while True:
            await asyncio.sleep(WEIGH_S if self._care.max_mb is None else WATCH_S)
            for worker in self._workers:
                pid = worker.pid
                if worker.ready and (held := await asyncio.to_thread(private_bytes, pid)) is not None:
                    if worker.ready and worker.pid == pid:
                        self._weighed(worker, held)

    def _weighed(self, worker: Worker, held: int) -> None:
        worker.memory = held
        if worker.first_memory is None:
            worker.first_memory = held
        grown, most, growth = held - worker.first_memory, self._care.max_mb, self._care.recycle_growth_mb
        if most is not None and held > most * MB:
            words = f"was killed by the hub: it held {held / MB:.0f} MB of its own and may hold {most:g} MB"
            self._kill(worker, Death("memory", words))
        elif growth is not None and grown > growth * MB:
            self._retire(worker, Death("recycled", f"was replaced after it had grown by {grown / MB:.0f} MB"))
