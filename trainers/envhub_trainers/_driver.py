"""The program of a run, `python -m envhub_trainers._driver PLAN`: Ray, and OpenRLHF's own command in it.

OpenRLHF's command starts Ray itself where nobody has, but takes neither the address of a cluster nor the
environment of its workers. So Ray is up before; everything after is OpenRLHF's.
"""

from __future__ import annotations

import importlib
import json
import runpy
import sys
from pathlib import Path


def main(plan_file: str) -> None:
    """Run what a plan says, in this process.

    Args:
        plan_file: A `Plan` as JSON, see `envhub_trainers._launch`.
    """
    plan = json.loads(Path(plan_file).read_text())
    runtime: dict[str, object] = {"env_vars": plan["environment"]}
    changes = importlib.import_module("envhub_trainers.cpu" if plan["cpu"] else "envhub_trainers._masks")
    changes.adapt()
    runtime["worker_process_setup_hook"] = f"{changes.__name__}.adapt"
    import ray

    ray.init(**plan["ray"], runtime_env=runtime)
    try:
        sys.argv = [plan["module"], *plan["arguments"]]
        runpy.run_module(plan["module"], run_name="__main__")
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main(sys.argv[1])
