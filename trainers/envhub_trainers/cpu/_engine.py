"""What runs inside a vLLM engine: the receiving end of a weight transfer.

vLLM imports this module by name in the process that holds the model, before it loads the model.
"""

from __future__ import annotations

from typing import Any

import vllm._custom_ops
import vllm.model_executor.layers.utils

# vLLM packs the weights for oneDNN, or for its AMX kernels, when it loads them, and keeps the packed copy
# only: weights that come later have no place to go to. Without these two it multiplies with PyTorch.
vllm._custom_ops._supports_onednn = False
vllm.model_executor.layers.utils.check_cpu_sgl_kernel = lambda n, k, dtype: False


class WeightReceiver:
    """Mixed into vLLM's worker."""

    model_runner: Any

    def update_weight(self, weights: bytes, _dtype: object, _shape: object, _empty_cache: bool) -> None:
        """Load a whole model, as safetensors. OpenRLHF's engine forwards the call under this name."""
        from safetensors.torch import load

        self.model_runner.model.load_weights(weights=load(weights).items())
