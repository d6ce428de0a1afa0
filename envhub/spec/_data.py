"""Checking that the data a spec declares is there, whole and unchanged."""

from __future__ import annotations

import hashlib

from envhub.spec._errors import DataInvalid
from envhub.spec._model import Spec


def check_data(spec: Spec) -> None:
    """Check the size and SHA-256 of every bundled file of a spec.

    Raises:
        DataInvalid: A file is missing or is not the one that was declared.
    """
    for file in spec.data:
        if file.source != "bundled" or spec.path is None:
            continue
        path = spec.path / file.name
        if not path.is_file():
            raise DataInvalid(f"spec {spec.name!r}: its data file {path} is missing; install the spec again")
        content = path.read_bytes()
        found = hashlib.sha256(content).hexdigest()
        if (len(content), found) != (file.size, file.sha256):
            raise DataInvalid(
                f"spec {spec.name!r}: {path} is not the declared file: it has {len(content)} bytes with "
                f"sha256 {found}, and envhub.toml declares {file.size} bytes with {file.sha256}; install the "
                "spec again, or declare the new file if you changed it on purpose"
            )
