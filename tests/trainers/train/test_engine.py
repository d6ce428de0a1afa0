"""A real vLLM engine computes with the weights it was given, and where it does not that is noticed."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from envhub_trainers.cpu import ENVIRONMENT

pytestmark = [pytest.mark.train, pytest.mark.timeout(1200)]

ENGINE = """
import json, os, sys
from pathlib import Path
import torch
from transformers import AutoModelForCausalLM
from vllm import LLM, SamplingParams
from envhub_trainers.cpu import _weights

first, second, receiver = sys.argv[1:]
tokens = _weights.probe(320)
question = SamplingParams(max_tokens=1, temperature=0.0, prompt_logprobs=0)

def gap(llm, folder):
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    answers = llm.generate({"prompt_token_ids": tokens}, question, use_tqdm=False)
    try:
        return _weights.verified(_weights.log_probs(model, tokens), answers, 1e-3)
    except _weights.WeightsDiffer as error:
        return str(error)

if __name__ == "__main__":
    llm = LLM(first, dtype="float32", enforce_eager=True, max_model_len=256, worker_extension_cls=receiver)
    before = gap(llm, first)
    weights = (Path(second) / "model.safetensors").read_bytes()
    llm.collective_rpc("update_weight", args=(weights, None, None, False))
    print(json.dumps({"before": before, "after": gap(llm, second), "stale": gap(llm, first)}))
"""
ENGINE_OF_ITS_OWN = """
class Receiver:  # as OpenRLHF's own does it, without what envhub_trainers.cpu._engine changes in vLLM
    def update_weight(self, weights, dtype, shape, empty_cache):
        from safetensors.torch import load
        self.model_runner.model.load_weights(weights=load(weights).items())
"""


def run(receiver: str, model: Path, other: Path, where: Path) -> subprocess.CompletedProcess[str]:
    """Ask how far an engine is from a model, and from another after it was given the other's weights."""
    (where / "engine.py").write_text(ENGINE)
    (where / "own.py").write_text(ENGINE_OF_ITS_OWN)
    environment = {**os.environ, **ENVIRONMENT, "VLLM_NO_USAGE_STATS": "1", "PYTHONPATH": str(where)}
    environment["VLLM_ALLOW_INSECURE_SERIALIZATION"] = "1"
    return subprocess.run(
        [sys.executable, str(where / "engine.py"), str(model), str(other), receiver],
        capture_output=True,
        text=True,
        env=environment,
        timeout=600,
    )


def test_an_engine_computes_with_the_weights_it_was_given(
    model: Path, other_model: Path, tmp_path: Path
) -> None:
    done = run("envhub_trainers.cpu._engine.WeightReceiver", model, other_model, tmp_path)
    answers = [line for line in done.stdout.splitlines() if line.startswith('{"before"')]
    assert answers, done.stdout[-3000:] + done.stderr[-3000:]  # not the status: vLLM may abort at its end
    said = json.loads(answers[0])
    assert said["before"] < 1e-4
    assert said["after"] < 1e-4
    assert "a weight transfer went wrong" in said["stale"]


def test_without_the_deviation_weights_are_packed_away(
    model: Path, other_model: Path, tmp_path: Path
) -> None:
    """The evidence that vLLM's packing has to be off; when this fails, it need not be any more."""
    done = run("own.Receiver", model, other_model, tmp_path)
    assert done.returncode != 0
    assert re.search(
        r"Worker failed with error '+(Attempted to load weight .* into parameter \(torch\.Size\(\[0\]\)\)"
        r"|'Parameter' object has no attribute 'weight_loader')",
        done.stdout + done.stderr,
    )
