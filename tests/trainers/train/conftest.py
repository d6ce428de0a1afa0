"""Tiny models, a real hub, and `envhub train` as a process. torch is never imported into the tests' own."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from envhub_trainers.cpu import ENVIRONMENT

PATIENCE_S = 900.0
"""For how long a run may take that takes a minute or two; a machine that others use is slow."""
PROGRAM = Path(__file__).parent.parent / "tiny_model.py"

REWARD = '''"""Differs from sample to sample, also of a model that knows nothing."""


def odds(rollout):
    sampled = [one for start, end in rollout.ranges for one in rollout.ids[start:end]]
    return sum(one % 2 for one in sampled) / max(1, len(sampled))
'''

SHORT = """
[train]
prompts_per_step = 4
samples_per_prompt = 2
batch_size = 8
micro_batch_size = 2
kl_coef = 0.01
save_every = 1
[rollout]
max_turn_tokens = 8
max_turns = 3
hub_patience_s = 900
episode_deadline_s = 1800
[[reward]]
type = "outcome"
[[reward]]
type = "function"
call = "{call}"
"""


def _make(folder: Path, seed: int) -> Path:
    subprocess.run([sys.executable, str(PROGRAM), str(folder), str(seed)], check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model of 95,000 random parameters."""
    return _make(tmp_path_factory.mktemp("models") / "one", 0)


@pytest.fixture(scope="session")
def other_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another of the same shape."""
    return _make(tmp_path_factory.mktemp("models") / "two", 1)


@dataclass(frozen=True)
class Served:
    """A hub that runs."""

    url: str
    pid: int


@contextlib.contextmanager
def _serve(*envs: str) -> Iterator[Served]:
    arguments = [part for env in envs for part in ("--env", env)]
    command = [sys.executable, "-m", "envhub", "serve", "--json", "--port", "0", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield Served(json.loads(process.stdout.readline())["url"], process.pid)
        process.send_signal(signal.SIGINT)


@pytest.fixture(scope="session")
def hub() -> Iterator[Served]:
    """A hub with frozenlake and webshop."""
    with _serve("frozenlake=8", "webshop=4") as served:
        yield served


@pytest.fixture
def hubs() -> Iterator[tuple[Served, Served]]:
    """Two hubs with frozenlake."""
    with _serve("frozenlake=4") as one, _serve("frozenlake=4") as other:
        yield one, other


@pytest.fixture
def cluster(tmp_path: Path, wait_until: Callable[..., None]) -> Iterator[str]:
    """The address of a Ray cluster of two nodes, each of two processes' room."""
    port = random.SystemRandom().randrange(20_000, 32_768)  # none that the system gives away
    address = f"127.0.0.1:{port}"
    with contextlib.ExitStack() as nodes:
        for number, where in enumerate((["--head", "--port", str(port)], ["--address", address])):
            _start_node(nodes, tmp_path / f"node-{number}", where, wait_until)
        yield address


def _start_node(
    nodes: contextlib.ExitStack, log: Path, where: list[str], wait_until: Callable[..., None]
) -> None:
    """Start a node; again where it gives up, as Ray does after 30 s on a machine that is busy."""
    for _ in range(4):
        process = nodes.enter_context(_node(log, where))
        wait_until(
            lambda process=process: process.poll() is not None or "runtime started" in log.read_text(),
            PATIENCE_S,
        )
        if process.poll() is None:
            return
    pytest.fail(f"Ray does not start: {log.read_text()[-3000:]}")


@contextlib.contextmanager
def _node(log: Path, where: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    room = ["--num-gpus", "2", "--num-cpus", "4", "--object-store-memory", str(256 * 2**20)]
    bare = ["--include-dashboard", "false"] if "--head" in where else []
    program = [str(Path(sys.executable).with_name("ray")), "start", *where, *room, *bare, "--block"]
    quiet = {**os.environ, **ENVIRONMENT, "RAY_USAGE_STATS_ENABLED": "0"}
    with log.open("w") as out, subprocess.Popen(program, stdout=out, stderr=out, env=quiet) as process:
        yield process
        process.terminate()


class Run:
    """`envhub train` in a process, and what it left."""

    def __init__(self, output: Path, arguments: list[str]) -> None:
        self.output = output
        self.said = output.parent / f"{output.name}.said"
        with self.said.open("a") as out:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "envhub", "train", *arguments, "--output", str(output)],
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env={**os.environ, "COLUMNS": "200"},
            )

    def finish(self) -> None:
        """Wait for it to end well."""
        assert self.process.wait(PATIENCE_S) == 0, self.report()

    def report(self) -> str:
        """What it said, and the last that OpenRLHF said."""
        log = self.output / "train.log"
        tail = log.read_text()[-6000:] if log.exists() else ""
        return f"{self.said.read_text()}\n{tail}"

    def rows(self, name: str) -> list[dict[str, float]]:
        """The metrics with a number of that name."""
        file = self.output / "metrics.jsonl"
        found = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        return [row for row in found if name in row]


@pytest.fixture
def train(model: Path, tmp_path: Path, processes: Any) -> Iterator[Callable[..., Run]]:
    """Start runs of a few steps on the tiny model, all in one folder: `train("grpo", "--env", …)`."""
    reward = tmp_path / "reward.py"
    reward.write_text(REWARD)
    config = tmp_path / "short.toml"
    config.write_text(SHORT.format(call=f"{reward}:odds"))
    runs: list[Run] = []

    def start(*arguments: str, fresh: bool = True) -> Run:
        common = ["--config", str(config)] if fresh else ["--resume"]
        if fresh and "--model" not in arguments:
            common += ["--model", str(model)]
        runs.append(Run(tmp_path / "run", [*arguments, *common]))
        return runs[-1]

    yield start
    for run in runs:
        if run.process.poll() is None:
            run.process.send_signal(signal.SIGINT)
            run.process.wait(120)
