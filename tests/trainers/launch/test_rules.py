"""What does not go together is refused before anything starts, in words that name the keys."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from envhub_trainers import _rules
from envhub_trainers._config import PRESETS, ConfigRefused, read


def checked(**flags: Any) -> object:
    base = {"algorithm": "grpo", "env": "frozenlake", "model": "some/model"}
    return _rules.check(
        read(None, {**base, **{key.replace("__", "."): value for key, value in flags.items()}})
    )


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("algorithm", ["grpo", "ppo", "rloo", "reinforce", "dr_grpo"])
def test_every_preset_goes_with_every_algorithm(preset: str, algorithm: str) -> None:
    checked(preset=preset, algorithm=algorithm)


CPU_ONLY: Mapping[str, Any] = {"resources__device": "gpu", "resources__dtype": "bf16"}


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ({"train__samples_per_prompt": 1}, "train.samples_per_prompt: is 1, and grpo compares"),
        ({"train__critic_lr": 1e-5}, "train.critic_lr: grpo has no critic"),
        ({"train__partial_rollouts": True}, "train.partial_rollouts: needs train.asynchronous"),
        ({"train__micro_batch_size": 5}, "train.batch_size: 32 can't be shared by 1 process(es)"),
        ({"resources__gpus": 8}, "train.batch_size: 32 can't be shared by 8 process(es)"),
        ({"train__prompts_per_step": 3}, "train.batch_size: a step has 24 episodes"),
        ({"data__tasks": 8}, "data.tasks: 8 are too few for one step"),
        ({"resources__nodes": 2}, "resources.nodes: more than one needs a Ray cluster"),
        ({"resources__dtype": "fp16"}, 'resources.dtype: "fp32" or "bf16" on CPUs'),
        ({"resources__device": "gpu"}, "resources.dtype: OpenRLHF trains in"),
        ({"resources__tensor_parallel": 2}, "resources.tensor_parallel: 1 on CPUs"),
        ({"resources__colocate": True}, "resources.colocate: nothing is shared on CPUs"),
        (
            {**CPU_ONLY, "resources__colocate": True, "resources__engines": 4},
            "resources.colocate: needs as many",
        ),
        ({"resources__adam_offload": True}, "resources.adam_offload: on CPUs"),
        ({"model": "./nowhere"}, "model: there is no folder ./nowhere"),
        (
            {"data__eval_tasks": 4, "data__eval_samples": 2, "data__eval_temperature": 0.0},
            "data.eval_samples: without a temperature",
        ),
        ({"reward": []}, "reward: has no part"),
        ({"reward": [{"type": "outcome", "clip": [1, 0]}]}, "reward[0].clip: is [1.0, 0.0]: smallest"),
        ({"reward": [{"type": "outcome"}] * 2}, "reward[1].name: another part is called 'outcome' too"),
        ({"openrlhf": ["--reward.remote_url", "u"]}, "--reward.remote_url: is set by reward"),
        (
            {"openrlhf": ["--ds.packing_samples"]},
            "--ds.packing_samples: not on CPUs: packing needs flash-attn",
        ),
        ({"openrlhf": ["--ds.zero_stage", "3"]}, "--ds.zero_stage: is set by resources.zero_stage"),
        ({"openrlhf": ["3"]}, "'3': what follows -- has to be flags of OpenRLHF"),
    ],
)
def test_what_does_not_go_together_is_refused(flags: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigRefused) as refused:
        checked(**flags)
    assert str(refused.value).startswith(said)


def test_a_model_that_vllm_can_not_compute_on_cpus_is_refused_before_it_is_loaded(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    with pytest.raises(ConfigRefused, match=r"no model in Hugging Face's format"):
        checked(model=str(folder))
    shape = {"hidden_size": 64, "num_attention_heads": 4, "max_position_embeddings": 2048}
    (folder / "config.json").write_text(json.dumps(shape))
    with pytest.raises(ConfigRefused, match="its attention heads have size 16; on CPUs vLLM knows 32"):
        checked(model=str(folder))
    checked(model=str(folder), **CPU_ONLY)
    (folder / "config.json").write_text(json.dumps({**shape, "num_attention_heads": 2}))
    checked(model=str(folder))
    with pytest.raises(ConfigRefused, match=r"train\.max_tokens: 4096 are more than the model's 2048"):
        checked(model=str(folder), train__max_tokens=4096)


@pytest.mark.parametrize(
    ("key", "package", "said"),
    [
        (
            "logs__mlflow_uri",
            "mlflow",
            "logs.mlflow_uri: MLflow is not installed: pip install 'envhub[mlflow]'",
        ),
        ("logs__wandb_project", "wandb", "logs.wandb_project: wandb is not installed: pip install wandb"),
    ],
)
def test_a_logger_that_is_not_installed_is_refused(
    monkeypatch: pytest.MonkeyPatch, key: str, package: str, said: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)  # as if it were not
    with pytest.raises(ConfigRefused) as refused:
        checked(**{key: "there"})
    assert str(refused.value) == said
