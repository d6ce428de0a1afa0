"""What commands use of the bundled specs' own packages."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from envhub.spec import find


def import_from(name: str, module: str) -> Any:
    """Import a module of a bundled spec's own package."""
    folder = str(find(name).path)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(module)
