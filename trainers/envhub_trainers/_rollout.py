"""One episode of a language model in an environment, token by token.

Invariants:

- `Rollout.ids` is, at every call of the engine, exactly what the engine is given; what it returns is appended
  as it is. The ids trained on are the ids sampled.
- Only what was sampled lies in `Rollout.ranges`; the log-probabilities are the engine's there and 0.0
  elsewhere.
- The last id is a sampled one: an observation that no answer follows is not appended.
- A reward is only ever one that the environment gave. Where the hub or the engine fails, `Episode.run`
  raises, and what was played up to there is in `Episode.rollout`.

Nothing here knows a trainer or an inference engine: an engine is any object with `generate`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from envhub_sdk import AsyncEnv, BodyTooLarge, InvalidAction
from envhub_trainers._actions import Form, FormatError, fit
from envhub_trainers._chat import Chat
from envhub_trainers._prompts import Prompt, View, answers_allowed

__all__ = [
    "Agent",
    "Engine",
    "EngineFailed",
    "Episode",
    "Generation",
    "Limits",
    "OutOfTime",
    "Rollout",
    "Start",
    "Turn",
]

T = TypeVar("T")

SHORTEST_ANSWER = 1
"""Room, in tokens, below which a model is not asked any more."""


@dataclass(frozen=True, slots=True)
class Generation:
    """What an engine sampled."""

    ids: list[int]
    log_probs: list[float] | None
    """One an id; None where the engine was not to give any."""
    ended: bool
    """Whether the model ended it; False where it was cut at `max_tokens`."""


class Engine(Protocol):
    """Samples from a language model."""

    async def generate(self, ids: list[int], max_tokens: int) -> Generation:
        """Continue `ids` by at most `max_tokens`."""


class EngineFailed(Exception):
    """The engine raised, or its answer can't be used."""

    code = "engine_failed"


class OutOfTime(Exception):
    """The episode's time was over while the environment was to answer."""

    code = "deadline"


@dataclass(frozen=True, slots=True)
class Limits:
    """Where an episode ends at the latest, as truncated."""

    max_tokens: int
    """Of the whole conversation: the model's context."""
    max_turns: int
    """Answers of the model, with those that could not be used; the environment may allow fewer."""
    max_turn_tokens: int | None = None
    """Of one answer; None: whatever the context has room for."""


@dataclass(frozen=True, slots=True)
class Agent:
    """What makes a language model an agent."""

    chat: Chat
    prompt: Prompt
    form: Form
    limits: Limits


@dataclass(frozen=True, slots=True)
class Start:
    """What an episode is about: a task, or what the environment draws from a seed."""

    task: Any = None
    split: str | None = None
    seed: int | None = None


@dataclass(slots=True)
class Turn:
    """An answer of the model and what came of it."""

    message: str
    """What it was told."""
    start: int
    """Where the answer lies: `ids[start:end]`."""
    end: int
    text: str
    """The answer, decoded."""
    action: Any = None
    problem: str | None = None
    """Why the answer could not be used: it has no action in the right form, or the environment refused."""
    well_formed: bool = False
    """Whether it holds an action in the right form."""
    reward: float = 0.0
    """The environment's, for this turn."""
    info: Mapping[str, Any] = field(default_factory=dict)
    """The environment's, after this turn."""

    @property
    def invalid(self) -> bool:
        """Whether the answer named no action that does anything."""
        in_vain = self.info.get("valid_action") is False or bool(self.info.get("reason"))
        return self.problem is not None or in_vain


@dataclass(slots=True)
class Rollout:
    """An episode as a model played it."""

    task: Any = None
    seed: int | None = None
    session: str | None = None
    """The hub's id of the session, in whose record the episode is too."""
    ids: list[int] = field(default_factory=list)
    log_probs: list[float] | None = None
    turns: list[Turn] = field(default_factory=list)
    final: Any = None
    """The last observation."""
    terminated: bool = False
    truncated_by: str | None = None
    """"environment", "turns", "context" or "time"."""
    env_s: float = 0.0
    """Seconds until the environment's answers were there, the reset's included."""
    engine_s: float = 0.0
    """Seconds spent waiting for the engine."""

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """Where the sampled ids lie."""
        return [(turn.start, turn.end) for turn in self.turns]

    @property
    def episode_return(self) -> float:
        """Sum of the environment's rewards."""
        return sum(turn.reward for turn in self.turns)

    @property
    def success(self) -> bool:
        """What the last info says; if nothing, whether it terminated with a return of 1 or more."""
        said = self.turns[-1].info.get("success") if self.turns else None
        return said if isinstance(said, bool) else self.terminated and self.episode_return >= 1.0


class Episode:
    """Plays one episode: `begin`, then `run`.

    Args:
        env: The environment, in a session of its own.
        agent: How the model is talked to.
        engine: What samples.
        start: What to play.
    """

    def __init__(self, env: AsyncEnv, agent: Agent, engine: Engine, start: Start) -> None:
        self.rollout = Rollout(task=start.task, seed=start.seed)
        self._start = start
        self._env = env
        self._agent = agent
        self._engine = engine
        self._max_turns = answers_allowed(env.env_info, agent.limits.max_turns) or agent.limits.max_turns
        self._ends_at: float | None = None
        self._info: Mapping[str, Any] = {}
        self._before: Any = None

    async def begin(self) -> None:
        """Wait for a replica and reset it.

        Raises:
            EnvHubError: The hub or the environment failed.
        """
        into, start = self.rollout, self._start
        options = {"task": start.task, "split": start.split}
        given = {name: value for name, value in options.items() if value is not None}
        into.final, self._info = await self._timed(lambda: self._env.reset(seed=start.seed, options=given))
        into.session, into.seed = self._env.session_id, self._env.episode_seed
        into.task = self._info.get("task", into.task)

    async def run(self, ends_at: float | None = None) -> None:
        """Play to the end what has begun.

        Args:
            ends_at: When its time is over, on the clock of the running event loop.

        Raises:
            EnvHubError: The hub or the environment failed.
            EngineFailed: The engine did.
            OutOfTime: The environment did not answer in time.
        """
        self._ends_at = ends_at
        message = self._agent.prompt.message(self._view(None))
        system = self._agent.prompt.system(self._env.env_info, self._agent.form)
        self.rollout.ids = self._agent.chat.opening(system, message)
        while True:
            sampled = await self._answer()
            if sampled is None:
                return
            turn = self._append(message, sampled)
            await self._act(turn)
            if self._over():
                return
            message = self._agent.prompt.message(self._view(turn.problem))
            between = self._agent.chat.between(sampled.ids, ended=sampled.ended, message=message)
            if len(self.rollout.ids) + len(between) + SHORTEST_ANSWER > self._agent.limits.max_tokens:
                self.rollout.truncated_by = "context"
                return
            self._pad(between)

    # -- the environment ----------------------------------------------------------------------------

    async def _act(self, turn: Turn) -> None:
        """Take the action that the answer names, if it names one."""
        try:
            turn.action = fit(self._agent.form.parse(turn.text), self._env.action_space)
            turn.well_formed = True
        except FormatError as error:
            turn.problem = str(error)
            return
        try:
            await self._step(turn)
        except (InvalidAction, BodyTooLarge) as refusal:
            turn.problem = refusal.message

    async def _step(self, turn: Turn) -> None:
        into = self.rollout
        try:
            async with asyncio.timeout_at(self._ends_at):
                observation, reward, terminated, truncated, info = await self._timed(
                    lambda: self._env.step(turn.action)
                )
        except TimeoutError as error:
            raise OutOfTime("the episode's time was over before the environment's step was") from error
        self._before, into.final, self._info = into.final, observation, info
        turn.reward, turn.info, into.terminated = reward, info, terminated
        if truncated and not terminated:
            into.truncated_by = "environment"

    async def _timed(self, ask: Callable[[], Awaitable[T]]) -> T:
        """Wait for the environment, and add up how long its answer took.

        In a task of its own, whose clock stops when the answer is there: answers come many at a time, and
        what the other episodes compute before this one goes on is no time of the environment.
        """

        async def waiting() -> T:
            began = time.perf_counter()
            try:
                return await ask()
            finally:
                self.rollout.env_s += time.perf_counter() - began

        return await asyncio.create_task(waiting())

    # -- the model ----------------------------------------------------------------------------------

    async def _answer(self) -> Generation | None:
        """Have the model answer; None where the time was over before it had."""
        limits, into = self._agent.limits, self.rollout
        room = limits.max_tokens - len(into.ids)
        if room < SHORTEST_ANSWER:
            into.truncated_by = "context"
            return None
        if limits.max_turn_tokens is not None:
            room = min(room, limits.max_turn_tokens)
        began = time.perf_counter()
        timer = asyncio.timeout_at(self._ends_at)
        try:
            async with timer:
                sampled = await self._engine.generate(list(into.ids), room)
        except Exception as error:
            if timer.expired():
                into.truncated_by = "time"
                return None
            raise EngineFailed(f"{type(error).__name__}: {error}") from error
        finally:
            into.engine_s += time.perf_counter() - began
        _check(sampled, room)
        return sampled

    def _append(self, message: str, sampled: Generation) -> Turn:
        into = self.rollout
        start = len(into.ids)
        if sampled.log_probs is not None:
            if into.log_probs is None:
                into.log_probs = [0.0] * start
            into.log_probs += sampled.log_probs
        into.ids += sampled.ids
        turn = Turn(message, start, len(into.ids), self._agent.chat.text(sampled.ids), info=self._info)
        into.turns.append(turn)
        return turn

    def _pad(self, ids: Sequence[int]) -> None:
        self.rollout.ids += ids
        if self.rollout.log_probs is not None:
            self.rollout.log_probs += [0.0] * len(ids)

    def _over(self) -> bool:
        into = self.rollout
        if into.terminated or into.truncated_by:
            return True
        if len(into.turns) >= self._max_turns:
            into.truncated_by = "turns"
        return into.truncated_by is not None

    def _view(self, problem: str | None) -> View:
        turns = len(self.rollout.turns)
        return View(self.rollout.final, self._info, turns, self._max_turns - turns, problem, self._before)


def _check(sampled: Generation, most: int) -> None:
    """Refuse what no trainer can use.

    Raises:
        EngineFailed: Nothing was sampled, or more than asked for, or not one log-probability an id.
    """
    count = len(sampled.ids)
    if not 0 < count <= most:
        raise EngineFailed(f"the engine sampled {count} tokens when asked for 1 to {most}")
    if sampled.log_probs is not None and len(sampled.log_probs) != count:
        raise EngineFailed(f"the engine gave {len(sampled.log_probs)} log-probabilities for {count} tokens")
