"""Which archives an environment is built from."""

from __future__ import annotations

from envhub.build._fetch import Wanted
from envhub.build._files import SpecFiles
from envhub.build._lock import Kind, Lock
from envhub.build._store import Store


def conda_archives(lock: Lock, files: SpecFiles, kind: Kind) -> list[Wanted]:
    """Return the archives of the conda part, in the order of the lock; a virtual environment has none."""
    if kind == "venv":
        return []
    return [
        Wanted(f"{one.name} {one.version}", files.conda_lock, one.file_name, one.url, one.sha256, one.md5)
        for one in lock.conda
    ]


def pypi_archives(lock: Lock, files: SpecFiles, store: Store, offline: bool) -> list[Wanted]:
    """Choose the archives of the PyPI part, in the order of the lock: on the index, or in the store.

    Raises:
        FetchFailed: The index does not answer; or `offline`, and one is not in the store.
        LockInvalid: None of a package's locked archives suits.
    """
    if not lock.pypi:
        return []
    from envhub.build._wheels import Choice

    choice = Choice(lock, files.requirements_lock)
    return choice.from_store(store) if offline else choice.from_index()
