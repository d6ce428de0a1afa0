"""Running policies: one episode here and now, or many at once."""

from __future__ import annotations

import asyncio
import inspect
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium

from envhub_sdk._env import Env
from envhub_sdk._exceptions import Busy
from envhub_sdk._session import Task
from envhub_sdk._trajectory import Recorder, Trajectory, digest_of
from envhub_sdk._wire import EnvInfo

if TYPE_CHECKING:
    from envhub_sdk._async_env import AsyncEnv

__all__ = ["rollout"]

Policy = Callable[[Any, dict[str, Any]], Any]
"""`(observation, info) -> action`."""
AsyncPolicy = Callable[[Any, dict[str, Any]], Awaitable[Any]]
PolicyMaker = Callable[[], Policy | AsyncPolicy]
Progress = Callable[[int, int, Trajectory], None]


def rollout(
    env: gymnasium.Env[Any, Any],
    policy: Policy,
    *,
    seed: int | None = None,
    options: dict[str, Any] | None = None,
    max_steps: int | None = None,
) -> Trajectory:
    """Play one episode.

    Args:
        env: An environment of a hub, wrapped or not, or any other Gymnasium environment.
        policy: `(observation, info) -> action`.
        seed: Seed of the episode.
        options: Options of the reset.
        max_steps: Cut the episode after so many steps, as truncated.

    Returns:
        The episode.

    Raises:
        EnvHubError: The hub or the environment failed. (`AsyncHub.collect` records that instead.)
    """
    inner = env.unwrapped
    remote = inner if isinstance(inner, Env) else None
    name = inner.spec.id if inner.spec is not None else type(inner).__name__
    record = Recorder(Trajectory(name) if remote is None else blank(remote.env_info))
    observation, info = env.reset(seed=seed, options=options)
    if remote is None:
        record.started(observation, info, None, seed)
    else:
        record.started(observation, info, remote.task, remote.episode_seed)
    while True:
        action = policy(observation, info)
        record.decided()
        observation, reward, terminated, truncated, info = env.step(action)
        transition = (observation, float(reward), terminated, truncated, info)
        if record.stepped(action, transition, max_steps):
            return record.trajectory


def blank(served: EnvInfo) -> Trajectory:
    """An empty trajectory of a served environment."""
    return Trajectory(served.name, served.version, digest_of(served.data), served.lock_digest)


class Collector:
    """Plays many episodes on some sessions at once.

    Episodes are handed out in order; a worker that finishes one takes the next. A worker the hub has no
    replica for hands its episode back and leaves; the last one gives up for all.

    Args:
        make: Makes an environment for one worker.
        policies: Gives the policy of an episode.
        starts: Seed and options of each episode's reset.
        max_steps: Cut episodes after so many steps.
        progress: Called after each episode: how many are done, of how many, and the episode.
    """

    def __init__(
        self,
        make: Callable[[], AsyncEnv],
        policies: PolicyMaker,
        starts: list[tuple[int | None, dict[str, Any]]],
        max_steps: int | None,
        progress: Progress | None,
    ) -> None:
        self._make = make
        self._policies = policies
        self._starts = starts
        self._max_steps = max_steps
        self._progress = progress
        self._todo = deque(range(len(starts)))
        self._done: dict[int, Trajectory] = {}
        self._workers = 0  # that still take episodes

    async def run(self, concurrency: int) -> list[Trajectory]:
        """Play all episodes, at most `concurrency` at a time; return them in order."""
        async with asyncio.TaskGroup() as group:
            for _ in range(min(concurrency, len(self._starts))):
                group.create_task(self._work())
        return [self._done[i] for i in range(len(self._starts))]

    async def _work(self) -> None:
        async with self._make() as env:
            self._workers += 1
            try:
                while self._todo:
                    index = self._todo.popleft()
                    record = self._record(env, index)
                    try:
                        await self._play(env, self._starts[index], record)
                    except Busy as error:
                        self._todo.appendleft(index)
                        if self._workers == 1:
                            self._give_up(env, error)
                        return
                    self._finish(index, record.trajectory)
            finally:
                self._workers -= 1

    async def _play(self, env: AsyncEnv, start: tuple[int | None, dict[str, Any]], record: Recorder) -> None:
        """Play an episode.

        Raises:
            Busy: The hub has no replica for it; nothing is recorded.
        """
        seed, options = start
        try:
            policy = self._policies()
            observation, info = await env.reset(seed=seed, options=options)
            record.started(observation, info, env.task, env.episode_seed)
            ended = False
            while not ended:
                action = policy(observation, info)
                if inspect.isawaitable(action):
                    action = await action
                record.decided()
                transition = await env.step(action)
                observation, *_, info = transition
                ended = record.stepped(action, transition, self._max_steps)
        except Exception as error:
            if isinstance(error, Busy) and not record.trajectory.observations:
                raise
            record.failed(error)

    def _give_up(self, env: AsyncEnv, error: Busy) -> None:
        """Nobody has a session and the hub has none to give: the rest ends with that error."""
        while self._todo:
            index = self._todo.popleft()
            record = self._record(env, index)
            record.failed(error)
            self._finish(index, record.trajectory)

    def _record(self, env: AsyncEnv, index: int) -> Recorder:
        trajectory = blank(env.env_info)
        trajectory.seed, options = self._starts[index]
        trajectory.task = options.get("task")
        return Recorder(trajectory)

    def _finish(self, index: int, trajectory: Trajectory) -> None:
        self._done[index] = trajectory
        if self._progress is not None:
            self._progress(len(self._done), len(self._starts), trajectory)


def starts_of(
    episodes: int | None, tasks: Sequence[Task] | None, seed: int | None, options: dict[str, Any] | None
) -> list[tuple[int | None, dict[str, Any]]]:
    """Seed and options of each episode: one a task, or so many; episode i has `seed + i`.

    Raises:
        ValueError: Neither or both of `episodes` and `tasks` are given.
    """
    if (episodes is None) == (tasks is None):
        raise ValueError("give either episodes=N or tasks=[…], not both")
    common = dict(options or {})
    chosen = [common] * (episodes or 0) if tasks is None else [{**common, "task": task} for task in tasks]
    return [(None if seed is None else seed + i, start) for i, start in enumerate(chosen)]
