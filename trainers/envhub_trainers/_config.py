"""What a training run is told: a TOML file under flags over a preset, checked before anything starts.

`Config` is the whole of it. `read` puts it together and refuses, by the name of the key, what is unknown
or no value for it; `envhub_trainers._rules` refuses what does not go together.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import msgspec
from msgspec import Meta, Struct

from envhub_trainers._settings import OutcomeReward, Reward, RolloutTable

__all__ = ["ALGORITHMS", "PRESETS", "Algorithm", "Config", "ConfigRefused", "read", "values_of"]

Algorithm = Literal["grpo", "ppo", "rloo", "reinforce", "dr_grpo"]
ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)

Count = Annotated[int, Meta(ge=1)]
Whole = Annotated[int, Meta(ge=0)]
Rate = Annotated[float, Meta(gt=0)]
Factor = Annotated[float, Meta(ge=0)]


class ConfigRefused(ValueError):
    """A run can't be what it was asked to be; the message names the key and what to do."""


class _Table(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the file."""


class HubTable(_Table, frozen=True, kw_only=True):
    """Where the environments are."""

    urls: list[str] = []
    """Hubs that serve the environment, which share the episodes; none: one is started for the run."""
    replicas: Count = 32
    """Replicas of the environment in a hub that is started for the run."""
    settings: list[str] = []
    """`SPEC.KEY=VALUE` for a hub that is started for the run, as `envhub serve --set` takes them."""


class DataTable(_Table, frozen=True, kw_only=True):
    """Which tasks are played."""

    split: str = "train"
    """The split they are of."""
    tasks: Count = 256
    """How many different tasks, the first of the split. What is left over of a step is left out."""
    epochs: Count = 1
    """How often each is played."""
    eval_split: str = "test"
    """The split to evaluate on."""
    eval_tasks: Whole = 0
    """How many tasks to evaluate on; 0: none."""
    eval_every: Count = 10
    """Steps between evaluations."""
    eval_samples: Count = 1
    """Episodes a task."""
    eval_temperature: Factor = 1.0
    """What the model is sampled at there; 0: its likeliest tokens."""


class TrainTable(_Table, frozen=True, kw_only=True):
    """How the model is trained. A step is one round of rollouts and the updates on them."""

    prompts_per_step: Count = 16
    """Tasks of a step."""
    samples_per_prompt: Count = 8
    """Episodes of one task in a step: the group of GRPO, RLOO and Dr. GRPO."""
    batch_size: Count = 32
    """Episodes an update."""
    micro_batch_size: Count = 8
    """Episodes that one process computes at once."""
    max_tokens: Count = 2048
    """Of a whole conversation."""
    lr: Rate = 1e-6
    """The highest learning rate."""
    lr_schedule: str = "cosine_with_min_lr"
    """As transformers names it."""
    lr_warmup: Factor = 0.03
    """Share of the updates in which the learning rate rises to `lr`; the first of them has 0."""
    critic_lr: Rate | None = None
    """PPO only; by default 9 times `lr`."""
    kl_coef: Factor = 0.0
    """Weight of the distance to the model that training began with; 0: no reference model is kept."""
    correction: Literal["off", "token", "seq"] = "token"
    """Whether updates are corrected for the difference between vLLM's probabilities and the trainer's."""
    temperature: Rate = 1.0
    """What the model is sampled at in training."""
    seed: Whole = 42
    """Of the order of the tasks and of the sampling."""
    save_every: Whole = 10
    """Steps between checkpoints; 0: none, and nothing to resume from."""
    asynchronous: bool = False
    """Roll out for the next steps while the update is computed."""
    partial_rollouts: bool = False
    """With `asynchronous`: episodes under way go on, with the new weights, when those arrive."""


class ResourcesTable(_Table, frozen=True, kw_only=True):
    """What it runs on. A GPU is a logical one where `device` is cpu: a process."""

    device: Literal["cpu", "gpu"] = "cpu"
    """Whether there are GPUs."""
    dtype: Literal["fp32", "bf16", "fp16"] = "fp32"
    """The number format of model and engines."""
    ray_address: str | None = None
    """Of a Ray cluster to join; by default one is started and stopped with the run."""
    nodes: Count = 1
    """Over which policy, reference and critic are spread, each with `gpus` of every node."""
    gpus: Count = 1
    """GPUs of a node for the policy; as many for the reference, and for the critic."""
    engines: Count = 1
    """vLLM engines, over all nodes."""
    tensor_parallel: Count = 1
    """GPUs of an engine."""
    colocate: bool = False
    """Let policy, reference, critic and engines take turns on the same GPUs."""
    zero_stage: Annotated[int, Meta(ge=0, le=3)] = 2
    """What DeepSpeed spreads over the processes: 1 the optimizer, 2 gradients too, 3 the model too."""
    adam_offload: bool = False
    """Keep the optimizer's state in the machine's memory."""


class LogsTable(_Table, frozen=True, kw_only=True):
    """Where numbers go, beside the terminal, `metrics.jsonl` and TensorBoard."""

    wandb_project: str | None = None
    """A project of Weights & Biases; needs WANDB_API_KEY in the environment."""
    mlflow_uri: str | None = None
    """A server or store of MLflow: `http://…`, `sqlite:///FILE`; the experiment is MLFLOW_EXPERIMENT_NAME."""
    every: Count = 1
    """Steps between entries."""


class Config(_Table, frozen=True, kw_only=True):
    """A training run."""

    algorithm: Algorithm
    env: str
    """Its name on the hub; where the run starts its own hub, anything that `envhub serve --env` takes."""
    model: str
    """Folder of a model in Hugging Face's format, or its id there."""
    output: str = ""
    """Folder of the run; by default `runs/ENV-ALGORITHM`."""
    preset: str = "cpu-tiny"
    hub: HubTable = HubTable()
    data: DataTable = DataTable()
    train: TrainTable = TrainTable()
    resources: ResourcesTable = ResourcesTable()
    logs: LogsTable = LogsTable()
    rollout: RolloutTable = RolloutTable()
    reward: list[Reward] = msgspec.field(default_factory=lambda: [OutcomeReward()])
    """The parts of an episode's reward, which are added up."""
    openrlhf: list[str] = []
    """Flags for OpenRLHF, as they are."""

    @property
    def steps(self) -> int:
        """Steps of the whole run."""
        return self.data.tasks // self.train.prompts_per_step * self.data.epochs

    @property
    def episodes_per_step(self) -> int:
        """Episodes whose rollouts are one step."""
        return self.train.prompts_per_step * self.train.samples_per_prompt


ELSEWHERE = {
    "env": "it is env, at the top",
    "hubs": "it is hub.urls",
    "reward": "it is reward, a list at the top: [[reward]]",
    "token": "it is ENVHUB_TOKEN in the environment",
}
"""What the agent executor is told of which another key, or none, is the place in a run's configuration."""

_GPU = {"device": "gpu", "dtype": "bf16", "gpus": 8, "zero_stage": 3}
_LARGE = {"prompts_per_step": 128, "batch_size": 128, "micro_batch_size": 2, "max_tokens": 8192}
PRESETS: dict[str, dict[str, dict[str, Any]]] = {
    "cpu-tiny": {"train": {"lr": 3e-4, "lr_warmup": 0.0}, "rollout": {"max_turn_tokens": 64}},
    "one-node-8gpu": {
        "hub": {"replicas": 256},
        "data": {"tasks": 10_000},
        "train": {**_LARGE, "save_every": 20},
        "resources": {**_GPU, "engines": 8, "colocate": True},
    },
    "multi-node": {
        "hub": {"replicas": 512},
        "data": {"tasks": 10_000},
        "train": {**_LARGE, "save_every": 20, "asynchronous": True},
        "resources": {**_GPU, "ray_address": "auto", "nodes": 2, "engines": 8, "tensor_parallel": 2},
    },
}
"""What a run begins with: the parts that differ from the defaults above, which are those of a small model."""


def read(file: Path | None, flags: Mapping[str, Any], base: Mapping[str, Any] | None = None) -> Config:
    """Put a configuration together: the preset, under the base, under the file, under the flags.

    Args:
        file: A TOML file with the keys of `Config`.
        flags: Values by dotted key ("train.lr").
        base: The configuration of a run to go on with.

    Raises:
        ConfigRefused: A key is unknown, missing, or has no value that can be used.
    """
    layers: list[Mapping[str, Any]] = [base or {}]
    if file is not None:
        try:
            layers.append(tomllib.loads(file.read_text()))
        except (OSError, tomllib.TOMLDecodeError) as error:
            raise ConfigRefused(f"{file}: {error}") from error
    layers.append(_nested(flags))
    chosen = next((layer["preset"] for layer in reversed(layers) if "preset" in layer), "cpu-tiny")
    if chosen not in PRESETS:
        raise ConfigRefused(f"preset: there is no {chosen!r}; there are {', '.join(PRESETS)}")
    merged: dict[str, Any] = {}
    for layer in [PRESETS[chosen], *layers]:
        _merge(merged, layer)
    for key, how in (("env", "--env NAME"), ("model", "--model PATH")):
        if not merged.get(key):
            raise ConfigRefused(f"{key}: is not set: {how}, or {key} = … in a --config file")
    try:
        config = msgspec.convert(merged, Config)
    except msgspec.ValidationError as error:
        raise ConfigRefused(_explained(str(error))) from error
    if config.output:
        return config
    name = re.sub(r"\W+", "-", Path(config.env).name).strip("-")
    return msgspec.structs.replace(config, output=f"runs/{name}-{config.algorithm}")


def values_of(texts: Iterable[str]) -> dict[str, Any]:
    """Read each `KEY=VALUE`. A value is TOML; what is no TOML is a string.

    Raises:
        ConfigRefused: There is no key or no value, or two for one key contradict each other.
    """
    values: dict[str, Any] = {}
    said: dict[str, str] = {}
    for text in texts:
        key, value = _value_of(text)
        before = said.setdefault(key, text)
        if values.setdefault(key, value) != value:
            raise ConfigRefused(
                f"--set {before} and --set {text} contradict each other: leave one out; "
                f'a list is written as one, as in --set \'{key}=["A", "B"]\''
            )
    return values


def _value_of(text: str) -> tuple[str, Any]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise ConfigRefused(f"--set takes KEY=VALUE, as in --set train.lr=1e-5, not {text!r}")
    try:
        return key.strip(), tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        return key.strip(), value


def _nested(flags: Mapping[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for dotted, value in flags.items():
        *tables, key = dotted.split(".")
        table = nested
        for name in tables:
            table = table.setdefault(name, {})
            if not isinstance(table, dict):
                raise ConfigRefused(f"{dotted}: {name} is no table")
        table[key] = value
    return nested


def _merge(below: dict[str, Any], above: Mapping[str, Any]) -> None:
    for key, value in above.items():
        if isinstance(value, Mapping) and isinstance(below.get(key), dict):
            _merge(below[key], value)
        else:
            below[key] = dict(value) if isinstance(value, Mapping) else value


def _explained(message: str) -> str:
    """What msgspec says, with the key in front and, for an unknown one, the nearest that exists."""
    said, _, path = message.partition(" - at `$")
    place = path.rstrip("`").lstrip(".").removesuffix("[...]")
    unknown = re.search(r"unknown field `(.*)`", said)
    if place.startswith("reward[") and place.endswith("].type"):
        kinds = [str(kind.__struct_config__.tag) for kind in get_args(Reward)]
        return f"{place}: {said[0].lower()}{said[1:]}; there are {', '.join(kinds)}"
    if unknown is None:
        return f"{place}: {said[0].lower()}{said[1:]}" if place else said
    if place.startswith("reward["):
        return f"{place}.{unknown[1]}: no such key of a part of that type"
    if place == "rollout" and unknown[1] in ELSEWHERE:
        return f"rollout.{unknown[1]}: is no key of this table: {ELSEWHERE[unknown[1]]}"
    table: Any = Config
    for name in filter(None, place.split(".")):
        table = next(field.type for field in msgspec.structs.fields(table) if field.name == name)
    names = [field.name for field in msgspec.structs.fields(table)]
    near: Sequence[str] = difflib.get_close_matches(unknown[1], names, n=1) or sorted(names)
    hint = f"did you mean {near[0]}?" if len(near) == 1 else f"there are {', '.join(near)}"
    return f"{place}{'.' if place else ''}{unknown[1]}: no such key; {hint}"
