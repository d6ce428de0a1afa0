"""What runs inside a vLLM engine: the receiving end of a weight transfer.

vLLM imports this module by name in the process that holds the model, before it loads the model.
"""

from __future__ import annotations

from typing import Any

import vllm._custom_ops

# oneDNN packs the weights at loading and multiplies with its packed copy from then on: weights that are
# loaded later would change nothing, silently.
vllm._custom_ops._supports_onednn = False


class WeightReceiver:
    """Mixed into vLLM's worker."""

    model_runner: Any

    def update_weight(self, weights: bytes, _dtype: object, _shape: object, _empty_cache: bool) -> None:
        """Load a whole model, as safetensors. OpenRLHF's engine forwards the call under this name."""
        from safetensors.torch import load

        self.model_runner.model.load_weights(weights=load(weights).items())
