"""From the policy to the engines: every weight at once, through Ray, verified by what the engines then say.

After each transfer every engine is asked for the log-probabilities of a fixed sequence and the policy
computes the same. They agree to about 1e-6 in fp32; a wrong, missing or stale weight shows at once and ends
the run.
"""

from __future__ import annotations

import math
import time
from typing import Any

PROBE_TOKENS = 24
"""The length of the sequence that policy and engines are compared on."""

TOLERANCE = {"fp32": 1e-3, "bf16": 0.25, "fp16": 0.05}
"""The largest difference of a log-probability that is rounding and not a wrong weight, by number format."""


class WeightsDiffer(RuntimeError):
    """An engine does not compute what the policy computes, although it was given the policy's weights."""


def send_to_engines(trainer: Any) -> None:
    """Give the policy's weights to every engine and check that they arrived. Called on every rank.

    Args:
        trainer: OpenRLHF's `ActorPPOTrainer`, of which this becomes the method `broadcast_to_vllm`.

    Raises:
        WeightsDiffer: what an engine computes is not what the policy computes.
    """
    import ray
    import torch

    started = time.monotonic()
    weights = _gathered(trainer)
    tokens = probe(trainer.actor.model.module.config.vocab_size)
    expected = log_probs(trainer.actor.model, tokens)
    if torch.distributed.get_rank() == 0:
        from safetensors.torch import save

        _check(trainer)  # of the last transfer, where it had to wait
        stored = ray.put(save(weights))
        ray.get([engine.update_weight.remote(stored, None, None) for engine in trainer.vllm_engines])
        if trainer.args.vllm.enable_prefix_caching:
            ray.get([engine.reset_prefix_cache.remote() for engine in trainer.vllm_engines])
        trainer.envhub_sent = getattr(trainer, "envhub_sent", 0) + 1
        trainer.envhub_expected = (expected, _ask(trainer.vllm_engines, tokens), started)
        if not trainer.args.train.partial_rollout_enable:  # then the engines are paused and would not answer
            _check(trainer)
    torch.distributed.barrier()


def _gathered(trainer: Any) -> dict[str, Any]:
    """All weights, whole, on rank 0; nothing elsewhere. Under ZeRO-3 each rank has to take part."""
    import deepspeed
    import torch

    model = trainer.actor.model.module
    named = list(model.named_parameters())
    sharded = trainer.args.ds.zero_stage == 3
    with deepspeed.zero.GatheredParameters([parameter for _, parameter in named], enabled=sharded):
        if torch.distributed.get_rank() != 0:
            return {}
        return {name: parameter.detach().clone().contiguous() for name, parameter in named}


def probe(vocabulary: int) -> list[int]:
    """A fixed sequence over the whole vocabulary."""
    return [(7919 * position + 104729) % vocabulary for position in range(PROBE_TOKENS)]


def log_probs(model: Any, tokens: list[int]) -> list[float]:
    """What the policy thinks of each token after the first."""
    import torch

    ids = torch.tensor([tokens])
    training = model.training
    model.eval()
    with torch.no_grad():
        logits = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits[0, :-1].float()
    model.train(training)
    chosen = torch.log_softmax(logits, dim=-1).gather(1, ids[0, 1:, None])
    return [float(value) for value in chosen[:, 0]]


def _ask(engines: list[Any], tokens: list[int]) -> list[Any]:
    """Ask the engines the same; their answers are on the way."""
    from vllm import SamplingParams

    question = SamplingParams(max_tokens=1, temperature=0.0, prompt_logprobs=0)
    return [engine.generate.remote(tokens, question) for engine in engines]


def _check(trainer: Any) -> None:
    """Compare the answers that are due with what the policy said at the transfer."""
    import ray

    due = getattr(trainer, "envhub_expected", None)
    if due is None:
        return
    trainer.envhub_expected = None
    expected, asked, started = due
    gap = verified(expected, ray.get(asked), TOLERANCE[trainer.args.ds.param_dtype])
    print(
        f"envhub: weights {trainer.envhub_sent} in {len(asked)} engine(s), largest difference of a "
        f"log-probability {gap:.2e}, {time.monotonic() - started:.2f} s",
        flush=True,
    )


def verified(expected: list[float], answers: list[Any], tolerance: float) -> float:
    """Compare what engines say of a sequence with what the policy says.

    Args:
        expected: The policy's log-probabilities of the tokens after the first.
        answers: The engines' outputs, with the log-probabilities of the same prompt.
        tolerance: The largest difference that may be.

    Returns:
        The largest difference there is.

    Raises:
        WeightsDiffer: It is larger, or an engine computes something that is no number.
    """
    gap = max(_largest_gap(expected, answer) for answer in answers)
    if gap > tolerance:
        raise WeightsDiffer(
            f"a weight transfer went wrong: on {len(expected)} fixed tokens the policy and vLLM differ by "
            f"{gap:.3g} in a log-probability, where {tolerance:g} would be rounding. The run would train on "
            "samples of another model."
        )
    return gap


def _largest_gap(expected: list[float], answer: Any) -> float:
    tokens, entries = answer.prompt_token_ids[1:], answer.prompt_logprobs[1:]
    said = [entry[token].logprob for token, entry in zip(tokens, entries, strict=True)]
    gaps = [abs(a - b) for a, b in zip(expected, said, strict=True)]
    return max(math.inf if math.isnan(gap) else gap for gap in gaps)
