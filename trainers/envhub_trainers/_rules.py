"""What does not go together in a run's configuration, refused before anything starts."""

from __future__ import annotations

import difflib
import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from envhub_trainers._config import Config, ConfigRefused
from envhub_trainers._settings import RolloutSettings, SettingsRefused, check_rewards

__all__ = ["check", "known_flags"]

NEEDS_GROUPS = ("grpo", "rloo", "dr_grpo")
"""They compare the episodes of one task with each other."""

NOT_ON_CPU = {
    "--actor.muon.lr": "the Muon optimizer was not tried there",
    "--ds.deepcompile": "it compiles for GPUs",
    "--ds.enable_sleep": "it moves a model between GPU and CPU memory",
    "--ds.load_in_4bit": "bitsandbytes needs CUDA",
    "--ds.packing_samples": "packing needs flash-attn, which needs CUDA",
    "--ds.ring_attn_size": "ring attention needs flash-attn, which needs CUDA",
    "--ds.use_liger_kernel": "its kernels are written for GPUs",
    "--train.dynamic_batch_enable": "it packs samples, which needs flash-attn and so CUDA",
    "--vllm.enable_sleep": "it frees GPU memory",
}
"""Flags of OpenRLHF that can't work on CPUs, and why."""

OURS = {
    "--actor.model_name_or_path": "model",
    "--actor.num_gpus_per_node": "resources.gpus",
    "--actor.num_nodes": "resources.nodes",
    "--algo.advantage.estimator": "algorithm",
    "--ckpt.load_enable": "--resume",
    "--ckpt.output_dir": "output",
    "--ckpt.path": "output",
    "--critic.num_gpus_per_node": "resources.gpus",
    "--critic.num_nodes": "resources.nodes",
    "--data.label_key": "data",
    "--data.prompt_dataset": "data",
    "--ds.param_dtype": "resources.dtype",
    "--ds.tensor_parallel_size": "resources (tensor parallel training is not offered)",
    "--ds.zero_stage": "resources.zero_stage",
    "--ref.num_gpus_per_node": "resources.gpus",
    "--ref.num_nodes": "resources.nodes",
    "--reward.remote_url": "reward, with a part of type model",
    "--train.agent_func_path": "rollout",
    "--train.batch_size": "train.batch_size",
    "--train.colocate_all": "resources.colocate",
    "--vllm.num_engines": "resources.engines",
    "--vllm.sync_backend": "resources.device",
    "--vllm.tensor_parallel_size": "resources.tensor_parallel",
}
"""Flags of OpenRLHF that a plan counts on, and the key that sets them."""

VLLM_CPU_HEADS = (32, 64, 80, 96, 112, 128, 160, 192, 224, 256, 512)
"""The sizes of an attention head that vLLM 0.29 computes on CPUs."""


def check(config: Config) -> RolloutSettings:
    """Refuse what can't work.

    Returns:
        How episodes are played; its hubs are still to be named where the run starts its own.

    Raises:
        ConfigRefused: It does not go together; the message names the keys.
    """
    for rule in (_algorithm, _batches, _placement, _device, _model, _evaluation, _loggers, _passed_through):
        for problem in rule(config):
            raise ConfigRefused(problem)
    try:
        check_rewards(config.reward)
    except SettingsRefused as error:
        raise ConfigRefused(str(error)) from error
    return RolloutSettings(
        hubs=config.hub.urls or ["http://127.0.0.1"],
        env=config.env,
        reward=config.reward,
        **msgspec.structs.asdict(config.rollout),
    )


def known_flags() -> set[str] | None:
    """OpenRLHF's flags, read off its source; None where it is not installed."""
    try:
        found = importlib.util.find_spec("openrlhf.cli.train_ppo_ray")
    except ModuleNotFoundError:
        return None
    if found is None or found.origin is None:
        return None
    source = Path(found.origin).read_text()
    plain = set(re.findall(r'"(--[\w.]+)"', source))
    each = set(re.findall(r'f"--\{prefix\}(\.[\w.]+)"', source))
    return plain | {f"--{model}{name}" for model in ("actor", "critic") for name in each}


def _algorithm(config: Config) -> Iterator[str]:
    train = config.train
    if config.algorithm in NEEDS_GROUPS and train.samples_per_prompt < 2:
        yield (
            f"train.samples_per_prompt: is {train.samples_per_prompt}, and {config.algorithm} compares the "
            "episodes of a task with each other: 2 or more"
        )
    if train.critic_lr is not None and config.algorithm != "ppo":
        yield f"train.critic_lr: {config.algorithm} has no critic, only ppo has: leave it out"
    if train.partial_rollouts and not train.asynchronous:
        yield "train.partial_rollouts: needs train.asynchronous = true"


def _batches(config: Config) -> Iterator[str]:
    train, resources = config.train, config.resources
    ranks = resources.nodes * resources.gpus
    episodes = config.episodes_per_step
    if train.batch_size % (train.micro_batch_size * ranks):
        yield (
            f"train.batch_size: {train.batch_size} can't be shared by {ranks} process(es) in batches of "
            f"train.micro_batch_size = {train.micro_batch_size}: a multiple of "
            f"{train.micro_batch_size * ranks}"
        )
    if episodes % train.batch_size:
        yield (
            f"train.batch_size: a step has {episodes} episodes (train.prompts_per_step x "
            f"train.samples_per_prompt), which are no whole number of updates of {train.batch_size}"
        )
    if config.data.tasks < train.prompts_per_step:
        yield (
            f"data.tasks: {config.data.tasks} are too few for one step of train.prompts_per_step = "
            f"{train.prompts_per_step}"
        )


def _placement(config: Config) -> Iterator[str]:
    resources = config.resources
    models, engines = resources.nodes * resources.gpus, resources.engines * resources.tensor_parallel
    if resources.colocate and not config.train.asynchronous and models != engines:
        yield (
            f"resources.colocate: needs as many GPUs for engines (engines x tensor_parallel = {engines}) as "
            f"for the policy (nodes x gpus = {models})"
        )
    if resources.nodes > 1 and resources.ray_address is None:
        yield "resources.nodes: more than one needs a Ray cluster to join: --ray-address"


def _device(config: Config) -> Iterator[str]:
    resources = config.resources
    if resources.device == "gpu":
        if resources.dtype == "fp32":
            yield 'resources.dtype: OpenRLHF trains in "bf16" or "fp16" on GPUs'
        return
    if resources.dtype == "fp16":
        yield 'resources.dtype: "fp32" or "bf16" on CPUs'
    if resources.tensor_parallel > 1:
        yield "resources.tensor_parallel: 1 on CPUs: more was not tried there"
    if resources.colocate:
        yield "resources.colocate: nothing is shared on CPUs, where a GPU is only a name for a process"
    if resources.adam_offload:
        yield "resources.adam_offload: on CPUs it is in the machine's memory anyway"


def _model(config: Config) -> Iterator[str]:
    folder = Path(config.model)
    if not folder.is_dir():
        if folder.is_absolute() or config.model.startswith(".") or config.model.count("/") > 1:
            yield f"model: there is no folder {config.model}"
        return
    try:
        said = json.loads((folder / "config.json").read_text())
    except (OSError, ValueError) as error:
        yield f"model: {folder} is no model in Hugging Face's format: its config.json: {error}"
        return
    heads = said.get("num_attention_heads")
    size = said.get("head_dim") or (said["hidden_size"] // heads if heads and "hidden_size" in said else None)
    if config.resources.device == "cpu" and size is not None and size not in VLLM_CPU_HEADS:
        yield (
            f"model: its attention heads have size {size}; on CPUs vLLM knows "
            f"{', '.join(map(str, VLLM_CPU_HEADS))}"
        )
    if config.train.max_tokens > said.get("max_position_embeddings", config.train.max_tokens):
        yield (
            f"train.max_tokens: {config.train.max_tokens} are more than the model's "
            f"{said['max_position_embeddings']} positions"
        )


def _evaluation(config: Config) -> Iterator[str]:
    data = config.data
    if data.eval_tasks and data.eval_samples > 1 and data.eval_temperature == 0:
        yield "data.eval_samples: without a temperature all episodes of a task are the same: 1"


def _loggers(config: Config) -> Iterator[str]:
    logs = config.logs
    if logs.wandb_project and not _installed("wandb"):
        yield "logs.wandb_project: wandb is not installed: pip install wandb"
    if logs.mlflow_uri and not _installed("mlflow"):
        yield "logs.mlflow_uri: MLflow is not installed: pip install 'envhub[mlflow]'"


def _installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ValueError:  # somebody has said in sys.modules that it isn't
        return False


def _passed_through(config: Config) -> Iterator[str]:
    flags = [word.partition("=")[0] for word in config.openrlhf if word.startswith("--")]
    known = known_flags()
    if config.openrlhf and not config.openrlhf[0].startswith("--"):
        yield f"{config.openrlhf[0]!r}: what follows -- has to be flags of OpenRLHF"
    for flag in flags:
        if flag in OURS:
            yield f"{flag}: is set by {OURS[flag]}"
        if config.resources.device == "cpu" and flag in NOT_ON_CPU:
            yield f"{flag}: not on CPUs: {NOT_ON_CPU[flag]}"
        if known is not None and flag not in known:
            near = difflib.get_close_matches(flag, known, n=1)
            yield f"{flag}: OpenRLHF has no such flag" + (f"; did you mean {near[0]}?" if near else "")
