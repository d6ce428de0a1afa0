"""Changing modules as they are imported.

A change that is made when its module comes in costs a process nothing that never imports the module, and is
there before anybody else sees the module. Ray's workers import very different things, so that matters.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from types import ModuleType
from typing import Any

Change = Callable[[Any], None]
Surrounding = Callable[[], AbstractContextManager[None]]


def install(after: Mapping[str, Sequence[Change]], around: Mapping[str, Sequence[Surrounding]]) -> None:
    """Have modules changed when they are imported; those that are there already, now. Once a process.

    Args:
        after: For each module, what to call with it once it is imported.
        around: For each module, the contexts to import it in.
    """
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    sys.meta_path.insert(0, _Finder(after, around))
    for name, changes in after.items():
        if name in sys.modules:
            for change in changes:
                change(sys.modules[name])


class _Finder(importlib.abc.MetaPathFinder):
    """Finds what the others find, and puts the changes behind the import."""

    def __init__(
        self, after: Mapping[str, Sequence[Change]], around: Mapping[str, Sequence[Surrounding]]
    ) -> None:
        self._after = after
        self._around = around

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self._after and fullname not in self._around:
            return None
        for finder in sys.meta_path:
            if finder is self:
                continue
            spec = finder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _Loader(
                    spec.loader, self._after.get(fullname, ()), self._around.get(fullname, ())
                )
                return spec
        return None


class _Loader(importlib.abc.Loader):
    """Another loader, and the changes to what it loads."""

    def __init__(
        self, loader: importlib.abc.Loader, after: Sequence[Change], around: Sequence[Surrounding]
    ) -> None:
        self._loader = loader
        self._after = after
        self._around = around

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)  # resources, sources, the like

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        with ExitStack() as contexts:
            for surrounding in self._around:
                contexts.enter_context(surrounding())
            self._loader.exec_module(module)
        for change in self._after:
            change(module)
