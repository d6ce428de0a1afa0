"""The steps of `envhub build os` and `envhub lock os`: `python -m envhub_os.rootfs archives|build|lock`."""

from __future__ import annotations

import argparse
import json
import os
import sys
import urllib.parse
from pathlib import Path

from . import apt
from .building import BuildFailed, build, installer, require_machine
from .lockfile import LockInvalid, read_lock


def main() -> int:
    """Run a step; 1 when it failed."""
    parser = argparse.ArgumentParser(prog="python -m envhub_os.rootfs", description=__doc__)
    parser.add_argument("step", choices=["archives", "build", "lock"])
    step = parser.parse_args().step
    try:
        if step == "archives":
            print(json.dumps(_archives()))
        elif step == "build":
            folders = [os.environ.get(name, "") for name in ("ENVHUB_ARTIFACT", "ENVHUB_ARCHIVES")]
            if not all(folders):
                raise BuildFailed("this is a step of a build, which says where to: envhub build os")
            build(Path(folders[0]), Path(folders[1]), read_lock())
        else:
            apt.lock().write()
    except (BuildFailed, LockInvalid, apt.AptFailed, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _archives() -> list[dict[str, object]]:
    """What the build needs, and where it may be had: this machine's mirrors, then Debian's snapshots."""
    lock = read_lock()
    if "ENVHUB_ARTIFACT" in os.environ:  # to build from them, not to carry them elsewhere
        installer()
    require_machine(lock, apt.architecture())
    roots = [*apt.mirrors(), f"{apt.SNAPSHOT}/{lock.date}"]
    return [
        {
            "name": package.file_name,
            "sha256": package.sha256,
            "urls": [f"{root}/{urllib.parse.quote(package.path)}" for root in roots],
        }
        for package in lock.packages
    ]


if __name__ == "__main__":
    sys.exit(main())
