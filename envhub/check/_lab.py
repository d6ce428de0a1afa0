"""The processes a check run plays in, and the episodes everything is compared with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from envhub.check._player import CannotAct, Episode, Player, Refused
from envhub.check._result import Fault, NotTried
from envhub.pool import LoadFailed, Pool, Replica
from envhub.spec import ServedSpec
from envhub_sdk import spaces

TRACEBACK = "Traceback (most recent call last):"
EPISODES = 5
STEPS = 40
PAIRS = 9
"""Workers: one for the episodes to compare with, and those that the checks ask `Lab.fresh` for."""


class Lab:
    """Real workers of one spec.

    Each check that plays gets a worker no other check has used, with two replicas, so that what one check
    finds broken can't disturb the next. The episodes to compare with are played in the first worker.

    Args:
        served: The spec and its settings.
    """

    def __init__(self, served: ServedSpec) -> None:
        self.served = served
        self.description: dict[str, Any] = {}
        self.action_space: Any = None
        self.episodes: list[Episode] = []
        self.failure: Refused | None = None
        """What ended the play of the episodes to compare with, if something did."""
        self._pools: list[Pool] = []
        self._pairs: Iterator[tuple[Player, Player]] = iter(())

    async def start(self) -> None:
        """Start the workers and play the episodes.

        Raises:
            Fault: the environment cannot be loaded or built.
            NotTried: there is no way to find actions for it.
        """
        pool = await self.pool(PAIRS)
        self.description = pool.description
        self.action_space = self._space("action_space")
        by_worker: dict[int, list[Replica]] = {}
        for replica in await pool.acquire(2 * PAIRS, 0):
            by_worker.setdefault(replica.worker.number, []).append(replica)
        self._pairs = iter([(Player(one), Player(two)) for one, two in by_worker.values()])
        player, _ = self.fresh()
        try:
            self.episodes = await self.play(player)
        except Refused as failure:
            self.failure = failure

    @property
    def longest(self) -> Episode:
        """The longest of the episodes to compare with: it tells most."""
        return max(self.episodes, key=lambda episode: len(episode.actions))

    async def play(self, player: Player) -> list[Episode]:
        """Play the episodes to compare with, or the same ones again elsewhere.

        Raises:
            Refused: the environment failed.
            NotTried: there is no way to find actions for it.
        """
        try:
            return [await player.play(seed, self.action_space, STEPS) for seed in range(EPISODES)]
        except CannotAct:
            raise NotTried(
                "there are no actions to try: no action space and no info['available_actions']",
                "declare [action] space, or put a list of actions into info['available_actions']",
            ) from None

    async def pool(self, workers: int) -> Pool:
        """Start a pool with two replicas a worker, in processes of its own.

        Raises:
            Fault: the environment cannot be loaded or built.
        """
        pool = Pool(self.served, replicas=2 * workers, workers=workers)
        try:
            await pool.start()
        except LoadFailed as failure:
            reason, head, trace = str(failure).partition(TRACEBACK)
            next_step = "make the entry point importable and its class buildable"
            raise Fault(reason.rstrip(), next_step, head + trace) from None
        self._pools.append(pool)
        return pool

    def fresh(self) -> tuple[Player, Player]:
        """Return two replicas of one worker in which nothing was played yet."""
        pair = next(self._pairs, None)
        if pair is None:
            raise RuntimeError(f"the checks need more than {PAIRS} workers: raise PAIRS")
        return pair

    def observation_space(self) -> Any:
        """Return the observation space, or None where there is none."""
        return self._space("observation_space")

    async def stop(self) -> None:
        """End every process."""
        for pool in self._pools:
            await pool.stop()

    def _space(self, which: str) -> Any:
        described = self.description[which]
        try:
            return None if described is None else spaces.from_json(described)
        except ValueError as reason:
            raise Fault(f"{which}: {reason}", "declare a space that Gymnasium knows") from None
