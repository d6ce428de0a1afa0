"""The OpenRLHF command of a run, and what it needs of Ray. A plan is made, and printed, without a hub."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from envhub_trainers._config import Config
from envhub_trainers._settings import ENV_VAR, RolloutSettings

__all__ = ["MODULE", "Plan", "RunFolder", "plan"]

MODULE = "openrlhf.cli.train_ppo_ray"
EXECUTOR = Path(__file__).with_name("executor.py")

ESTIMATORS = {
    "grpo": "group_norm",
    "ppo": "gae",
    "rloo": "rloo",
    "reinforce": "reinforce",
    "dr_grpo": "dr_grpo",
}

QUIET = {
    "DO_NOT_TRACK": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "TOKENIZERS_PARALLELISM": "false",
    "VLLM_NO_USAGE_STATS": "1",
}
"""Nothing of a run is reported to anybody."""

SPARE_CPUS = 4
"""Of Ray's count, for what OpenRLHF starts beside models and engines."""


class RunFolder:
    """Where a run keeps what."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.config = self.path / "config.json"
        self.prompts = self.path / "prompts.jsonl"
        self.eval_prompts = self.path / "eval.jsonl"
        self.rollout = self.path / "rollout.json"
        self.plan = self.path / "plan.json"
        self.log = self.path / "train.log"
        self.metrics = self.path / "metrics.jsonl"
        self.mlflow = self.path / "mlflow.run"
        self.hub_log = self.path / "hub.log"
        self.checkpoints = self.path / "checkpoints"
        self.tensorboard = self.path / "tensorboard"
        self.model = self.path / "model"


@dataclass(frozen=True, slots=True)
class Plan:
    """What `envhub_trainers._driver` carries out."""

    module: str
    arguments: list[str]
    environment: dict[str, str]
    """Of the program and of all of Ray's workers."""
    ray: dict[str, Any]
    """Arguments of `ray.init`."""
    cpu: bool
    gpus: int
    """GPUs that the run takes of the cluster, logical ones on CPUs."""
    placement: dict[str, int]
    """GPUs by what takes them."""

    def to_dict(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)

    def __str__(self) -> str:
        """The command and the resources, for a person."""
        lines = [f"python -m {self.module}"]
        for word in self.arguments:
            if word.startswith("--"):
                lines.append(f"  {word}")
            else:
                lines[-1] += f" {shlex.quote(word)}"
        environment = [f"  {name}={shlex.quote(value)}" for name, value in sorted(self.environment.items())]
        shares = ", ".join(f"{count} for {what}" for what, count in self.placement.items())
        kind = "logical GPU(s), which are processes on CPUs," if self.cpu else "GPU(s)"
        where = self.ray.get("address", "local")
        cluster = "a cluster of its own" if where == "local" else f"the cluster at {where}"
        return "\n".join(
            [
                "command, run as it is" + (", under envhub_trainers.cpu:" if self.cpu else ":"),
                " \\\n".join(lines),
                "environment:",
                *environment,
                f"Ray: {cluster}; {self.gpus} {kind} and {self.gpus + SPARE_CPUS} CPU(s) by Ray's count: "
                f"{shares}",
            ]
        )


def plan(config: Config, rollout: RolloutSettings, folder: RunFolder, *, resume: bool) -> Plan:
    """Say what is to be run."""
    cpu = config.resources.device == "cpu"
    environment = dict(QUIET)
    if cpu:
        from envhub_trainers.cpu import DTYPE_VARIABLE, ENVIRONMENT

        environment |= ENVIRONMENT | {DTYPE_VARIABLE: config.resources.dtype}
    environment = {name: os.environ.get(name, value) for name, value in environment.items()}
    environment[ENV_VAR] = str(folder.rollout)
    placement = _placement(config)
    gpus = sum(placement.values())
    return Plan(
        module=MODULE,
        arguments=[*_flags(config, rollout, folder, resume), *config.openrlhf],
        environment=environment,
        ray=_ray(config, gpus),
        cpu=cpu,
        gpus=gpus,
        placement=placement,
    )


def _placement(config: Config) -> dict[str, int]:
    """GPUs, by what takes them."""
    resources = config.resources
    models, engines = resources.nodes * resources.gpus, resources.engines * resources.tensor_parallel
    if resources.colocate and not config.train.asynchronous:
        return {"everything in turns": models}
    if resources.colocate:
        return {"policy, reference and critic in turns": models, "engines": engines}
    taken = {"the policy": models}
    if config.train.kl_coef:
        taken["the reference"] = models
    if config.algorithm == "ppo":
        taken["the critic"] = models
    return {**taken, "engines": engines}


def _ray(config: Config, gpus: int) -> dict[str, Any]:
    address = config.resources.ray_address
    if address is not None:
        return {"address": address}
    own: dict[str, Any] = {"address": "local", "include_dashboard": False}
    if config.resources.device == "cpu":
        own |= {"num_gpus": gpus, "num_cpus": gpus + SPARE_CPUS, "object_store_memory": 512 * 2**20}
    return own


def _flags(config: Config, rollout: RolloutSettings, folder: RunFolder, resume: bool) -> list[str]:
    parts = (_models, _placed, _data, _training, _engines, _kept)
    words = [str(word) for part in parts for word in part(config, rollout, folder)]
    return [*words, "--ckpt.load_enable"] if resume else words


Words = Iterator[str | int | float | Path]


def _models(config: Config, _rollout: RolloutSettings, _folder: RunFolder) -> Words:
    resources, train, model = config.resources, config.train, _model(config)
    yield from ("--actor.model_name_or_path", model)
    yield from ("--ds.zero_stage", resources.zero_stage, "--ds.param_dtype", resources.dtype)
    if resources.device == "cpu":
        yield from ("--ds.attn_implementation", "sdpa")
    else:
        yield "--actor.gradient_checkpointing_enable"
    if resources.adam_offload:
        yield "--ds.adam_offload"
    yield from ("--actor.adam.lr", train.lr, "--actor.lr_scheduler", train.lr_schedule)
    yield from ("--actor.lr_warmup_ratio", train.lr_warmup)
    if config.algorithm == "ppo":
        yield from ("--critic.model_name_or_path", model)
        yield from (
            "--critic.adam.lr",
            train.critic_lr or 9 * train.lr,
            "--critic.lr_scheduler",
            train.lr_schedule,
        )
        yield from ("--critic.lr_warmup_ratio", train.lr_warmup)


def _model(config: Config) -> str:
    """The model, found from any working directory: Ray's workers may have another."""
    return str(Path(config.model).absolute()) if Path(config.model).is_dir() else config.model


def _placed(config: Config, _rollout: RolloutSettings, _folder: RunFolder) -> Words:
    for model in ("actor", "ref", "critic"):
        yield from (f"--{model}.num_nodes", config.resources.nodes)
        yield from (f"--{model}.num_gpus_per_node", config.resources.gpus)
    if config.resources.colocate:
        yield "--train.colocate_all"
        if config.resources.device == "gpu" and not config.train.asynchronous:
            yield from ("--vllm.enable_sleep", "--ds.enable_sleep", "--vllm.gpu_memory_utilization", 0.6)


def _data(config: Config, _rollout: RolloutSettings, folder: RunFolder) -> Words:
    yield from ("--data.prompt_dataset", folder.prompts, "--data.input_key", "input")
    yield from ("--data.label_key", "label", "--data.max_len", config.train.max_tokens)
    yield from ("--train.num_episodes", config.data.epochs)
    if config.data.eval_tasks:
        yield from ("--eval.dataset", folder.eval_prompts, "--eval.steps", config.data.eval_every)
        yield from ("--eval.n_samples_per_prompt", config.data.eval_samples)
        yield from ("--eval.temperature", config.data.eval_temperature)


def _training(config: Config, rollout: RolloutSettings, _folder: RunFolder) -> Words:
    train = config.train
    yield from ("--train.agent_func_path", EXECUTOR)
    yield from ("--algo.advantage.estimator", ESTIMATORS[config.algorithm])
    yield from ("--algo.kl.init_coef", train.kl_coef)
    if train.kl_coef and config.algorithm in ("grpo", "dr_grpo"):
        yield from ("--algo.kl.use_loss", "--algo.kl.estimator", "k3")  # as GRPO was published
    yield from ("--algo.advantage.is_correction_level", train.correction)
    yield from ("--rollout.batch_size", train.prompts_per_step)
    yield from ("--rollout.n_samples_per_prompt", train.samples_per_prompt)
    yield from ("--rollout.micro_batch_size", train.micro_batch_size)
    yield from ("--train.batch_size", train.batch_size, "--train.micro_batch_size", train.micro_batch_size)
    if rollout.max_turn_tokens is not None:
        yield from ("--rollout.max_new_tokens", rollout.max_turn_tokens)
    yield from ("--rollout.temperature", train.temperature, "--train.seed", train.seed)
    if train.asynchronous:
        yield "--train.async_enable"
    if train.partial_rollouts:
        yield "--train.partial_rollout_enable"


def _engines(config: Config, _rollout: RolloutSettings, _folder: RunFolder) -> Words:
    resources = config.resources
    yield from ("--vllm.num_engines", resources.engines)
    yield from ("--vllm.tensor_parallel_size", resources.tensor_parallel)
    yield "--vllm.enable_prefix_caching"  # a turn's context begins with the last turn's
    if resources.device == "cpu":
        yield from ("--vllm.sync_backend", "gloo", "--vllm.enforce_eager")


def _kept(config: Config, _rollout: RolloutSettings, folder: RunFolder) -> Words:
    yield from ("--ckpt.path", folder.checkpoints, "--ckpt.output_dir", folder.model)
    yield from ("--ckpt.save_steps", config.train.save_every or -1)
    yield from ("--logger.tensorboard_dir", folder.tensorboard, "--logger.logging_steps", config.logs.every)
    if config.logs.wandb_project:
        # OpenRLHF wants a key on the command line, and uses it only where WANDB_API_KEY is not set
        yield from (
            "--logger.wandb.key",
            "WANDB_API_KEY",
            "--logger.wandb.project",
            config.logs.wandb_project,
        )
        yield from ("--logger.wandb.run_name", folder.path.name)
