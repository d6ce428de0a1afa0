"""The root file system of the machines.

Debian, made by `envhub build os` of locked packages, shared read-only by all. `packages.txt` says what is
installed, `offline.txt` what tasks may install: those lie in a repository inside, since there is no network.
`sudo` is one of them and therefore not installed. `debian.lock` has version and SHA-256 of each archive.

Instead of it: an image in a tar file, a folder, or the programs of the machine that the hub runs on.
"""

from __future__ import annotations

from .choice import HOST, Root, locate
from .image import ImageInvalid

__all__ = ["HOST", "ImageInvalid", "Root", "locate"]
