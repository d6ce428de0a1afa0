"""Supervised fine-tuning on conversations, by unmodified `openrlhf.cli.train_sft`, in one process on CPUs.

It reads `conversations.jsonl` of `envhub collect` as it is; the loss is on the answers, all of them.
`fine_tune` starts a process; `python -m envhub_trainers._sft FLAGS` is that process.
"""

from __future__ import annotations

import os
import runpy
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from envhub_trainers.cpu import DTYPE_VARIABLE, ENVIRONMENT, adapt

__all__ = ["MODULE", "FineTuning", "FineTuningFailed", "command", "fine_tune"]

MODULE = "openrlhf.cli.train_sft"
LINES_KEPT = 30


class FineTuningFailed(RuntimeError):
    """It ended before its end; the message has the last that was heard of it."""


@dataclass(frozen=True, slots=True)
class FineTuning:
    """What is done to a model.

    Attributes:
        epochs: How often each conversation is seen.
        batch_size: Conversations an update; of what is left over of an epoch nothing is learned.
        lr: The learning rate at its highest; it falls to a tenth along a cosine.
        max_tokens: Of a conversation; longer ones are cut.
        seed: Of the order.
    """

    epochs: int = 1
    batch_size: int = 32
    lr: float = 2e-3
    max_tokens: int = 2048
    seed: int = 42


def command(model: Path, conversations: Path, output: Path, how: FineTuning) -> list[str]:
    """OpenRLHF's flags."""
    words: list[str | int | float | Path] = ["--model.model_name_or_path", model]
    words += ["--data.dataset", conversations, "--data.input_key", "conversations"]
    words += ["--data.apply_chat_template", "--data.multiturn", "--data.max_len", how.max_tokens]
    words += ["--train.max_epochs", how.epochs, "--train.seed", how.seed, "--adam.lr", how.lr]
    words += ["--train.batch_size", how.batch_size, "--train.micro_batch_size", how.batch_size]
    words += ["--ds.param_dtype", "fp32", "--ds.attn_implementation", "sdpa"]
    words += ["--ckpt.output_dir", output, "--ckpt.path", output / "checkpoints"]
    return [str(word) for word in words]


def fine_tune(model: Path, conversations: Path, output: Path, how: FineTuning, log: Path) -> None:
    """Train a model on conversations, and wait for it.

    Args:
        model: Folder of a model in Hugging Face's format, with a chat template.
        conversations: JSON lines with `conversations`.
        output: Folder for the model that comes of it.
        how: How.
        log: File for all that OpenRLHF prints.

    Raises:
        FineTuningFailed: It did not work.
    """
    environment = {**os.environ, **ENVIRONMENT, DTYPE_VARIABLE: "fp32", **_alone()}
    words = command(model, conversations, output, how)
    with log.open("w") as said:
        status = subprocess.run(
            [sys.executable, "-m", "envhub_trainers._sft", *words],
            env=environment,
            stdout=said,
            stderr=subprocess.STDOUT,
            check=False,
        ).returncode
    if status != 0 or not (output / "config.json").is_file():
        last = "\n".join(log.read_text().splitlines()[-LINES_KEPT:])
        raise FineTuningFailed(f"OpenRLHF ended with status {status}. Its last words, of {log}:\n{last}")


def _alone() -> dict[str, str]:
    """What torch.distributed asks for, of a process that is alone."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    alone = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1"}
    return {**alone, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}


def main() -> None:
    """Run OpenRLHF's command in this process, with the flags of this one."""
    adapt()
    sys.argv = [MODULE, *sys.argv[1:]]
    runpy.run_module(MODULE, run_name="__main__")


if __name__ == "__main__":
    main()
