"""A program that makes a language model of 95,000 random parameters: `python tiny_model.py FOLDER [SEED]`.

Its tokenizer knows bytes only, so that it writes and reads anything. transformers takes the tokenizer of any
Qwen2 model for a `Qwen2Tokenizer`, so it is made as one.
"""

import sys

import torch
from tokenizers import pre_tokenizers
from transformers import Qwen2Config, Qwen2ForCausalLM, Qwen2TokenizerFast

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def main(folder: str, seed: str = "0") -> None:
    words = [*sorted(pre_tokenizers.ByteLevel.alphabet()), "<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    tokenizer = Qwen2TokenizerFast(
        vocab={word: number for number, word in enumerate(words)},
        merges=[],
        unk_token=None,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=["<|im_start|>", "<|im_end|>"],
        chat_template=TEMPLATE,
    )
    tokenizer.save_pretrained(folder)
    torch.manual_seed(int(seed))
    config = Qwen2Config(
        vocab_size=320,
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=2,  # of size 32, the smallest that vLLM computes on CPUs
        num_key_value_heads=1,
        max_position_embeddings=8192,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.convert_tokens_to_ids("<|im_end|>"),
        pad_token_id=tokenizer.convert_tokens_to_ids("<|endoftext|>"),
    )
    Qwen2ForCausalLM(config).save_pretrained(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
