"""Starts a template process: `python __main__.py CONTROL_FD`.

Loads the package by path as `envhub_worker`, so that an environment's own modules can have any name
and nothing of the hub's can be imported by accident.
"""

import importlib.util
import os
import sys


def _load_package() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or os.curdir) != here]
    spec = importlib.util.spec_from_file_location(
        "envhub_worker", os.path.join(here, "__init__.py"), submodule_search_locations=[here]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"cannot load the worker package at {here}")
    module = importlib.util.module_from_spec(spec)
    sys.modules["envhub_worker"] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    _load_package()
    template = importlib.import_module("envhub_worker.template")
    template.main(int(sys.argv[1]))
