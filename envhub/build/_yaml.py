"""Reading YAML."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def load_yaml(source: Path | str) -> Any:
    """Return what a file or a text says.

    Raises:
        ValueError: it is not YAML, or not UTF-8.
        OSError: the file cannot be read.
    """
    import yaml  # type: ignore[import-untyped]  # here, so that commands that read none stay quick

    text = source if isinstance(source, str) else source.read_text(encoding="utf-8")
    try:
        return yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as reason:
        raise ValueError(f"not YAML: {reason}") from reason
