"""Changing locks behind their back."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from envhub.spec import Spec


def edit(spec: Spec, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the content of a spec's conda-lock.yml."""
    assert spec.path is not None
    file = spec.path / "conda-lock.yml"
    content = json.loads(file.read_text())
    change(content)
    file.write_text(json.dumps(content))


def package(content: dict[str, Any], name: str) -> dict[str, Any]:
    """One package of a lock's content."""
    return next(one for one in content["package"] if one["name"] == name)


def point(spec: Spec, name: str, archive: Path, url: str | None = None) -> None:
    """Lock another archive for a package, with its right hashes."""
    content = archive.read_bytes()
    sha256, md5 = hashlib.sha256(content).hexdigest(), hashlib.md5(content).hexdigest()
    entry = {"url": url or archive.as_uri(), "hash": {"md5": md5, "sha256": sha256}}
    edit(spec, lambda lock: package(lock, name).update(entry))
