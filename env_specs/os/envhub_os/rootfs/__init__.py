"""The root file system of the machines: Debian, made once from locked packages, shared read-only by all.

    python -m envhub_os.rootfs build FOLDER        # from debian.lock; a few minutes, with mmdebstrap
    python -m envhub_os.rootfs lock                # writes debian.lock anew from what a mirror has now
    python -m envhub_os.rootfs unpack IMAGE.tar FOLDER    # from an OCI or Docker image instead

`packages.txt` says what is installed, `offline.txt` what tasks may install: those lie in a repository inside,
since there is no network. `sudo` is one of them and therefore not installed. Every archive is checked against
its locked SHA-256.
"""

from __future__ import annotations

from .building import BuildFailed, build
from .image import unpack
from .lockfile import Package, lock, read_lock

__all__ = ["BuildFailed", "Package", "build", "lock", "read_lock", "unpack"]
