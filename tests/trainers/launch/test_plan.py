"""The command of a run: every key reaches OpenRLHF, and Ray is asked for what will be taken."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from envhub_trainers import _rules
from envhub_trainers._config import Config, read
from envhub_trainers._plan import Plan, RunFolder, plan


def planned(tmp_path: Path, *, resume: bool = False, **flags: Any) -> Plan:
    base = {"algorithm": "grpo", "env": "frozenlake", "model": "some/model", "output": str(tmp_path / "run")}
    config: Config = read(None, {**base, **{key.replace("__", "."): value for key, value in flags.items()}})
    return plan(config, _rules.check(config), RunFolder(Path(config.output)), resume=resume)


def value(made: Plan, flag: str) -> str:
    return made.arguments[made.arguments.index(flag) + 1]


@pytest.mark.parametrize(
    ("algorithm", "estimator"),
    [
        ("grpo", "group_norm"),
        ("ppo", "gae"),
        ("rloo", "rloo"),
        ("reinforce", "reinforce"),
        ("dr_grpo", "dr_grpo"),
    ],
)
def test_an_algorithm_is_an_estimator_of_openrlhf(tmp_path: Path, algorithm: str, estimator: str) -> None:
    made = planned(tmp_path, algorithm=algorithm)
    assert value(made, "--algo.advantage.estimator") == estimator
    assert ("--critic.adam.lr" in made.arguments) == (algorithm == "ppo")


@pytest.mark.parametrize(
    ("flags", "placement"),
    [
        ({}, {"the policy": 1, "engines": 1}),
        ({"train__kl_coef": 0.1}, {"the policy": 1, "the reference": 1, "engines": 1}),
        ({"algorithm": "ppo"}, {"the policy": 1, "the critic": 1, "engines": 1}),
        ({"resources__gpus": 2, "resources__engines": 3}, {"the policy": 2, "engines": 3}),
        ({"preset": "one-node-8gpu"}, {"everything in turns": 8}),
        ({"preset": "multi-node"}, {"the policy": 16, "engines": 16}),
    ],
)
def test_ray_is_asked_for_what_the_models_take(
    tmp_path: Path, flags: dict[str, Any], placement: dict[str, int]
) -> None:
    made = planned(tmp_path, **flags)
    assert made.placement == placement
    assert made.gpus == sum(placement.values())
    if made.cpu:
        assert made.ray["num_gpus"] == made.gpus


def test_a_cluster_to_join_is_not_told_what_it_has(tmp_path: Path) -> None:
    made = planned(tmp_path, resources__ray_address="10.0.0.1:6379")
    assert made.ray == {"address": "10.0.0.1:6379"}
    assert "the cluster at 10.0.0.1:6379; 2 logical GPU(s)" in str(made)


def test_on_gpus_nothing_of_the_cpu_profile_is_left(tmp_path: Path) -> None:
    made = planned(tmp_path, preset="one-node-8gpu")
    assert not made.cpu
    assert "DS_ACCELERATOR" not in made.environment
    assert not {"--vllm.enforce_eager", "--ds.attn_implementation"} & set(made.arguments)
    assert value(made, "--ds.param_dtype") == "bf16"


def test_what_the_user_has_set_in_the_environment_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert planned(tmp_path).environment["OMP_NUM_THREADS"] == "3"


def test_flags_that_are_passed_through_come_last_and_so_win(tmp_path: Path) -> None:
    made = planned(tmp_path, openrlhf=["--actor.adam.lr", "0.5"])
    assert made.arguments[-2:] == ["--actor.adam.lr", "0.5"]


def test_a_run_that_goes_on_loads_its_checkpoint(tmp_path: Path) -> None:
    assert "--ckpt.load_enable" in planned(tmp_path, resume=True).arguments
    assert "--ckpt.load_enable" not in planned(tmp_path).arguments


def test_making_a_plan_needs_none_of_the_trainers_packages() -> None:
    script = (
        "import sys\n"
        "heavy = ('torch', 'ray', 'vllm', 'openrlhf', 'deepspeed', 'transformers')\n"
        "sys.modules.update(dict.fromkeys(heavy))\n"
        "import envhub_trainers._launch, envhub_trainers.cpu, envhub_trainers.cpu._deviations\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
