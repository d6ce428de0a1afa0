"""Samples for a trainer: an episode played to its end, whatever happens on the way, and what it is worth.

Invariants:

- `Sampler.sample` returns a sample for every label, or stops the run; nothing else leaves it.
- A sample without a reward is masked: it has no sampled ranges, so it has no part in the loss.
- `Sample.logs` has the same names for every sample of a run.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import time
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from envhub_sdk import AsyncEnv
from envhub_trainers import _actions, _prompts
from envhub_trainers._chat import Chat, TemplateRefused, Tokenizer
from envhub_trainers._faults import Faults, RunStopped, code_of
from envhub_trainers._hubs import Hubs, HubsDiffer
from envhub_trainers._records import Records
from envhub_trainers._rewards import Rewards, Worth
from envhub_trainers._rollout import Agent, Engine, Episode, Limits, OutOfTime, Rollout, Start
from envhub_trainers._settings import RolloutSettings

__all__ = ["LabelRefused", "NothingSampled", "Sample", "Sampler", "start_of"]

IDLE_TIMEOUT_S = 120.0
"""How long the sessions of a run that was killed keep their replicas."""

_log = logging.getLogger("envhub_trainers")


class LabelRefused(ValueError):
    """A label of the prompt data set says nothing that an episode can start from."""

    code = "label_refused"


class NothingSampled(Exception):
    """An episode ended before the model had answered once."""

    code = "nothing_sampled"


def start_of(label: str) -> Start:
    """What a label of the prompt data set asks for.

    Args:
        label: JSON: a task as the hub lists it (it has an "id"), or an object with some of "task", "split"
            and "seed". Samples of one label get one seed: where the label has none, one that follows from it.

    Raises:
        LabelRefused: It is neither.
    """
    try:
        found = json.loads(label)
    except ValueError as error:
        raise LabelRefused(f"the label {label!r:.80} is no JSON: {error}") from error
    if not isinstance(found, dict):
        raise LabelRefused(f"the label {label!r:.80} is no JSON object: it has to be a task")
    own_seed = zlib.crc32(label.encode()) >> 1
    if "id" in found:
        return Start(task=found, seed=own_seed)
    if unknown := found.keys() - {"task", "split", "seed"}:
        raise LabelRefused(
            f"the label {label!r:.80} is no task, for want of an id, and has {', '.join(sorted(unknown))} "
            "beside task, split and seed"
        )
    return Start(found.get("task"), found.get("split"), found.get("seed", own_seed))


@dataclass(slots=True)
class Sample:
    """An episode for a trainer."""

    rollout: Rollout
    """Whole, or as far as it got."""
    reward: float | None
    """None: masked."""
    parts: Mapping[str, Worth] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    """What went wrong, by code."""
    seconds: float = 0.0
    """From when the sample was asked for to when it was done."""
    waited_s: float = 0.0
    """Of these, those spent waiting for a replica."""

    @property
    def masked(self) -> bool:
        """Whether it has no part in the loss."""
        return self.reward is None

    def logs(self, parts: list[str]) -> dict[str, float]:
        """Numbers for the trainer's logs, where each is averaged over the samples.

        Args:
            parts: Names of the parts of the reward; a masked sample has none of them, and 0 in their place.
        """
        rollout = self.rollout
        played = not self.masked
        turns = len(rollout.turns)
        lived = self.seconds - self.waited_s
        return {
            "success": float(played and rollout.success),
            "env_return": rollout.episode_return if played else 0.0,
            "turns": float(turns),
            "sampled_tokens": float(sum(turn.end - turn.start for turn in rollout.turns)),
            "invalid_actions": float(sum(turn.invalid for turn in rollout.turns)),
            "format_errors": float(sum(not turn.well_formed for turn in rollout.turns)),
            "truncated_by_limit": float(rollout.truncated_by in ("turns", "context", "time")),
            "masked": float(self.masked),
            "faults": float(len(self.faults)),
            "env_wait_s": rollout.env_s,
            "env_wait_share": rollout.env_s / lived if lived > 0.0 else 0.0,
            "episode_s": self.seconds,
            "replica_wait_s": self.waited_s,
            "engine_wait_s": rollout.engine_s,
            **{f"reward_{name}": self.parts[name].total if name in self.parts else 0.0 for name in parts},
        }


class Sampler:
    """Plays the episodes of a run; use it in one event loop.

    Args:
        settings: How.

    Raises:
        HookNotFound: A prompt, a parser or a reward that the settings name isn't there.
    """

    def __init__(self, settings: RolloutSettings) -> None:
        self.faults = Faults(settings.max_masked_share, settings.masked_window)
        self.rewards = Rewards(settings.reward)
        self.hubs = Hubs(
            settings.hubs, settings.env, token=settings.token, patience_s=settings.hub_patience_s
        )
        self._settings = settings
        self._prompt = _prompts.prompt(settings.prompt, settings.env)
        named = settings.actions if settings.actions != "auto" else _prompts.usual_form(settings.env)
        self._form = _actions.form(named)
        self._records = Records(Path(settings.records)) if settings.records else None

    def chat(self, tokenizer: Tokenizer) -> Chat:
        """The chat of the model whose tokenizer it is.

        Raises:
            RunStopped: Its template can't be used.
        """
        template = self._settings.chat_template
        try:
            return Chat(tokenizer, Path(template).read_text() if template else None)
        except (TemplateRefused, OSError) as error:
            raise RunStopped(f"the model can't be talked to: {error}") from error

    async def sample(self, label: str, engine: Engine, chat: Chat, max_tokens: int) -> Sample:
        """Play an episode.

        Args:
            label: What about, see `start_of`.
            engine: What samples.
            chat: The model's.
            max_tokens: Of the whole conversation.

        Raises:
            RunStopped: It makes no sense to go on.
        """
        asked = time.monotonic()
        limits = Limits(max_tokens, self._settings.max_turns, self._settings.max_turn_tokens)
        play = _Play(self, self._settings, Agent(chat, self._prompt, self._form, limits), engine, asked)
        sample = await play.run(label)
        sample.seconds = time.monotonic() - asked
        self._record(sample, play.hub)
        self.faults.finished(masked=sample.masked)
        return sample

    def _record(self, sample: Sample, hub: str | None) -> None:
        if self._records is None:
            return
        try:
            self._records.add(
                sample.rollout, hub=hub, reward=sample.reward, parts=sample.parts, faults=sample.faults
            )
        except Exception:  # a full disk, say: no reason to lose the sample
            _log.exception("a rollout could not be recorded")

    async def close(self) -> None:
        """Close all sessions."""
        await self.hubs.close()


class _Play:
    """One sample under way: its tries."""

    def __init__(
        self, sampler: Sampler, settings: RolloutSettings, agent: Agent, engine: Engine, asked: float
    ) -> None:
        self.hub: str | None = None
        self._sampler = sampler
        self._settings = settings
        self._agent = agent
        self._engine = engine
        self._asked = asked
        self._ends_at: float | None = None
        self._sample = Sample(Rollout(), None)

    async def run(self, label: str) -> Sample:
        sample = self._sample
        try:
            start = start_of(label)
        except LabelRefused as error:
            self._fault(error)
            return sample
        for attempt in itertools.count():
            try:
                await self._try(start)
                break
            except Exception as error:
                self._fault(error)
                if attempt >= self._settings.episode_retries or isinstance(error, OutOfTime | NothingSampled):
                    return sample
        try:
            text = self._agent.chat.full_text(sample.rollout.ids)
            sample.parts = await self._sampler.rewards.of(sample.rollout, text)
        except Exception as error:
            self._fault(error)
            return sample
        sample.reward = sum(worth.total for worth in sample.parts.values())
        return sample

    async def _try(self, start: Start) -> None:
        """Play the episode once, on a fresh session."""
        settings, sample = self._settings, self._sample
        queued = time.monotonic()
        async with self._sampler.hubs.place(self._asked) as place:
            sample.waited_s += time.monotonic() - queued
            self.hub = place.hub.url
            left = settings.episode_deadline_s
            if self._ends_at is not None:  # a try before this one had begun
                left = max(0.0, self._ends_at - asyncio.get_running_loop().time())
            env = await place.hub.make(
                place.served or settings.env,
                wait_s=left,
                idle_timeout_s=IDLE_TIMEOUT_S,
                labels=settings.labels,
            )
            async with env:
                await self._play(env, start)

    async def _play(self, env: AsyncEnv, start: Start) -> None:
        episode = Episode(env, self._agent, self._engine, start)
        self._sample.rollout = episode.rollout
        await episode.begin()
        if self._ends_at is None:
            self._ends_at = asyncio.get_running_loop().time() + self._settings.episode_deadline_s
        await episode.run(self._ends_at)
        if not episode.rollout.turns:
            raise NothingSampled(
                f"the episode ended by {episode.rollout.truncated_by!r} before the model had answered once: "
                f"its first message has {len(episode.rollout.ids)} tokens, of {self._agent.limits.max_tokens}"
            )

    def _fault(self, error: Exception) -> None:
        """Count a fault.

        Raises:
            RunStopped: It will happen to every sample.
        """
        self._sample.faults.append(code_of(error))
        if isinstance(error, HubsDiffer | RunStopped):
            raise RunStopped(str(error)) from error
        self._sampler.faults.happened(error, self.hub or "no hub")
