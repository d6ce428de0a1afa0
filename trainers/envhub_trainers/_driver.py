"""The program of a run, `python -m envhub_trainers._driver PLAN`: Ray, and OpenRLHF's own command in it.

OpenRLHF's command starts Ray itself where nobody has, but takes neither the address of a cluster nor the
environment of its workers. So Ray is up before; everything after is OpenRLHF's.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

SECRETS = ("ENVHUB_TOKEN", "WANDB_API_KEY")
"""What workers on other machines need too, and what is written into no file."""


def main(plan_file: str) -> None:
    """Run what a plan says, in this process.

    Args:
        plan_file: A `Plan` as JSON, see `envhub_trainers._launch`.
    """
    plan = json.loads(Path(plan_file).read_text())
    secrets = {name: os.environ[name] for name in SECRETS if name in os.environ}
    runtime: dict[str, object] = {"env_vars": {**plan["environment"], **secrets}}
    changes = importlib.import_module("envhub_trainers.cpu" if plan["cpu"] else "envhub_trainers._masks")
    changes.adapt()
    runtime["worker_process_setup_hook"] = f"{changes.__name__}.adapt"
    import ray

    ray.init(**plan["ray"], runtime_env=runtime)
    try:
        _check_room(ray, plan["gpus"])
        sys.argv = [plan["module"], *plan["arguments"]]
        runpy.run_module(plan["module"], run_name="__main__")
    finally:
        ray.shutdown()


def _check_room(ray: Any, gpus: int) -> None:
    """End where Ray would wait for ever."""
    found = ray.cluster_resources()
    for name in ("GPU", "CPU"):
        if found.get(name, 0) < gpus:
            sys.exit(
                f"envhub: the run takes {gpus} of Ray's {name}s and the cluster has {found.get(name, 0):g}: "
                "ask for less ([resources]), or start its nodes with more (ray start --num-gpus, --num-cpus)"
            )


if __name__ == "__main__":
    main(sys.argv[1])
