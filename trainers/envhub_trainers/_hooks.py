"""Hooks: what a configuration names by where it is, `module:name` or `path/to/file.py:name`."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["HookNotFound", "load"]


class HookNotFound(ValueError):
    """A configuration names something that isn't there."""


def load(where: str) -> Any:
    """Import what `where` names.

    Args:
        where: `module:name`, or `file.py:name` with a path that is absolute or relative to the working
            directory.

    Raises:
        HookNotFound: There is no such module, file or name, or importing it failed.
    """
    place, colon, name = where.rpartition(":")
    if not (colon and place and name):
        raise HookNotFound(f"{where!r} names no hook: write module:name or path/to/file.py:name")
    try:
        module = _file(Path(place)) if place.endswith(".py") else importlib.import_module(place)
    except Exception as error:
        raise HookNotFound(f"{where!r} can't be imported: {type(error).__name__}: {error}") from error
    if not hasattr(module, name):
        raise HookNotFound(f"{where!r}: {place} has no {name!r}")
    return getattr(module, name)


def _file(path: Path) -> ModuleType:
    """Import a file, once: two hooks of one file share its module."""
    digest = hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]
    name = f"envhub_hook_{path.stem}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise FileNotFoundError(f"no file {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
