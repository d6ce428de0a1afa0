"""How a model is rolled out through hubs: what the agent executor reads from its file."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

__all__ = [
    "ENV_VAR",
    "FormatReward",
    "FunctionReward",
    "ModelReward",
    "OutcomeReward",
    "Reward",
    "RolloutSettings",
    "RolloutTable",
    "SettingsRefused",
    "StepPenalty",
    "check_rewards",
    "convert",
    "read",
]

ENV_VAR = "ENVHUB_ROLLOUT"
"""The environment variable that names the settings' file."""

Count = Annotated[int, Meta(ge=1)]
Seconds = Annotated[float, Meta(gt=0)]
Share = Annotated[float, Meta(gt=0, le=1)]


class SettingsRefused(ValueError):
    """A setting is unknown, or has no value that can be used; the message names it."""


class _Part(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="type"):
    """One part of the reward."""

    weight: float = 1.0
    """Factor of the part, after clipping."""
    clip: tuple[float, float] | None = None
    """Smallest and largest value of an episode's part, before the weight."""
    name: str | None = None
    """What it is called in logs and records; None: its type."""

    @property
    def called(self) -> str:
        """Its name in logs and records."""
        return self.name or str(type(self).__struct_config__.tag)


class OutcomeReward(_Part, frozen=True, kw_only=True, tag="outcome"):
    """The environment's own rewards."""


class FormatReward(_Part, frozen=True, kw_only=True, tag="format"):
    """-1 for each answer that is not in the form that was asked for."""


class StepPenalty(_Part, frozen=True, kw_only=True, tag="step_penalty"):
    """-1 for each answer."""


class FunctionReward(_Part, frozen=True, kw_only=True, tag="function"):
    """What a function of the user's makes of the rollout."""

    call: str
    """`module:function` or `file.py:function`. It is given a `Rollout` and returns a number, or one a turn;
    it may be a coroutine function, and is run in a thread where it is not."""


class ModelReward(_Part, frozen=True, kw_only=True, tag="model"):
    """What a reward model behind HTTP says of the whole conversation, as `openrlhf.cli.serve_rm` answers."""

    url: str
    """Where `{"query": [text], "prompts": […], "labels": […]}` is posted and `{"rewards": [number]}`
    answered."""
    timeout_s: Seconds = 60.0
    retries: Annotated[int, Meta(ge=0)] = 3
    """How often a request without an answer is sent again."""


Reward = OutcomeReward | FormatReward | StepPenalty | FunctionReward | ModelReward


class RolloutTable(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How episodes are played: the table `rollout` of a run's configuration."""

    labels: dict[str, str] = {}
    """Labels of the sessions, to find them in the hubs' records."""

    prompt: str = "auto"
    """How observations become messages: auto, generic, webshop, frozenlake, db, bare, or `module:Class`."""
    actions: str = "auto"
    """How answers name actions: auto, raw, react, fenced, json, or `module:function`."""
    chat_template: str | None = None
    """File of a chat template to use instead of the tokenizer's own."""

    max_turns: Count = 30
    """Answers of the model in an episode."""
    max_turn_tokens: Count | None = 512
    """Tokens of one answer; None: whatever the context has room for."""
    episode_deadline_s: Seconds = 900.0
    """Seconds from an episode's first observation to its end, with what was tried again meanwhile; and how
    long a hub may take to find a replica for it."""

    episode_retries: Annotated[int, Meta(ge=0)] = 3
    """How often an episode is played again, on a fresh session, after a fault of the infrastructure."""
    max_masked_share: Share = 0.25
    """Share of the latest samples that may be masked before the run stops; 1 never stops it."""
    masked_window: Count = 256
    """How many samples are the latest."""
    hub_patience_s: Seconds = 120.0
    """For how long to wait for a hub that is away, when there is no other to go to."""

    records: str | None = None
    """Folder that gets every rollout, with what was said and the parts of its reward; None: none is kept."""


class RolloutSettings(RolloutTable, frozen=True, kw_only=True):
    """Everything the agent executor is told."""

    hubs: Annotated[list[str], Meta(min_length=1)]
    """URLs of the hubs; they serve the same environment."""
    env: str
    """Name of the environment."""
    token: str | None = None
    """Bearer token of the hubs; None: ENVHUB_TOKEN."""
    reward: list[Reward] = msgspec.field(default_factory=lambda: [OutcomeReward()])
    """The parts of the reward, which are added up."""


def read(path: Path) -> RolloutSettings:
    """Read the settings from a JSON or TOML file.

    Raises:
        SettingsRefused: The file can't be read, or a setting in it can't be used.
    """
    try:
        text = path.read_text()
        found = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
    except (OSError, ValueError) as error:
        raise SettingsRefused(f"{path}: {error}") from error
    return convert(found, str(path))


def convert(found: Any, where: str = "settings") -> RolloutSettings:
    """Make the settings of plain values.

    Raises:
        SettingsRefused: One can't be used.
    """
    try:
        settings = msgspec.convert(found, RolloutSettings)
    except msgspec.ValidationError as error:
        raise SettingsRefused(f"{where}: {error}") from error
    try:
        check_rewards(settings.reward)
    except SettingsRefused as error:
        raise SettingsRefused(f"{where}: {error}") from error
    return settings


def check_rewards(parts: Sequence[Reward]) -> None:
    """Refuse parts of a reward that can't be used.

    Raises:
        SettingsRefused: The message begins with the key.
    """
    if not parts:
        raise SettingsRefused("reward: has no part: nothing would be learned; leave it out for the outcome")
    names = [part.called for part in parts]
    for place, part in enumerate(parts):
        key = f"reward[{place}]"
        if not math.isfinite(part.weight):
            raise SettingsRefused(f"{key}.weight: is {part.weight}: it has to be a finite number")
        if part.clip is not None and not part.clip[0] <= part.clip[1]:
            raise SettingsRefused(f"{key}.clip: is {list(part.clip)}: smallest value first")
        if names.index(part.called) != place:
            raise SettingsRefused(f"{key}.name: another part is called {part.called!r} too: give one a name")
