"""Fine-tuning on conversations: the loss is on the answers, and a model learns them by heart."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from envhub_trainers import _sft

pytestmark = [pytest.mark.train, pytest.mark.timeout(1800)]

MASKED = """
import json, sys
from envhub_trainers.cpu import adapt
adapt()
from types import SimpleNamespace
from datasets import load_dataset
from openrlhf.datasets import SFTDataset
from transformers import AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
data = SimpleNamespace(input_key="conversations", apply_chat_template=True)
strategy = SimpleNamespace(args=SimpleNamespace(data=data))
lines = load_dataset("json", data_files=sys.argv[2])["train"]
[(ids, _, mask)] = SFTDataset(lines, tokenizer, 512, strategy, num_processors=1, multiturn=True)
learned = [one for one, kept in zip(ids[0, 1:].tolist(), mask[0].tolist()) if kept]
print(json.dumps([tokenizer.decode(ids[0]), tokenizer.decode(learned)]))
"""

ANSWERED = """
import json, sys
from transformers import AutoModelForCausalLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
model = AutoModelForCausalLM.from_pretrained(sys.argv[1])
said = []
for asked in json.loads(sys.argv[2]):
    text = tokenizer.apply_chat_template(asked, tokenize=False, add_generation_prompt=True)
    ids = tokenizer(text, return_tensors="pt", add_special_tokens=False).input_ids
    out = model.generate(ids, max_new_tokens=16, do_sample=False, eos_token_id=tokenizer.eos_token_id)
    said.append(tokenizer.decode(out[0, ids.shape[1]:], skip_special_tokens=True))
print(json.dumps(said))
"""

CONVERSATION = [
    {"role": "user", "content": "where now?"},
    {"role": "assistant", "content": "left"},
    {"role": "user", "content": "and now?"},
    {"role": "assistant", "content": "up"},
]


def _output(program: str, *arguments: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found: list[str] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture
def conversations(tmp_path: Path) -> Path:
    file = tmp_path / "conversations.jsonl"
    file.write_text(json.dumps({"id": "one", "conversations": CONVERSATION}) + "\n")
    return file


def test_the_loss_is_on_each_answer_and_on_nothing_that_was_said_to_the_model(
    model: Path, conversations: Path
) -> None:
    text, learned = _output(MASKED, str(model), str(conversations))
    assert text == (
        "<|im_start|>user\nwhere now?<|im_end|>\n<|im_start|>assistant\nleft<|im_end|>\n"
        "<|im_start|>user\nand now?<|im_end|>\n<|im_start|>assistant\nup<|im_end|>"
    )
    assert learned == "left<|im_end|>\nup<|im_end|>"


def test_what_is_shown_often_is_known_afterwards(model: Path, conversations: Path, tmp_path: Path) -> None:
    conversations.write_text(conversations.read_text() * 64)
    how = _sft.FineTuning(epochs=10, batch_size=8, lr=3e-3, max_tokens=256)
    _sft.fine_tune(model, conversations, tmp_path / "tuned", how, tmp_path / "log")
    asked = json.dumps([CONVERSATION[:1], CONVERSATION[:3]])
    assert _output(ANSWERED, str(tmp_path / "tuned"), asked) == ["left", "up"]


def test_a_failure_is_told_with_its_last_words(model: Path, tmp_path: Path) -> None:
    with pytest.raises(_sft.FineTuningFailed, match=r"nowhere\.jsonl"):
        _sft.fine_tune(
            model, tmp_path / "nowhere.jsonl", tmp_path / "out", _sft.FineTuning(), tmp_path / "log"
        )
