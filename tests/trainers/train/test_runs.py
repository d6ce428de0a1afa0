"""Whole runs: Ray, vLLM, DeepSpeed and a real hub, through the command, on a model that the tests made."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.train

PATIENCE_S = 900.0

CHANGED = """
import sys
from safetensors.torch import load_file
before, after = (load_file(f"{folder}/model.safetensors") for folder in sys.argv[1:])
assert before.keys() <= after.keys()  # an output layer that is tied may be there twice
assert all(weights.isfinite().all() for weights in after.values())
print(max((after[name].float() - before[name]).abs().max().item() for name in before))
"""


def change(before: Path, after: Path) -> float:
    """The largest change of a weight."""
    command = [sys.executable, "-c", CHANGED, str(before), str(after)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def check_learning(run: Any, model: Path, steps: int) -> None:
    """It began at the reference, moved away from it, and vLLM had its weights at every step."""
    rows = run.rows("timing/step_total")
    assert [row["step"] for row in rows] == list(range(1, steps + 1))
    assert rows[0]["kl"] == 0.0, "policy and reference differ before the first update"
    assert rows[-1]["kl"] != 0.0  # an estimate, which may fall below 0
    assert rows[0]["reward"] > 0.0
    assert rows[0]["actor_grad_norm"] > 0.0
    transfers = run.rows("weights")
    assert [row["weights"] for row in transfers] == list(range(1, steps + 1))
    assert max(row["weights/gap"] for row in transfers) < 1e-3
    assert 0.0 < change(model, run.output / "model") < 0.1


def test_grpo_that_is_killed_goes_on_from_its_checkpoint(
    train: Callable[..., Any], hub: Any, model: Path, processes: Any, wait_until: Callable[..., None]
) -> None:
    """GRPO with ZeRO-2; the program is killed in its third step and started again."""
    run = train("grpo", "--env", "frozenlake", "--hub", hub.url, "--set", "data.tasks=64")
    wait_until(lambda: run.process.poll() is not None or len(run.rows("timing/step_total")) >= 3, PATIENCE_S)
    assert run.process.poll() is None, run.report()
    started = processes.descendants(run.process.pid)
    assert started
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait()
    wait_until(lambda: not any(map(processes.alive, started)), 120.0)
    assert not (run.output / "model").exists()
    prompts = (run.output / "prompts.jsonl").read_text()
    before = run.rows("timing/step_total")
    assert before[0]["kl"] == 0.0
    assert before[-1]["kl"] != 0.0

    again = train("grpo", fresh=False)
    again.finish()
    rows = again.rows("timing/step_total")
    steps = [row["step"] for row in rows[len(before) :]]
    assert steps[0] > 2  # it may have got further than it could still tell
    assert steps == list(range(int(steps[0]), 17))
    assert all(row["kl"] != 0.0 for row in rows[len(before) :]), "it went on with other weights than it had"
    assert rows[-1]["actor_lr"] < before[-1]["actor_lr"], "it began its schedule anew"
    assert max(row["weights/gap"] for row in again.rows("weights")) < 1e-3
    assert (run.output / "prompts.jsonl").read_text() == prompts
    assert change(model, run.output / "model") > 0.0
    assert f"the model is {run.output / 'model'}" in again.said.read_text()


def test_grpo_with_zero_3_on_two_ranks(train: Callable[..., Any], hub: Any, model: Path) -> None:
    flags = ("--set", "resources.zero_stage=3", "--set", "resources.gpus=2", "--set", "data.tasks=12")
    tokens = ("--set", "train.max_tokens=6000", "--set", "rollout.max_turns=2")
    run = train("grpo", "--env", "webshop", "--hub", hub.url, *flags, *tokens)
    run.finish()
    check_learning(run, model, steps=3)


def test_ppo_with_critic_and_reference_while_workers_are_killed(
    train: Callable[..., Any], hub: Any, model: Path, processes: Any
) -> None:
    """A worker of the hub dies every half second, from the beginning of the run to its end."""
    evaluation = ("--set", "data.eval_tasks=4", "--set", "data.eval_every=3")
    run = train("ppo", "--env", "frozenlake", "--hub", hub.url, "--set", "data.tasks=24", *evaluation)
    over = threading.Event()
    killed: list[int] = []

    def kill() -> None:
        draw = random.Random(0)
        while not over.wait(0.5):
            below = [pid for child in processes.children(hub.pid) for pid in processes.children(child)]
            if below:
                killed.append(draw.choice(sorted(below)))
                os.kill(killed[-1], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        run.finish()
    finally:
        over.set()
        killer.join()
    assert killed
    check_learning(run, model, steps=6)
    assert [row["step"] for row in run.rows("eval_num_samples")] == [3.0, 6.0]
    assert all(
        "critic_loss" in row and row["critic_grad_norm"] > 0.0 for row in run.rows("timing/step_total")
    )


def test_two_nodes_and_two_hubs(
    train: Callable[..., Any], cluster: str, hubs: tuple[Any, Any], model: Path, tmp_path: Path
) -> None:
    """A Ray cluster of two nodes, of which neither alone has room; the episodes are spread over two hubs."""
    both = [part for hub in hubs for part in ("--hub", hub.url)]
    records = ("--set", f'rollout.records="{tmp_path / "records"}"')
    run = train(
        "grpo", "--env", "frozenlake", *both, "--ray-address", cluster, "--set", "data.tasks=12", *records
    )
    run.finish()
    check_learning(run, model, steps=3)
    files = (tmp_path / "records").iterdir()
    kept = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    assert len(kept) == 24
    assert {record["hub"] for record in kept} == {hub.url for hub in hubs}


def test_what_the_machine_does_not_have_is_not_waited_for(train: Callable[..., Any], hub: Any) -> None:
    flags = (
        "--set",
        "resources.device=gpu",
        "--set",
        "resources.dtype=bf16",
        "--set",
        "resources.engines=64",
    )
    run = train("grpo", "--env", "frozenlake", "--hub", hub.url, *flags)
    assert run.process.wait(PATIENCE_S) == 2
    assert "the run takes 66 of Ray's GPUs and the cluster has 0" in run.said.read_text()


def test_ctrl_c_ends_everything_it_started(
    train: Callable[..., Any], processes: Any, wait_until: Callable[..., None]
) -> None:
    """With a hub of its own, when Ray and the engine are up."""
    run = train("grpo", "--env", "frozenlake", "--set", "data.tasks=400", "--set", "hub.replicas=4")
    log = run.output / "train.log"
    wait_until(
        lambda: run.process.poll() is not None or (log.exists() and "EngineCore" in log.read_text()),
        PATIENCE_S,
    )
    assert run.process.poll() is None, run.report()
    started = processes.descendants(run.process.pid)
    assert len(started) > 5
    os.killpg(run.process.pid, signal.SIGINT)
    assert run.process.wait(120) == 130
    assert not any(map(processes.alive, started))
    assert "stopped; everything that was started has ended" in run.said.read_text()
