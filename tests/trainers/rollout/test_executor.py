"""The agent executor, loaded and used as OpenRLHF does it: its loader, its experiences, its losses."""

import asyncio
import json
import os
import warnings
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace

import pytest

import envhub_trainers
from envhub_trainers._faults import RunStopped
from envhub_trainers._settings import ENV_VAR, SettingsRefused

pytest.importorskip("openrlhf", reason="needs OpenRLHF: the extra train-cpu")
torch = pytest.importorskip("torch")
pytestmark = pytest.mark.train

SOURCE = Path(envhub_trainers.__file__).with_name("executor.py")
MAX_LENGTH = 4000
PAD = 0


@pytest.fixture(scope="module")
def openrlhf():
    """OpenRLHF's own code around an executor."""
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        for name, value in cpu_environment().items():
            patch.setenv(name, os.environ.get(name, value))
        from openrlhf.models.loss import PolicyLoss
        from openrlhf.trainer.ppo_utils.experience import Experience
        from openrlhf.trainer.ppo_utils.samples_generator import SamplesGenerator
        from openrlhf.trainer.ray.vllm_engine import _load_agent_executor
        from vllm import SamplingParams
    return SimpleNamespace(
        load=_load_agent_executor,
        experience=SamplesGenerator._process_response_into_experience,
        concat=Experience.concat_experiences,
        loss=PolicyLoss,
        params=SamplingParams,
    )


def cpu_environment():
    from envhub_trainers.cpu import ENVIRONMENT, adapt

    adapt()
    return ENVIRONMENT


@pytest.fixture
def load(openrlhf, tmp_path, monkeypatch):
    """Load the executor as a rollout actor does: `load(url, …)`; it is closed with the test."""

    def make(url, **settings):
        told = {"hubs": [url], "env": "echo", "actions": "raw", "max_turns": 3, "episode_retries": 0}
        (tmp_path / "rollout.json").write_text(json.dumps({**told, "max_masked_share": 1.0, **settings}))
        monkeypatch.setenv(ENV_VAR, str(tmp_path / "rollout.json"))
        return openrlhf.load(str(SOURCE))

    return make


class Actor:
    """A rollout actor: `generate` as OpenRLHF's, with what vLLM returns, from a script."""

    def __init__(self, script):
        self.script = script
        self.params = []

    async def generate(self, ids, params):
        self.params.append(params)
        sampled = await self.script.generate(ids, params.max_tokens)
        log_probs = [
            {one: SimpleNamespace(logprob=given), one + 1: SimpleNamespace(logprob=-9.0)}
            for one, given in zip(sampled.ids, sampled.log_probs, strict=True)
        ]
        output = SimpleNamespace(
            token_ids=sampled.ids,
            logprobs=log_probs if params.logprobs is not None else None,
            finish_reason="stop" if sampled.ended else "length",
        )
        return SimpleNamespace(outputs=[output])


async def generate_responses(executor, actor, params, tokenizer, label='{"seed": 1}', count=1):
    """As `RolloutRayActor.generate_responses`."""
    samples = [
        executor.execute(
            prompt="the prompt of the data set",
            label=label,
            sampling_params=params,
            max_length=MAX_LENGTH,
            hf_tokenizer=tokenizer,
            llm_engine=actor,
            images=None,
        )
        for _ in range(count)
    ]
    try:
        return await asyncio.gather(*samples)
    finally:
        await executor._sampler.close()


@pytest.mark.parametrize("log_probs", [1, None])
async def test_what_openrlhf_gets_is_what_the_engine_sampled(url, openrlhf, load, chatml, answers, log_probs):
    actor = Actor(chatml(answers(["a", "b", "ü"])))
    params = openrlhf.params(max_tokens=50, temperature=0.7, logprobs=log_probs)
    before = deepcopy(params)
    (response,) = await generate_responses(load(url), actor, params, actor.script.tokenizer)
    ids, ranges = response["observation_tokens"], response["action_ranges"]
    assert len(ranges) == len(actor.script.calls) == 3
    outside = [0.0] * len(ids)
    for (start, end), call in zip(ranges, actor.script.calls, strict=True):
        assert call.ids == ids[:start] and call.answer.ids == ids[start:end]
        outside[start:end] = call.answer.log_probs
    assert response["rollout_log_probs"] == (outside if log_probs else None)
    assert params == before  # OpenRLHF uses it for all samples of a prompt
    assert {given.temperature for given in actor.params} == {0.7}
    assert all(given.max_tokens == 50 for given in actor.params)
    assert response["prompt"] == "the prompt of the data set" and response["label"] == '{"seed": 1}'
    assert response["truncated"] is True and response["reward"] == response["scores"] == 0.0

    experience = openrlhf.experience(SimpleNamespace(), response, max_len=MAX_LENGTH)
    assert experience.sequences.tolist() == [ids]
    assert experience.action_mask.sum() == sum(end - start for start, end in ranges)
    if log_probs:
        assert torch.equal(experience.rollout_log_probs == 0.0, experience.action_mask == 0)


async def test_without_a_limit_of_its_own_an_answer_may_fill_the_context(
    url, openrlhf, load, chatml, answers
):
    actor = Actor(chatml(answers(["a"])))
    params = openrlhf.params(max_tokens=None, logprobs=1)
    await generate_responses(load(url, max_turn_tokens=None), actor, params, actor.script.tokenizer)
    assert [given.max_tokens for given in actor.params] == [
        MAX_LENGTH - len(call.ids) for call in actor.script.calls
    ]


async def test_a_masked_sample_has_no_loss_and_leaves_its_groups_mean_as_it_is(url, openrlhf, load, chatml):
    """One of four samples fails for good. Its group's mean reward is that of the other three."""
    said = iter(["fail", "a", "b", "c", "right", "d"])
    actor = Actor(chatml(lambda number: next(said, "e")))
    executor = load(url, reward=[{"type": "outcome"}, {"type": "function", "call": f"{__file__}:judged"}])
    params = openrlhf.params(max_tokens=50, logprobs=1)
    responses = await generate_responses(executor, actor, params, actor.script.tokenizer, count=4)
    masked = [number for number, one in enumerate(responses) if one["extra_logs"]["masked"]]
    assert len(masked) == 1
    (lost,) = masked
    others = [one["reward"] for number, one in enumerate(responses) if number != lost]
    assert len(set(others)) > 1
    assert responses[lost]["reward"] == pytest.approx(sum(others) / 3)
    assert responses[lost]["action_ranges"] == []
    assert len({tuple(one["extra_logs"]) for one in responses}) == 1  # the same names, in the same order

    experiences = [openrlhf.experience(SimpleNamespace(), one, max_len=MAX_LENGTH) for one in responses]
    together = openrlhf.concat(experiences, PAD)
    rewards = together.rewards.float()
    advantages = (rewards - rewards.mean()).unsqueeze(-1) * together.action_mask
    alone = [number for number in range(4) if number != lost]
    whole, gradient = loss_of(openrlhf, together, advantages, range(4))
    rest, _ = loss_of(openrlhf, together, advantages, alone)
    assert whole == pytest.approx(rest) and torch.count_nonzero(gradient[lost]) == 0
    assert all(torch.count_nonzero(gradient[number]) for number in alone if advantages[number].any())


def judged(rollout):
    """The length of what was said: a reward that differs between samples."""
    return float(sum(len(turn.text) for turn in rollout.turns))


def loss_of(openrlhf, experience, advantages, rows):
    """OpenRLHF's policy loss of some rows, and its gradient."""
    rows = list(rows)
    old = experience.rollout_log_probs[rows]
    new = (old + 0.01).requires_grad_()
    loss, *_ = openrlhf.loss()(new, old, advantages[rows], action_mask=experience.action_mask[rows])
    loss.backward()
    return loss.item(), new.grad


async def test_a_sample_that_got_nowhere_is_masked_with_tokens_that_can_be_shown(
    openrlhf, load, chatml, answers
):
    actor = Actor(chatml(answers(["a"])))
    executor = load("http://127.0.0.1:9", hub_patience_s=0.1)
    params = openrlhf.params(max_tokens=50, logprobs=1)
    (response,) = await generate_responses(executor, actor, params, actor.script.tokenizer)
    assert response["extra_logs"]["masked"] == 1.0 and response["reward"] == 0.0
    assert len(response["observation_tokens"]) == len(response["rollout_log_probs"]) > 1
    experience = openrlhf.experience(SimpleNamespace(), response, max_len=MAX_LENGTH)
    assert experience.action_mask.sum() == 0 and experience.action_mask.numel() > 0


async def test_a_run_that_makes_no_sense_stops(url, openrlhf, load, chatml, answers):
    actor = Actor(chatml(answers(["a"])))
    params = openrlhf.params(max_tokens=50)
    with pytest.raises(RunStopped, match="no environment 'chess'"):
        await generate_responses(load(url, env="chess"), actor, params, actor.script.tokenizer)


def test_without_settings_there_is_no_executor(openrlhf, monkeypatch):
    monkeypatch.delenv(ENV_VAR, raising=False)
    with pytest.raises(SettingsRefused, match=ENV_VAR):
        openrlhf.load(str(SOURCE))
