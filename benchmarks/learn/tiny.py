"""A program that makes a tiny language model of FrozenLake in coordinates, with random weights.

`python -m learn.tiny FOLDER SIZE SEED`: for maps of up to SIZE rows and columns. A model that is there stays
as it is. Its words are those of the observations and the moves, a token each; a cell, such as `2,1`, is one.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

SPECIAL = ["<pad>", "<unk>", "<|user|>", "<|assistant|>", "<|end|>"]
TEMPLATE = (
    "{% for m in messages %}{% if m.role == 'assistant' %}{{ m.content }}<|end|>"
    "{% else %}<|user|>{{ m.content }}<|assistant|>{% endif %}{% endfor %}"
)
"""Three tokens a turn beside what is said. An answer is always waited for after a message."""

WIDTH, LAYERS, HEADS = 64, 2, 2  # heads of 32, the smallest that vLLM computes on CPUs
SPREAD = 0.1
"""Standard deviation of the weights: about 1 / sqrt(WIDTH). With the usual 0.02 a model as narrow as this one
stays on a plateau for ten times as long."""


def words(size: int) -> list[str]:
    """The vocabulary for maps of up to that size."""
    sizes = [f"{n}x{n}" for n in range(2, size + 1)]
    cells = [f"{row},{column}" for row in range(size) for column in range(size)]
    observed = ["size", "you", "goal", "holes", "none", *sizes, *cells]
    return [*SPECIAL, *observed, "left", "down", "right", "up"]


def tokenizer(size: int) -> PreTrainedTokenizerFast:
    """A token a word."""
    vocabulary = {word: number for number, word in enumerate(words(size))}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.add_special_tokens(SPECIAL)
    return PreTrainedTokenizerFast(
        tokenizer_object=made,
        pad_token="<pad>",
        unk_token="<unk>",
        eos_token="<|end|>",
        additional_special_tokens=["<|user|>", "<|assistant|>"],
        chat_template=TEMPLATE,
    )


def model(made: PreTrainedTokenizerFast, seed: int) -> LlamaForCausalLM:
    """A Llama of about 0.14 million random parameters."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(made),
        hidden_size=WIDTH,
        intermediate_size=4 * WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        max_position_embeddings=1024,
        initializer_range=SPREAD,
        bos_token_id=None,
        eos_token_id=made.eos_token_id,
        pad_token_id=made.pad_token_id,
    )
    return LlamaForCausalLM(config)


def main(folder: str, size: str, seed: str) -> None:
    if not Path(folder, "config.json").is_file():
        made = tokenizer(int(size))
        made.save_pretrained(folder)
        model(made, int(seed)).save_pretrained(folder)
    print(LlamaForCausalLM.from_pretrained(folder).num_parameters())


if __name__ == "__main__":
    main(*sys.argv[1:])
