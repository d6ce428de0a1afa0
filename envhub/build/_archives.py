"""Which archives an environment is built from."""

from __future__ import annotations

from envhub.build._errors import FetchFailed, NotCached
from envhub.build._fetch import Wanted
from envhub.build._files import SpecFiles
from envhub.build._lock import Kind, Lock
from envhub.build._store import Store


def conda_archives(lock: Lock, files: SpecFiles, kind: Kind, store: Store) -> list[Wanted]:
    """Return the archives of the conda part, in the order of the lock; a virtual environment has none."""
    if kind == "venv":
        return []
    otherwise = None
    if not lock.native:
        otherwise = f"do without conda: {store.command('build', lock.reference, '--isolation', 'venv')}"
    return [
        Wanted(
            label=f"{one.name} {one.version}",
            lock=files.conda_lock,
            file_name=one.file_name,
            url=one.url,
            sha256=one.sha256,
            md5=one.md5,
            otherwise=otherwise,
        )
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
    if offline:
        return choice.from_store(store)
    try:
        return choice.from_index()
    except FetchFailed as reason:
        try:
            choice.from_store(store)
        except NotCached:
            raise reason from None
        raise FetchFailed(
            f"{reason}; the archives of all of them are in the store already: --offline uses those"
        ) from reason
