"""Prints the content hashes that conda-lock accepts for an `environment.yml`, as JSON by platform.

Run as a module, in a process of its own: the import of conda-lock is slow and changes modules of the standard
library. It calls functions that conda-lock does not promise to keep; the extra `build` bounds its version.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from envhub.build._fresh import NO_CONDA_LOCK


def content_hashes(asked: dict[str, Any]) -> dict[str, list[str]]:
    """Compute the hashes, for the channels that the lock at hand was made with."""
    from conda_lock.content_hash import (  # type: ignore[import-untyped]
        backwards_compatible_content_hashes,
    )
    from conda_lock.src_parser import make_lock_spec  # type: ignore[import-untyped]
    from conda_lock.virtual_package import (  # type: ignore[import-untyped]
        virtual_package_repo_from_specification,
    )

    spec = make_lock_spec(
        src_files=[Path(asked["environment"])],
        channel_overrides=asked["channels"],
        platform_overrides=asked["platforms"],
        mapping_url="",  # maps names of PyPI packages, and there are none
    )
    machine = virtual_package_repo_from_specification(Path(asked["virtual_packages"]))
    return {
        platform: sorted(backwards_compatible_content_hashes(spec, machine, platform))
        for platform in spec.platforms
    }


if __name__ == "__main__":
    try:
        print(json.dumps(content_hashes(json.loads(sys.argv[1]))))
    except ModuleNotFoundError as missing:
        if missing.name != "conda_lock":
            raise
        sys.exit(NO_CONDA_LOCK)
