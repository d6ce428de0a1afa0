"""Locks written by hand, and virtual environments where a build would put its result: quick to have."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path

from envhub.build import Kind, Store, host_platform, read_inputs, read_lock
from envhub.spec import Spec, load

_SHA = "0" * 64


def ask_for(spec: Spec, *natives: str, requirements: str | None = None, locked: bool = True) -> Spec:
    """Give a spec an `environment.yml` and locks, and a `requirements.in` if there is anything for it."""
    assert spec.path is not None
    asked = "".join(f"  - {name}\n" for name in ("python 3.11.*", "pip", *natives))
    (spec.path / "environment.yml").write_text(
        f"channels: [conda-forge]\ndependencies:\n{asked}platforms: [{host_platform()}]\n"
    )
    if requirements is not None:
        (spec.path / "requirements.in").write_text(requirements)
    if locked:
        pretend_locked(spec, *natives)
    return load(spec.path)


def pretend_locked(spec: Spec, *natives: str) -> None:
    """Lock a spec to packages that nobody has, as `envhub lock` would write it."""
    assert spec.path is not None
    packages = [
        {
            "name": name,
            "version": "3.11.14",
            "manager": "conda",
            "platform": host_platform(),
            "dependencies": {},
            "url": f"https://conda.invalid/{name}-3.11.14-0.conda",
            "hash": {"sha256": _SHA},
        }
        for name in ("python", "pip", *natives)
    ]
    inputs = read_inputs(spec)
    metadata = {
        "content_hash": {host_platform(): _SHA},
        "channels": [],
        "platforms": [host_platform()],
        "custom_metadata": inputs.conda_digests,
    }
    whole = {"version": 1, "metadata": metadata, "package": packages}
    (spec.path / "conda-lock.yml").write_text(json.dumps(whole))
    if inputs.requirements is not None:
        notes = {"requirements.in": inputs.requirements_digest, "python": "3.11.14"}
        notes["platforms"] = f"{host_platform()} (glibc 2.28)"
        head = "".join(f"# {name}: {value}\n" for name, value in notes.items())
        (spec.path / "requirements.lock").write_text(head)


def pretend_built(spec: Spec, store: Store, kind: Kind = "conda", python: Path | None = None) -> Path:
    """Put an empty virtual environment where a build of the spec would; returns its interpreter."""
    digest = read_lock(spec).digest_for(kind)
    with store.building(digest, kind, lambda: None) as work:
        command = [python or sys.executable, "-m", "venv", "--without-pip", work.prefix]
        subprocess.run(command, check=True, timeout=120)
        built = work.complete(
            kind=kind,
            digest=digest,
            spec=spec.name,
            python_version=platform.python_version(),
            platform=host_platform(),
            created=0.0,
            archives=(),
        )
    return built.python
