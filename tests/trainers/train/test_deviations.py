"""Each deviation of the CPU profile is still needed, and does what it says.

The evidence is in the installed packages: when a test here fails after an upgrade, look whether the deviation
of that name can go.
"""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from envhub_trainers.cpu import ENVIRONMENT, _deviations

pytestmark = pytest.mark.train


def source(module: str) -> str:
    """The text of a module that is not imported for it, with every run of white space as one space."""
    package, *rest = module.split(".")
    found = importlib.util.find_spec(package)
    assert found is not None and found.origin is not None
    return re.sub(r"\s+", " ", Path(found.origin).parent.joinpath(*rest).with_suffix(".py").read_text())


EVIDENCE = {
    "cpu_as_current_device": [
        ("openrlhf.trainer.ray.launcher", "device = torch.cuda.current_device()"),
        ("openrlhf.utils.deepspeed.deepspeed", "torch.cuda.set_device(local_rank)"),
        ("openrlhf.utils.distributed_util", "torch.cuda.synchronize()"),
    ],
    "no_shared_memory_kernel": [("deepspeed.comm.torch", "shm_cpp_module = builder.load()")],
    "wait_for_every_gather": [
        ("deepspeed.runtime.zero.partition_parameters", "launch_handles.append(h)"),
        ("deepspeed.runtime.zero.partition_parameters", "launch_handles[-1].wait()"),
    ],
    "flash_attention_names": [
        (
            "openrlhf.models.ring_attn_utils",
            "from flash_attn.bert_padding import index_first_axis, pad_input",
        ),
        ("openrlhf.models.ring_attn_utils", "from flash_attn.utils.distributed import all_gather RING"),
    ],
    "cpu_device_mesh": [("openrlhf.utils.deepspeed.deepspeed", 'init_device_mesh( "cuda"')],
    "moving_average_on_cpu": [("openrlhf.trainer.ray.ppo_actor", 'self.ema_model, self.ema_beta, "cuda")')],
    "adam_of_torch": [
        ("openrlhf.utils.deepspeed.deepspeed", 'optim_dict = { "type": "AdamW", "params": { "lr"'),
        ("deepspeed.runtime.engine", "torch_adam = optimizer_parameters.pop(TORCH_ADAM_PARAM, False)"),
    ],
    "replay_buffer_on_cpu": [
        (
            "openrlhf.trainer.ppo_utils.replay_buffer",
            'torch.device(f"cuda:{torch.cuda.current_device()}")',
        )
    ],
    "port_that_nobody_is_given": [
        ("openrlhf.trainer.ray.launcher", 'sock.bind(("", 0)) return sock.getsockname()[1]')
    ],
    "fp32_on_the_command_line": [
        (
            "openrlhf.cli.train_ppo_ray",
            '"--ds.param_dtype", type=str, default="bf16", choices=["bf16", "fp16"]',
        )
    ],
    "fp32_as_torch_dtype": [
        ("openrlhf.utils.utils", 'elif param_dtype == "fp16": return torch.float16 else: raise ValueError')
    ],
    "weights_through_ray": [
        ("openrlhf.utils.distributed_util", "import PyNcclCommunicator"),
        ("openrlhf.trainer.ray.ppo_actor", "from torch.multiprocessing.reductions import reduce_tensor"),
    ],
    "engine_arguments": [
        ("openrlhf.trainer.ray.vllm_engine", '"dtype": "bfloat16"'),
        ("openrlhf.trainer.ray.vllm_engine", "vllm_worker_wrap.WorkerWrap"),
    ],
}
"""For each deviation, where and how the packages assume what CPUs do not have."""


def test_there_is_evidence_for_every_deviation() -> None:
    registered = [*_deviations.AFTER.values(), *_deviations.AROUND.values()]
    assert {change.__name__ for changes in registered for change in changes} == set(EVIDENCE)


@pytest.mark.parametrize("deviation", EVIDENCE)
def test_it_is_still_needed(deviation: str) -> None:
    for module, says in EVIDENCE[deviation]:
        assert says in source(module), f"{module} has changed: is {deviation} needed?"


ADAPTED = """
import argparse, importlib, importlib.util, json
from envhub_trainers.cpu import adapt
adapt()
import torch, vllm
from openrlhf.models import ring_attn_utils
from openrlhf.trainer.ppo_utils.replay_buffer import NaiveReplayBuffer
from openrlhf.trainer.ray import launcher, ppo_actor
from openrlhf.utils.deepspeed import deepspeed as strategy
from openrlhf.utils.utils import convert_to_torch_dtype
parser = argparse.ArgumentParser()
parser.add_argument("--ds.param_dtype", choices=["bf16", "fp16"])
try:
    ring_attn_utils.unpad_input(None)
except RuntimeError as error:
    packing = str(error)
adam = {"type": "AdamW", "params": {"lr": 0.1}}
print(json.dumps({
    "device": torch.zeros(1, device=torch.cuda.current_device()).device.type,
    "flash_attn": importlib.util.find_spec("flash_attn") is not None,
    "packing": packing,
    "buffer": NaiveReplayBuffer(1).target_device.type,
    "dtypes": [str(convert_to_torch_dtype(name)) for name in ("fp32", "bf16")],
    "choice": vars(parser.parse_args(["--ds.param_dtype", "fp32"])),
    "torch_adam": strategy.get_train_ds_config(offload=False, optim_config=adam)["optimizer"]["params"],
    "port": launcher.BaseDistributedActor._get_free_port() < 32768,
    "shm": importlib.import_module("deepspeed.comm.torch").build_shm_op(),
    "broadcast": ppo_actor.ActorPPOTrainer.broadcast_to_vllm.__module__,
    "engine": vllm.AsyncEngineArgs(model="some/model", dtype="bfloat16").dtype,
}))
"""


def test_it_does_what_it_says() -> None:
    environment = {**os.environ, **ENVIRONMENT, "ENVHUB_TRAIN_DTYPE": "fp32"}
    done = subprocess.run(
        [sys.executable, "-c", ADAPTED], capture_output=True, text=True, env=environment, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "device": "cpu",
        "flash_attn": False,
        "packing": "packing samples needs flash-attn, which does not run on CPUs",
        "buffer": "cpu",
        "dtypes": ["torch.float32", "torch.bfloat16"],
        "choice": {"ds.param_dtype": "fp32"},
        "torch_adam": {"lr": 0.1, "torch_adam": True},
        "port": True,
        "shm": None,
        "broadcast": "envhub_trainers.cpu._weights",
        "engine": "float32",
    }


def test_without_it_the_first_import_fails() -> None:
    script = "import openrlhf.models.ring_attn_utils"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert "No module named 'flash_attn'" in done.stderr
