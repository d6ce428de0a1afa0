"""Whole runs: Ray, vLLM, DeepSpeed and a real hub, through the command, on a model that the tests made."""

import contextlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

PATIENCE_S = 900.0

pytestmark = [pytest.mark.train, pytest.mark.timeout(5 * PATIENCE_S)]

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


def records_in(folder: Path) -> list[dict[str, Any]]:
    """Every rollout that was recorded."""
    return [json.loads(line) for file in folder.iterdir() for line in file.read_text().splitlines()]


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


def steps_of(run: Any, least: int, wait_until: Callable[..., None]) -> list[dict[str, float]]:
    """Wait for so many steps of a run that is not to end; give all it has by then."""
    wait_until(
        lambda: run.process.poll() is not None or len(run.rows("timing/step_total")) >= least, PATIENCE_S
    )
    assert run.process.poll() is None, run.report()
    found: list[dict[str, float]] = run.rows("timing/step_total")
    return found


def test_grpo_that_is_killed_goes_on_from_its_checkpoint_until_ctrl_c(
    train: Callable[..., Any], processes: Any, wait_until: Callable[..., None]
) -> None:
    """GRPO with ZeRO-2 and a hub of its own: killed in its third step, started again, interrupted.

    It has so many steps that it can't end before it is stopped.
    """
    run = train("grpo", "--env", "frozenlake", "--set", "data.tasks=2000", "--set", "hub.replicas=4")
    steps_of(run, 3, wait_until)
    started = processes.descendants(run.process.pid)
    assert len(started) > 5
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait()
    wait_until(lambda: not any(map(processes.alive, started)), PATIENCE_S)
    assert not (run.output / "model").exists()
    prompts = (run.output / "prompts.jsonl").read_text()
    before = run.rows("timing/step_total")
    assert before[0]["kl"] == 0.0
    assert before[-1]["kl"] != 0.0

    again = train("grpo", fresh=False)
    rows = steps_of(again, len(before) + 2, wait_until)[len(before) :]
    steps = [row["step"] for row in rows]
    assert steps[0] > 2  # it may have got further than it could still tell
    assert steps == list(range(int(steps[0]), int(steps[0]) + len(steps)))
    assert all(row["kl"] != 0.0 for row in rows), "it went on with other weights than it had"
    assert rows[-1]["actor_lr"] < before[1]["actor_lr"] < before[0]["actor_lr"], "it began its schedule anew"
    assert max(row["weights/gap"] for row in again.rows("weights")) < 1e-3
    assert (run.output / "prompts.jsonl").read_text() == prompts

    started = processes.descendants(again.process.pid)
    assert len(started) > 5
    os.killpg(again.process.pid, signal.SIGINT)
    assert again.process.wait(PATIENCE_S) == 130
    wait_until(lambda: not any(map(processes.alive, started)), PATIENCE_S)
    assert "stopped; everything that was started has ended" in again.said.read_text()


def test_grpo_with_zero_3_on_two_ranks(train: Callable[..., Any], hub: Any, model: Path) -> None:
    flags = ("--set", "resources.zero_stage=3", "--set", "resources.gpus=2", "--set", "data.tasks=8")
    tokens = ("--set", "train.max_tokens=6000", "--set", "rollout.max_turns=2")
    run = train("grpo", "--env", "webshop", "--hub", hub.url, *flags, *tokens)
    run.finish()
    check_learning(run, model, steps=2)


DEADLY = """
import os, signal
from pathlib import Path

class Deadly:
    # The 30th message, in the second step of 8 episodes of 3 turns, is the hub's death.
    told = 0

    def system(self, env, form):
        return form.instruction.format(example="right")

    def message(self, view):
        self.told += 1
        if self.told == 30:
            os.kill(int(Path(__file__).with_name("hub.pid").read_text()), signal.SIGKILL)
        return view.problem or view.observation
"""


class Trouble(threading.Thread):
    """Kills a worker of a hub at every second session that opens: a slow machine has no more of it."""

    def __init__(self, hub: Any, processes: Any) -> None:
        super().__init__()
        self._hub, self._processes = hub, processes
        self.over = threading.Event()
        self.killed: list[int] = []

    def run(self) -> None:
        draw, done = random.Random(0), 0
        while not self.over.wait(0.1):
            opened = self._opened()
            done = min(done, opened)  # a hub that was started again counts from 0
            templates = self._processes.children(self._hub.pid)
            workers = sorted(one for template in templates for one in self._processes.children(template))
            if workers and opened >= done + 2:
                done = opened
                self.killed.append(draw.choice(workers))
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.killed[-1], signal.SIGKILL)

    def _opened(self) -> int:
        """Sessions since the hub began; 0 while there is none."""
        try:
            text = httpx.get(f"{self._hub.url}/metrics", timeout=PATIENCE_S).text
        except httpx.TransportError:
            return 0
        counts = re.findall(r"^envhub_sessions_opened_total\S* (\S+)$", text, re.MULTILINE)
        return int(sum(map(float, counts)))


def test_ppo_with_critic_and_reference_while_workers_and_the_hub_are_killed(
    train: Callable[..., Any],
    mortal: Callable[..., Any],
    model: Path,
    processes: Any,
    wait_until: Callable[..., None],
    tmp_path: Path,
) -> None:
    """The hub dies in the middle of episodes, which are played again; no fault is a reward."""
    hub = mortal("--env", "frozenlake=8")
    (tmp_path / "hub.pid").write_text(str(hub.pid))
    (tmp_path / "deadly.py").write_text(DEADLY)
    evaluation = ("--set", "data.eval_tasks=4", "--set", "data.eval_every=3")
    records = ("--set", f'rollout.records="{tmp_path / "records"}"')
    played = ("--set", f"rollout.prompt={tmp_path / 'deadly.py'}:Deadly", "--set", "rollout.actions=raw")
    settings = ("--set", "data.tasks=24", *evaluation, *records, *played)
    run = train("ppo", "--env", "frozenlake", "--hub", hub.url, *settings)
    trouble = Trouble(hub, processes)
    trouble.start()
    try:
        wait_until(lambda: run.process.poll() is not None or not processes.alive(hub.pid), PATIENCE_S)
        assert run.process.poll() is None, run.report()
        hub.restart()
        run.finish()
    finally:
        trouble.over.set()
        trouble.join()
    assert trouble.killed
    check_learning(run, model, steps=6)
    assert [row["step"] for row in run.rows("eval_num_samples")] == [3.0, 6.0]
    assert all(
        "critic_loss" in row and row["critic_grad_norm"] > 0.0 for row in run.rows("timing/step_total")
    )
    kept = records_in(tmp_path / "records")
    assert len(kept) == 6 * 8 + 2 * 4
    assert any("unknown_session" in record["faults"] for record in kept)
    for record in kept:
        whole = record["terminated"] or record["truncated_by"] is not None
        assert whole or record["reward"] is None, "an episode that was cut by a fault has a reward"


def test_two_nodes_and_two_hubs(
    train: Callable[..., Any], cluster: str, hubs: tuple[Any, Any], model: Path, tmp_path: Path
) -> None:
    """A Ray cluster of two nodes, of which neither alone has room; the episodes are spread over two hubs."""
    both = [part for hub in hubs for part in ("--hub", hub.url)]
    records = ("--set", f'rollout.records="{tmp_path / "records"}"')
    run = train(
        "grpo", "--env", "frozenlake", *both, "--ray-address", cluster, "--set", "data.tasks=8", *records
    )
    run.finish()
    check_learning(run, model, steps=2)
    kept = records_in(tmp_path / "records")
    assert len(kept) == 16
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
    assert not (run.output / "config.json").exists(), "a run that never began is no run to go on with"


def test_a_model_that_is_nowhere_is_not_waited_for(
    train: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    run = train("grpo", "--env", "frozenlake", "--model", "nobody/nothing")
    assert run.process.wait(PATIENCE_S) == 2
    assert "model: there is no folder nobody/nothing, and Hugging Face" in run.said.read_text()
    assert not run.output.exists(), "something was started"
