"""A model in this process, through transformers: for small models and small runs.

Answers of many episodes are sampled together, in a thread of their own, so that heartbeats go on meanwhile. A
large model is better served by an inference server and asked as an endpoint.

What an episode's context is made of is said in `_chat`: what was sampled stays as it was sampled.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from envhub_trainers._chat import Chat, Message
from envhub_trainers._conversations import Style
from envhub_trainers._endpoint import Answer, EndpointFailed, EndpointRefused
from envhub_trainers._policies import NoSuchPolicy, Player, Policy
from envhub_trainers._rollout import Engine, Generation
from envhub_trainers._talking import Talker

BATCH = 64
"""Answers that are sampled together at most."""
ANSWER_TOKENS = 512
"""Tokens of an answer, where nothing else is said."""


@dataclass(slots=True)
class _Request:
    ids: list[int]
    max_tokens: int
    answer: asyncio.Future[Generation] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )


class LocalEngine:
    """Samples from a model in Hugging Face's format; an `Engine`. Use it in one event loop.

    Args:
        folder: The model, with its tokenizer.
        temperature: Of the sampling; 0: always the likeliest token.

    Raises:
        NoSuchPolicy: There is no such model.
        ModuleNotFoundError: torch or transformers is not installed.
    """

    def __init__(self, folder: Path, temperature: float = 1.0) -> None:
        if not (folder / "config.json").is_file():
            raise NoSuchPolicy(
                f"no model in {folder}: give a folder with a config.json, or --endpoint URL for one elsewhere"
            )
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        device, dtype = ("cuda", "auto") if torch.cuda.is_available() else ("cpu", torch.float32)
        try:
            self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
            model: Any = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
        except Exception as reason:
            raise NoSuchPolicy(f"the model in {folder} can't be loaded: {reason}") from reason
        self._model = model.to(device).eval()
        self.context: int = model.config.max_position_embeddings
        """Tokens the model can see."""
        ends = model.generation_config.eos_token_id or self.tokenizer.eos_token_id
        self._ends: set[int] = set(ends if isinstance(ends, list) else [ends]) - {None}
        self._sampling = (
            {"do_sample": True, "temperature": temperature} if temperature else {"do_sample": False}
        )
        self._waiting: list[_Request] = []
        self._sampler: asyncio.Task[None] | None = None

    async def generate(self, ids: list[int], max_tokens: int) -> Generation:
        """Continue `ids` by at most `max_tokens`; log-probabilities are not given."""
        request = _Request(ids, max_tokens)
        self._waiting.append(request)
        if self._sampler is None or self._sampler.done():
            self._sampler = asyncio.create_task(self._sample_all())
        return await request.answer

    async def _sample_all(self) -> None:
        """Sample until nobody waits; who comes meanwhile is in the next batch."""
        while self._waiting:
            batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
            try:
                answers = await asyncio.to_thread(self._sample, batch)
            except Exception as error:
                for request in batch:
                    if not request.answer.done():
                        request.answer.set_exception(error)
                continue
            for request, answer in zip(batch, answers, strict=True):
                if not request.answer.done():  # cancelled meanwhile
                    request.answer.set_result(answer)

    def _sample(self, batch: Sequence[_Request]) -> list[Generation]:
        import torch

        longest = max(len(request.ids) for request in batch)
        padding = self.tokenizer.pad_token_id or 0
        ids = [[padding] * (longest - len(request.ids)) + request.ids for request in batch]
        seen = [[0] * (longest - len(request.ids)) + [1] * len(request.ids) for request in batch]
        with torch.inference_mode():
            out = self._model.generate(
                input_ids=torch.tensor(ids, device=self._model.device),
                attention_mask=torch.tensor(seen, device=self._model.device),
                max_new_tokens=max(request.max_tokens for request in batch),
                eos_token_id=sorted(self._ends) or None,
                pad_token_id=padding,
                **self._sampling,
            )
        sampled = out[:, longest:].tolist()
        return [self._cut(row, request.max_tokens) for row, request in zip(sampled, batch, strict=True)]

    def _cut(self, ids: list[int], max_tokens: int) -> Generation:
        """What belongs to an answer: up to its end mark, or to its limit."""
        for at, token in enumerate(ids[:max_tokens]):
            if token in self._ends:
                return Generation(ids[: at + 1], None, ended=True)
        return Generation(ids[:max_tokens], None, ended=False)


class LocalSpeaker:
    """Answers one conversation.

    Args:
        engine: Samples.
        chat: The model's chat template.
        context: Tokens the model can see.
        answer_tokens: Tokens of an answer, at most.
    """

    def __init__(self, engine: Engine, chat: Chat, context: int, answer_tokens: int) -> None:
        self._engine = engine
        self._chat = chat
        self._context = context
        self._answer_tokens = answer_tokens
        self._ids: list[int] = []
        self._last: Generation | None = None

    async def __call__(self, messages: Sequence[Message]) -> Answer:
        """Answer the last message.

        Raises:
            EndpointFailed: The engine failed.
            EndpointRefused: The conversation is longer than the model's context.
        """
        told = messages[-1]["content"]
        if self._last is None:
            system = messages[0]["content"] if messages[0]["role"] == "system" else None
            self._ids = self._chat.opening(system, told)
        else:
            self._ids += self._chat.between(self._last.ids, ended=self._last.ended, message=told)
        room = min(self._answer_tokens, self._context - len(self._ids))
        if room < 1:
            raise EndpointRefused(
                f"the conversation has {len(self._ids)} tokens and the model sees {self._context}", 400
            )
        try:
            self._last = await self._engine.generate(list(self._ids), room)
        except Exception as error:
            raise EndpointFailed(f"the model failed: {type(error).__name__}: {error}") from error
        self._ids += self._last.ids
        return Answer(self._chat.text(self._last.ids), cut=not self._last.ended)


def player(folder: Path, style: Style, temperature: float | None, answer_tokens: int | None) -> Player:
    """Make the player that is a model in this process.

    Raises:
        NoSuchPolicy: There is no such model.
        TemplateRefused: Its chat template can't be used.
        ModuleNotFoundError: torch or transformers is not installed.
    """
    heat = 1.0 if temperature is None else temperature
    tokens = answer_tokens or ANSWER_TOKENS
    engine = LocalEngine(folder, heat)
    chat = Chat(engine.tokenizer)
    facts = {
        "kind": "local",
        "name": str(folder),
        "files": fingerprint(folder),
        "sampling": {"temperature": heat, "max_tokens": tokens},
        **style.facts,
    }

    def make(seed: int) -> Policy:
        return Talker(LocalSpeaker(engine, chat, engine.context, tokens), style)

    return Player(facts, make)


def fingerprint(folder: Path) -> str:
    """Digest of names, sizes and times of a folder's files: a model that was trained on has another."""
    files = sorted((file.name, file.stat()) for file in folder.iterdir() if file.is_file())
    known = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in files]
    return hashlib.sha256(repr(known).encode()).hexdigest()[:16]
