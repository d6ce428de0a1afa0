"""What OpenRLHF, DeepSpeed and vLLM do differently on CPUs: one function a deviation, each with its reason.

A function is named after what it puts in place and is called with the module that it changes, right after
that module was imported. `tests/trainers/cpu/test_deviations.py` has the evidence that each is needed.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.machinery
import os
import random
import socket
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from envhub_trainers.cpu._imports import Change, Surrounding

UNGIVEN_PORTS = range(20_000, 32_768)
"""Below those that Linux gives to whoever asks for any."""

AFTER: dict[str, list[Change]] = defaultdict(list)
AROUND: dict[str, list[Surrounding]] = defaultdict(list)


def after(module: str) -> Callable[[Change], Change]:
    """Register a change of a module, to be made once it is imported."""

    def register(change: Change) -> Change:
        AFTER[module].append(change)
        return change

    return register


# -- PyTorch ------------------------------------------------------------------------------------------


@after("torch")
def cpu_as_current_device(torch: Any) -> None:
    """OpenRLHF asks `torch.cuda` for the device to put things on, and waits for it; a CPU build raises."""
    torch.cuda.current_device = lambda: "cpu"
    torch.cuda.set_device = lambda device: None
    torch.cuda.synchronize = lambda device=None: None


# -- DeepSpeed ----------------------------------------------------------------------------------------


@after("deepspeed.comm.torch")
def no_shared_memory_kernel(comm: Any) -> None:
    """DeepSpeed compiles a shared-memory all-reduce at its first use of gloo, which takes minutes.

    A compiler that is killed leaves a lock file that hangs every later run. Without it gloo reduces.
    """
    comm.build_shm_op = lambda: None


@after("deepspeed.runtime.zero.partition_parameters")
def wait_for_every_gather(module: Any) -> None:
    """ZeRO-3 starts an all-gather for each parameter and waits for the last of them only.

    That is enough for NCCL, whose work is ordered. Gloo's is not: parameters were used before they had
    arrived, and a run trained on wrong weights without a sign of it. So each gather is complete when it
    returns.
    """
    dist = module.dist

    class Waiting:
        """`deepspeed.comm`, whose gathers wait."""

        def __getattr__(self, name: str) -> Any:
            return getattr(dist, name)

        def all_gather_into_tensor(self, *args: Any, **options: Any) -> Any:
            handle = dist.all_gather_into_tensor(*args, **options)
            if handle is not None:
                handle.wait()
            return handle

    module.dist = Waiting()


# -- OpenRLHF -----------------------------------------------------------------------------------------


@contextlib.contextmanager
def flash_attention_names() -> Iterator[None]:
    """OpenRLHF imports flash-attn's packing functions at the top of a module, needed or not.

    flash-attn needs CUDA to be built. The names exist during that import only, so that nobody who looks for
    flash-attn later believes it is there.
    """

    def unavailable(*_args: object, **_options: object) -> None:
        raise RuntimeError("packing samples needs flash-attn, which does not run on CPUs")

    offered = {
        "flash_attn": (),
        "flash_attn.bert_padding": ("index_first_axis", "pad_input", "rearrange", "unpad_input"),
        "flash_attn.utils": (),
        "flash_attn.utils.distributed": ("all_gather",),
    }
    for name, functions in offered.items():
        module = ModuleType(name)
        module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
        vars(module).update(dict.fromkeys(functions, unavailable))
        sys.modules[name] = module
    try:
        yield
    finally:
        for name in offered:
            del sys.modules[name]


AROUND["openrlhf.models.ring_attn_utils"].append(flash_attention_names)


@after("openrlhf.utils.deepspeed.deepspeed")
def cpu_device_mesh(module: Any) -> None:
    """The device mesh of a strategy is built for the literal "cuda"."""
    build = module.init_device_mesh
    module.init_device_mesh = lambda _device, *args, **options: build("cpu", *args, **options)


@after("openrlhf.utils.deepspeed.deepspeed")
def moving_average_on_cpu(module: Any) -> None:
    """The policy's trainer asks for the moving average of the weights on the literal "cuda"."""
    strategy = module.DeepspeedStrategy
    average = strategy.moving_average
    strategy.moving_average = lambda self, model, ema, beta=0.992, _device="cpu": average(
        self, model, ema, beta, "cpu"
    )


@after("openrlhf.utils.deepspeed.deepspeed")
def adam_of_torch(module: Any) -> None:
    """DeepSpeed takes its own Adam for the CPU accelerator and compiles it at first use: five minutes."""
    configure = module.get_train_ds_config

    @functools.wraps(configure)
    def with_torch_adam(*args: Any, **options: Any) -> dict[str, Any]:
        config: dict[str, Any] = configure(*args, **options)
        if config.get("optimizer", {}).get("type") == "AdamW":
            config["optimizer"]["params"]["torch_adam"] = True
        return config

    module.get_train_ds_config = with_torch_adam


@after("openrlhf.trainer.ppo_utils.replay_buffer")
def replay_buffer_on_cpu(module: Any) -> None:
    """A replay buffer names its device f"cuda:{index}"."""
    buffer = module.NaiveReplayBuffer
    start = buffer.__init__

    @functools.wraps(start)
    def start_on_cpu(self: Any, *args: Any, **options: Any) -> None:
        torch = module.torch
        current, torch.cuda.current_device = torch.cuda.current_device, lambda: 0
        try:
            start(self, *args, **options)
        finally:
            torch.cuda.current_device = current
        self.target_device = torch.device("cpu")

    buffer.__init__ = start_on_cpu


@after("argparse")
def fp32_on_the_command_line(argparse: Any) -> None:
    """OpenRLHF trains in bf16 or fp16, which CPUs compute slower than fp32, and less exactly."""
    add = argparse.ArgumentParser.add_argument

    @functools.wraps(add)
    def add_with_fp32(self: Any, *names: str, **options: Any) -> Any:
        if "--ds.param_dtype" in names:
            options["choices"] = [*options["choices"], "fp32"]
        return add(self, *names, **options)

    argparse.ArgumentParser.add_argument = add_with_fp32


@after("openrlhf.utils.utils")
def fp32_as_torch_dtype(module: Any) -> None:
    """The other half of `fp32_on_the_command_line`."""
    convert = module.convert_to_torch_dtype
    module.convert_to_torch_dtype = lambda name: module.torch.float32 if name == "fp32" else convert(name)


@after("openrlhf.trainer.ray.launcher")
def port_that_nobody_is_given(module: Any) -> None:
    """Ranks meet at a port that was free when the first of them began, a minute before they do on few cores.

    By then the system may have given it to somebody else, who asked for any: Ray, vLLM and gloo do all the
    time. So it is one that is given to nobody who does not ask for it.
    """

    def free_port() -> int:
        for port in random.SystemRandom().sample(UNGIVEN_PORTS, 100):
            with socket.socket() as probe, contextlib.suppress(OSError):
                probe.bind(("", port))
                return port
        raise OSError("no port is free for the ranks of a model to meet at")

    module.BaseDistributedActor._get_free_port = staticmethod(free_port)


@after("openrlhf.trainer.ray.ppo_actor")
def weights_through_ray(module: Any) -> None:
    """OpenRLHF sends weights to vLLM by NCCL or CUDA IPC, a parameter at a time; CPUs have neither.

    They go through Ray's object store instead, all at once, and what arrived is verified.
    """
    from envhub_trainers.cpu._weights import send_to_engines

    module.ActorPPOTrainer._init_vllm_sync_group = lambda self, backend: None
    module.ActorPPOTrainer.broadcast_to_vllm = send_to_engines


# -- vLLM ---------------------------------------------------------------------------------------------


@after("vllm")
def engine_arguments(vllm: Any) -> None:
    """OpenRLHF starts engines in bfloat16, with a worker that receives weights by NCCL."""
    from envhub_trainers.cpu import DTYPE_VARIABLE

    def arguments(*args: Any, **options: Any) -> Any:
        from vllm.engine.arg_utils import AsyncEngineArgs

        dtype = {"fp32": "float32", "bf16": "bfloat16"}[os.environ[DTYPE_VARIABLE]]
        extension = "envhub_trainers.cpu._engine.WeightReceiver"
        return AsyncEngineArgs(*args, **{**options, "dtype": dtype, "worker_extension_cls": extension})

    vllm.AsyncEngineArgs = arguments
