"""The executor in OpenRLHF's rollout actor over a real vLLM engine, paused as partial rollouts are."""

import importlib.util
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import envhub_trainers
from envhub_trainers._settings import ENV_VAR

LONGEST_S = 900
"""For how long it may take what takes half a minute; a machine that others use is slow."""

pytestmark = [
    pytest.mark.train,
    pytest.mark.timeout(2 * LONGEST_S),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # torch's own
]

EXECUTOR = Path(envhub_trainers.__file__).with_name("executor.py")
PROGRAM = Path(__file__).with_name("engine_program.py")
TEMPERATURE = 0.8


@pytest.fixture(scope="module")
def rolled(tmp_path_factory, url, kit):
    """A model with random weights, and what came of its rollouts."""
    if not all(importlib.util.find_spec(name) for name in ("openrlhf", "torch", "vllm")):
        pytest.skip("needs the extra train-cpu")
    folder = tmp_path_factory.mktemp("model")
    model = tiny_model(folder, kit.tokenizer(kit.templates["chatml"][0]))
    told = {"hubs": [url], "env": "frozenlake", "actions": "raw", "max_turns": 5, "max_turn_tokens": 20}
    (folder / "rollout.json").write_text(json.dumps(told))
    environment = {**os.environ, ENV_VAR: str(folder / "rollout.json")}
    command = [sys.executable, str(PROGRAM), str(folder), str(EXECUTOR)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LONGEST_S)
    assert done.returncode == 0, done.stderr[-3000:]
    paused, responses = json.loads((folder / "responses.json").read_text())
    assert paused
    return model, responses


def tiny_model(folder, tokenizer):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
        import transformers

        torch.manual_seed(0)
        model = transformers.LlamaForCausalLM(
            transformers.LlamaConfig(
                vocab_size=len(tokenizer),
                hidden_size=64,
                intermediate_size=128,
                num_hidden_layers=2,
                num_attention_heads=2,
                num_key_value_heads=2,
                max_position_embeddings=1024,
                eos_token_id=tokenizer.eos_token_id,
                pad_token_id=tokenizer.pad_token_id,
                bos_token_id=None,
            )
        )
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return model


def test_every_sample_is_whole(rolled):
    _, responses = rolled
    assert len(responses) == 16
    for response in responses:
        assert len(response["action_ranges"]) == response["extra_logs"]["turns"] > 0
        assert not response["extra_logs"]["masked"] and response["extra_logs"]["faults"] == 0.0
        assert len(response["rollout_log_probs"]) == len(response["observation_tokens"])


def test_the_trainer_computes_the_log_probabilities_that_the_engine_sampled_with(rolled):
    """Which it can only if the ids trained on are those sampled, in the context they were sampled in."""
    torch = sys.modules["torch"]
    model, responses = rolled
    worst = 0.0
    for response in responses:
        ids = torch.tensor(response["observation_tokens"])
        with torch.no_grad():
            logits = model(ids[None]).logits[0] / TEMPERATURE
        for start, end in response["action_ranges"]:
            scores = logits[start - 1 : end - 1].clone()
            scores[0, model.config.eos_token_id] = -torch.inf  # min_tokens=1: OpenRLHF asks for one at least
            computed = torch.log_softmax(scores, -1).gather(-1, ids[start:end, None])[:, 0]
            given = torch.tensor(response["rollout_log_probs"][start:end])
            worst = max(worst, (computed - given).abs().max().item())
    assert worst < 1e-4
