"""Small tokenizers with chat templates of every kind, engines that follow a script, and real hubs."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from envhub_sdk import _retry
from envhub_trainers._rollout import Generation

from ...hubs import serving

CORPUS = [
    "Thought: I go right to the goal. Action: right",
    "Action: search[red shoes] Action: click[buy now] Observation:",
    "```left``` ```right``` ```up``` ```down``` <think> </think>",
    "user assistant system You walk over a frozen lake, seen as a grid. \n\n \t P _ O G",
]
SPECIAL = ["<pad>", "<s>", "</s>", "<|im_start|>", "<|im_end|>", "<|endoftext|>"]
SPECIAL += ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"]

TEMPLATES = {
    "chatml": (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
        "<|im_end|>",
        "",
    ),
    "llama": (
        "<|begin_of_text|>{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
        "{{ m.content | trim }}<|eot_id|>{% endfor %}"
        "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}",
        "<|eot_id|>",
        "",
    ),
    "mistral": (
        "<s>{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]"
        "{% elif m.role == 'assistant' %} {{ m.content | trim }}</s>"
        "{% else %}{{ raise_exception('only user and assistant') }}{% endif %}{% endfor %}",
        "</s>",
        " ",
    ),
    "newline before the end mark": (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}\n<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
        "\n<|im_end|>",
        "",
    ),
}
"""Templates that can be used, the end mark that a model samples, and what it samples before an answer."""

DROPPING = {
    "like Qwen3": (
        "{% set ns = namespace(last=0) %}{% for m in messages %}{% if m.role == 'user' %}"
        "{% set ns.last = loop.index0 %}{% endif %}{% endfor %}{% for m in messages %}"
        "<|im_start|>{{ m.role }}\n{% if m.role == 'assistant' and loop.index0 < ns.last %}"
        "{{ m.content.split('</think>')[-1].lstrip('\n') }}{% else %}{{ m.content }}{% endif %}<|im_end|>\n"
        "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    ),
    "like R1": (
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content.split('</think>')[-1] }}<|im_end|>\n"
        "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}"
    ),
}
"""Templates that drop the thoughts of earlier answers."""


def make_tokenizer(template: str | None, end: str = "<|im_end|>") -> Any:
    """A byte-level BPE tokenizer with merges, so that what is decoded and encoded again may well differ."""
    tokenizers = pytest.importorskip("tokenizers")
    with warnings.catch_warnings():  # of torch, where it is installed
        warnings.simplefilter("ignore")
        fast = pytest.importorskip("transformers").PreTrainedTokenizerFast
    bpe = tokenizers.Tokenizer(tokenizers.models.BPE())
    bpe.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=600,
        special_tokens=SPECIAL,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(CORPUS * 20, trainer)
    return fast(tokenizer_object=bpe, eos_token=end.strip(), pad_token="<pad>", chat_template=template)


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_retry, "FIRST_PAUSE_S", 0.01)


@dataclass
class Call:
    """What an engine was asked and what it answered."""

    ids: list[int]
    max_tokens: int
    answer: Generation


@dataclass
class Script:
    """An engine that says what it is told to, in tokens that no tokenizer would choose.

    Attributes:
        say: Gives the text of an answer, from its number; raises what the engine is to raise.
        end: The end mark, with which it ends its answers.
        before: What it samples before an answer.
        log_probs: Whether it gives any.
        calls: What it was asked.
    """

    tokenizer: Any
    say: Callable[[int], str]
    end: str = "<|im_end|>"
    before: str = ""
    log_probs: bool = True
    calls: list[Call] = field(default_factory=list)
    random: random.Random = field(default_factory=lambda: random.Random(0))

    async def generate(self, ids: list[int], max_tokens: int) -> Generation:
        text = self.before + self.say(len(self.calls))
        sampled = self.spelled(text) + self.tokenizer.encode(self.end, add_special_tokens=False)
        cut = sampled[:max_tokens]
        given = [-self.random.random() for _ in cut] if self.log_probs else None
        answer = Generation(cut, given, ended=len(cut) == len(sampled))
        self.calls.append(Call(ids, max_tokens, answer))
        return answer

    def spelled(self, text: str) -> list[int]:
        """A text a character or a few at a time, as a model at a high temperature may spell it."""
        ids: list[int] = []
        while text:
            size = self.random.randint(1, 3)
            ids += self.tokenizer.encode(text[:size], add_special_tokens=False)
            text = text[size:]
        return ids


@pytest.fixture(params=TEMPLATES)
def model(request: pytest.FixtureRequest) -> Callable[..., Script]:
    """An engine of each kind of template: `model(say)`."""
    template, end, before = TEMPLATES[request.param]
    tokenizer = make_tokenizer(template, end)
    return lambda say, **options: Script(tokenizer, say, end, before, **options)


@pytest.fixture
def chatml() -> Callable[..., Script]:
    """An engine with the ChatML template: `chatml(say)`."""
    template, end, _ = TEMPLATES["chatml"]
    tokenizer = make_tokenizer(template, end)
    return lambda say, **options: Script(tokenizer, say, end, **options)


class Kit:
    """What the tests make models of."""

    tokenizer = staticmethod(make_tokenizer)
    script = Script
    templates = TEMPLATES
    dropping = DROPPING


@pytest.fixture(scope="session")
def kit() -> type[Kit]:
    return Kit


# -- hubs -------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """A hub with frozenlake, webshop, CartPole-v1 and an echo of endless episodes that can fail."""
    envs = ("frozenlake=8", "webshop=4", "echo=8", "gymnasium:CartPole-v1=2")
    faults = ("echo.fail_on=fail", "echo.exit_on=exit", "echo.hang_on=hang")
    arguments = [part for env in envs for part in ("--env", env)]
    with serving(*arguments, *(part for fault in faults for part in ("--set", fault))) as where:
        yield where


@pytest.fixture
def answers() -> Callable[[Sequence[str]], Callable[[int], str]]:
    """Say these, one after another, and the last one for ever: `answers(["a", "b"])`."""
    return lambda texts: lambda number: texts[min(number, len(texts) - 1)]
