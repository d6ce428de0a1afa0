"""The agent executor that OpenRLHF loads (`--train.agent_func_path`): its samples are the hub's episodes.

OpenRLHF makes an `AgentExecutor` in every rollout actor, without arguments; the environment variable
ENVHUB_ROLLOUT names the file with its settings (`envhub_trainers._settings.RolloutSettings`). The label of a
prompt says what is played, the prompt itself is only passed on: what a model is told comes from the
environment.

Of everything that can go wrong only `RunStopped` leaves `execute`, and ends the run with its report.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from openrlhf.utils.agent import AgentExecutorBase
from vllm.sampling_params import RequestOutputKind

from envhub_trainers._chat import Chat
from envhub_trainers._groups import Groups
from envhub_trainers._rollout import Generation
from envhub_trainers._sampler import Sample, Sampler
from envhub_trainers._settings import ENV_VAR, SettingsRefused, read

__all__ = ["AgentExecutor"]


class VllmEngine:
    """OpenRLHF's rollout actor as an engine.

    Args:
        actor: What has `generate(ids, sampling_params)`.
        sampling_params: vLLM's, of which `max_tokens` is changed; and an answer is handed over whole, not
            token by token, which would keep the event loop busy that environments answer to.
    """

    def __init__(self, actor: Any, sampling_params: Any) -> None:
        self._actor = actor
        self._params = sampling_params

    async def generate(self, ids: list[int], max_tokens: int) -> Generation:
        """Continue `ids` by at most `max_tokens`."""
        params = deepcopy(self._params)
        asked = getattr(params, "max_tokens", None)
        params.output_kind = RequestOutputKind.FINAL_ONLY
        params.max_tokens = max_tokens if asked is None else min(asked, max_tokens)
        (output,) = (await self._actor.generate(ids, params)).outputs
        sampled = list(output.token_ids)
        log_probs = None
        if params.logprobs is not None:
            log_probs = [_log_prob(of, one) for of, one in zip(output.logprobs, sampled, strict=True)]
        return Generation(sampled, log_probs, ended=output.finish_reason == "stop")


class AgentExecutor(AgentExecutorBase):  # type: ignore[misc]
    """Plays an episode for each sample that OpenRLHF asks for.

    Raises:
        SettingsRefused: ENVHUB_ROLLOUT names no file of settings that can be used.
        HookNotFound: A hook that the settings name isn't there.
    """

    def __init__(self) -> None:
        where = os.environ.get(ENV_VAR)
        if not where:
            raise SettingsRefused(
                f"{ENV_VAR} is not set: it names the file with the settings of the rollouts"
            )
        self._sampler = Sampler(read(Path(where)))
        self._groups = Groups()
        self._chat: Chat | None = None

    async def execute(
        self,
        prompt: str,
        label: str,
        sampling_params: Any,
        max_length: int,
        hf_tokenizer: Any,
        llm_engine: Any,
        images: Any = None,
    ) -> dict[str, Any]:
        """Play an episode; the answer is what OpenRLHF makes an experience of.

        Raises:
            RunStopped: It makes no sense to go on.
        """
        group = self._groups.join(sampling_params, label)
        known: tuple[float, float] | None = None
        try:
            if self._chat is None:
                self._chat = self._sampler.chat(hf_tokenizer)
            engine = VllmEngine(llm_engine, sampling_params)
            sample = await self._sampler.sample(label, engine, self._chat, max_length)
            if sample.reward is not None:
                known = (sample.reward, sample.rollout.episode_return)
        finally:
            group.done(known)
            self._groups.leave(group, label)
        reward, score = known or await group.mean()
        tokens = _tokens(sample, hf_tokenizer, prompt, max_length)
        return {
            "prompt": prompt,
            "label": label,
            "images": images,
            "mm_train_inputs": None,
            "reward": reward,
            "scores": score,
            "observation_tokens": tokens,
            "action_ranges": [] if sample.masked else sample.rollout.ranges,
            "rollout_log_probs": _log_probs(sample, len(tokens), sampling_params),
            "truncated": sample.rollout.truncated_by is not None,
            "extra_logs": sample.logs(self._sampler.rewards.names),
        }


def _tokens(sample: Sample, tokenizer: Any, prompt: str, most: int) -> list[int]:
    """A sample's ids; of one that got nowhere the prompt's, for a model has to be shown something."""
    ids = list(sample.rollout.ids) or list(tokenizer.encode(prompt, add_special_tokens=False))
    padding = [tokenizer.eos_token_id or 0] * 2  # a sample needs a token that is predicted
    return ids[:most] if len(ids) > 1 else padding


def _log_probs(sample: Sample, count: int, sampling_params: Any) -> list[float] | None:
    if sampling_params.logprobs is None:
        return None
    given = sample.rollout.log_probs
    return [0.0] * count if sample.masked or given is None else list(given)


def _log_prob(of: Mapping[int, Any], one: int) -> float:
    return float(of[one].logprob)
