"""One of OpenRLHF's rollout actors, without Ray around it: rolls out and is paused meanwhile.

ENVHUB_ROLLOUT=settings.json python engine_program.py MODEL EXECUTOR.PY
"""

import asyncio
import json
import os
import sys
from pathlib import Path

from envhub_trainers.cpu import DTYPE_VARIABLE, ENVIRONMENT, adapt

PROMPTS, SAMPLES = 4, 4
MAX_LENGTH = 1000
TEMPERATURE = 0.8


async def main(folder: str, executor: str) -> None:
    os.environ["RAY_ADDRESS"] = "none"  # the actor would ask Ray for it
    for name, value in {**ENVIRONMENT, DTYPE_VARIABLE: "fp32"}.items():
        os.environ.setdefault(name, value)
    adapt()
    from openrlhf.trainer.ray.vllm_engine import RolloutRayActor
    from transformers import AutoTokenizer
    from vllm import SamplingParams

    kind = RolloutRayActor.__ray_metadata__.modified_class
    actor = kind.__new__(kind)
    await actor.__init__(
        model=folder,
        agent_func_path=executor,
        dtype="float32",
        enforce_eager=True,
        max_model_len=MAX_LENGTH,
        seed=0,
        logprobs_mode="processed_logprobs",
        max_logprobs=1,
        num_gpus=1,
        distributed_executor_backend="uni",
    )
    tokenizer = AutoTokenizer.from_pretrained(folder)
    rolling = asyncio.gather(
        *(
            actor.generate_responses(
                "a prompt",
                json.dumps({"seed": seed}),
                SamplingParams(temperature=TEMPERATURE, min_tokens=1, logprobs=1, skip_special_tokens=False),
                MAX_LENGTH,
                tokenizer,
                num_samples=SAMPLES,
            )
            for seed in range(PROMPTS)
        )
    )
    while not actor.get_num_unfinished_requests():
        await asyncio.sleep(0.01)
    await actor.pause_generation()  # as before an update of the weights, with partial rollouts
    paused_in_the_middle = not rolling.done()
    await actor.resume_generation()
    responses = [response for group in await rolling for response in group]
    await actor.executor._sampler.close()
    Path(folder, "responses.json").write_text(json.dumps([paused_in_the_middle, responses]))
    actor.llm.shutdown()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
