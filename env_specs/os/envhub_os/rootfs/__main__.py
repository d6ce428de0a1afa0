"""The command: `python -m envhub_os.rootfs build|lock|unpack`."""

from __future__ import annotations

import argparse
import platform
import sys
from pathlib import Path

from .building import BuildFailed, build
from .image import ImageInvalid, unpack
from .lockfile import MIRROR, LockFailed, lock, write_lock


def main() -> int:
    """Runs the command; 1 when it failed."""
    parser = argparse.ArgumentParser(prog="python -m envhub_os.rootfs")
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("build", help="make a root file system from debian.lock")
    making.add_argument("folder", type=Path)
    making.add_argument("--cache", type=Path, help="where archives are kept")
    locking = commands.add_parser("lock", help="write debian.lock from what a mirror has now")
    for one in (making, locking):
        one.add_argument(
            "--mirror", default=MIRROR, help="the address of the folder that holds pool and dists"
        )
    unpacking = commands.add_parser("unpack", help="make one from an OCI or Docker image")
    unpacking.add_argument("image", type=Path)
    unpacking.add_argument("folder", type=Path)
    options = parser.parse_args()
    try:
        if options.command == "build":
            build(options.folder, options.mirror, options.cache)
        elif options.command == "lock":
            write_lock(lock(options.mirror), platform.machine())
        else:
            unpack(options.image, options.folder)
    except (BuildFailed, ImageInvalid, LockFailed, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
