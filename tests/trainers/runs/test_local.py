"""A model in this process: a tiny one, made here, with random weights."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from envhub.cli import main
from envhub_trainers._policies import NoSuchPolicy

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own

TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Llama of some thousand weights, and a tokenizer of bytes."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    bytes_only = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = sorted(tokenizers.pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: at for at, token in enumerate(["<pad>", "<|im_start|>", "<|im_end|>", *alphabet])}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=[]))
    made.pre_tokenizer, made.decoder = bytes_only, tokenizers.decoders.ByteLevel()
    made.add_special_tokens(["<pad>", "<|im_start|>", "<|im_end|>"])
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token="<|im_end|>", pad_token="<pad>", chat_template=TEMPLATE
    )
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=1024,
        eos_token_id=2,
        pad_token_id=0,
        bos_token_id=None,
    )
    where = tmp_path_factory.mktemp("model")
    transformers.LlamaForCausalLM(config).save_pretrained(where)
    tokenizer.save_pretrained(where)
    return where


def greedy(folder: Path) -> Any:
    from envhub_trainers._local import LocalEngine

    return LocalEngine(folder, temperature=0.0)


async def test_answers_sampled_together_are_those_sampled_alone(folder: Path) -> None:
    contexts = [[5, 6, 7], [8, 9, 10, 11, 12, 13, 14], [20]]
    alone = [await greedy(folder).generate(ids, 6) for ids in contexts]
    engine = greedy(folder)
    together = await asyncio.gather(*(engine.generate(ids, 6) for ids in contexts))
    assert together == alone
    assert all(len(answer.ids) == 6 or answer.ended for answer in together)


async def test_each_has_its_own_limit_and_its_own_end(folder: Path) -> None:
    engine = greedy(folder)
    short, long = await asyncio.gather(engine.generate([5, 6], 2), engine.generate([5, 6], 9))
    assert short.ids == long.ids[:2] and not short.ended
    engine._ends = {long.ids[4]}
    first = long.ids.index(long.ids[4])
    ended = await engine.generate([5, 6], 9)
    assert (ended.ids, ended.ended) == (long.ids[: first + 1], True)


async def test_a_failure_is_told_to_who_asked(folder: Path) -> None:
    engine = greedy(folder)
    with pytest.raises(IndexError):
        await engine.generate([100_000], 2)
    assert (await engine.generate([5], 2)).ids


async def test_a_conversation_is_only_added_to_and_ends_at_the_context(folder: Path) -> None:
    from envhub_trainers._chat import Chat
    from envhub_trainers._endpoint import EndpointFailed, EndpointRefused
    from envhub_trainers._local import LocalSpeaker
    from envhub_trainers._rollout import Generation

    asked: list[list[int]] = []

    class Says:
        async def generate(self, ids: list[int], max_tokens: int) -> Generation:
            asked.append(ids)
            return Generation([*range(40, 44), 2], None, ended=True)

    tokenizer = greedy(folder).tokenizer
    speak = LocalSpeaker(Says(), Chat(tokenizer), context=150, answer_tokens=20)
    messages = [{"role": "system", "content": "Walk."}, {"role": "user", "content": "one"}]
    answer = await speak(messages)
    assert not answer.cut and answer.text == tokenizer.decode(range(40, 44))
    messages += [{"role": "assistant", "content": answer.text}, {"role": "user", "content": "two"}]
    await speak(messages)
    assert asked[1][: len(asked[0]) + 5] == [*asked[0], *range(40, 44), 2]
    rendered = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    assert tokenizer.decode(asked[1]) == rendered
    speak._engine = greedy(folder)
    messages += [{"role": "assistant", "content": answer.text}, {"role": "user", "content": "three"}]
    speak._ids = [100_000]
    with pytest.raises(EndpointFailed, match="the model failed: IndexError"):
        await speak(messages)
    messages += [{"role": "assistant", "content": answer.text}, {"role": "user", "content": "x" * 200}]
    with pytest.raises(EndpointRefused, match=r"the conversation has \d+ tokens and the model sees 150"):
        await speak(messages)


def test_a_model_is_evaluated(
    folder: Path, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    monkeypatch.setenv("ENVHUB_URL", url)
    arguments = ["eval", "--env", "frozenlake", "--model", str(folder), "--limit", "3", "--max-tokens", "4"]
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--prompt", "bare", "--form", "raw", "--out", str(tmp_path), "--json"])
    assert ended.value.code in (0, None)
    found = json.loads(capfd.readouterr().out)
    assert (found["total"]["episodes"], found["faults"]) == (3, {})
    assert found["total"]["invalid_actions"] > 0  # its weights are random
    assert found["run"]["policy"]["kind"] == "local"


def test_a_model_that_was_changed_is_another(tmp_path: Path) -> None:
    from envhub_trainers._local import fingerprint

    (tmp_path / "weights").write_text("1")
    before = fingerprint(tmp_path)
    assert fingerprint(tmp_path) == before
    (tmp_path / "weights").write_text("22")
    assert fingerprint(tmp_path) != before


def test_what_is_no_model_is_said(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(NoSuchPolicy, match=r"no model in .*--endpoint URL"):
        greedy(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(NoSuchPolicy, match="can't be loaded"):
        greedy(tmp_path)


def test_without_transformers_it_says_what_to_install(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    arguments = ["eval", "--env", "frozenlake", "--model", str(tmp_path), "--out", str(tmp_path / "run")]
    with pytest.raises(SystemExit) as ended:
        main([*arguments, "--hub", url])
    assert ended.value.code == 2
    assert "torch is not installed: pip install '.[train-cpu]'" in capsys.readouterr().err
