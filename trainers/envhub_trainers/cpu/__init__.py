"""OpenRLHF, unmodified, on a machine without GPUs.

OpenRLHF 0.11.2, DeepSpeed 0.19.6 and vLLM 0.29.0 assume CUDA in a few dozen places. `adapt` changes those
places as their modules are imported, in the program that starts a run and in each of Ray's workers; nothing
of the packages is copied or edited. Every deviation is one function in `_deviations`, with its reason, and
has a test that fails when the package of that name no longer needs it. The one big deviation, how weights
get to vLLM, is in `_weights`.

Importing this package imports none of those packages.
"""

from envhub_trainers.cpu._imports import install

DTYPE_VARIABLE = "ENVHUB_TRAIN_DTYPE"
"""The environment variable with the number format of a run: fp32 or bf16."""

ENVIRONMENT = {
    "DS_ACCELERATOR": "cpu",  # DeepSpeed would look for a GPU
    "OMP_NUM_THREADS": "1",  # small models: one thread is faster than two, and the processes share the cores
    "TORCHDYNAMO_DISABLE": "1",  # compiling takes minutes, a run of a small model less
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB; by default half of the machine's memory
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",  # by default vLLM pins itself to cores that others use
}
"""What the processes of a run on CPUs need in their environment, unless the user has set it."""


def adapt() -> None:
    """Change what needs changing, as it is imported from now on. Ray calls it in each of its workers."""
    from envhub_trainers import _masks
    from envhub_trainers.cpu import _deviations  # registers them

    modules = _masks.AFTER.keys() | _deviations.AFTER.keys()
    after = {name: [*_masks.AFTER.get(name, ()), *_deviations.AFTER.get(name, ())] for name in modules}
    install(after, _deviations.AROUND)
