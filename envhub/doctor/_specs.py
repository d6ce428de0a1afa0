"""Specs, one by one: their data, their locks, what is built of them, and where they would run."""

from __future__ import annotations

from collections.abc import Iterator

from envhub.build import (
    BuildError,
    Kind,
    LockMissing,
    SpecFiles,
    Store,
    check_fresh,
    find_runtime,
    read_lock,
)
from envhub.doctor._finding import Finding
from envhub.spec import DataInvalid, Spec, check_data, reference

_KINDS: tuple[Kind, ...] = ("conda", "venv")


def look_at_spec(spec: Spec, store: Store, *, deep: bool) -> Iterator[Finding]:
    """Everything about one spec.

    Args:
        spec: The spec.
        store: Where what is built of it would be.
        deep: Whether every file of what is built is to be hashed.
    """
    yield from _data(spec)
    lock = _lock(spec)
    yield lock
    if lock.status == "ok":
        for kind in _KINDS:
            yield from _built(spec, store, kind, deep=deep)
    yield _serves(spec, store)


def _data(spec: Spec) -> Iterator[Finding]:
    if not spec.data:
        return
    try:
        check_data(spec)
    except DataInvalid as reason:
        yield Finding("data", spec.name, "problem", str(reason), "install the spec again")
        return
    bundled = sum(file.source == "bundled" for file in spec.data)
    words = f"{bundled} of {len(spec.data)} files are bundled, there, and the declared ones"
    yield Finding("data", spec.name, "ok", words)


def _lock(spec: Spec) -> Finding:
    command = f"envhub lock {reference(spec)}"
    try:
        freshness = check_fresh(spec)
        if not freshness.fresh:
            return Finding("lock", spec.name, "problem", f"stale: {'; '.join(freshness.reasons)}", command)
        lock = read_lock(spec)
    except LockMissing as reason:
        if spec.path is None or not SpecFiles(spec.path).environment.is_file():
            return Finding(
                "lock", spec.name, "note", "has none: it can run in the hub's own interpreter only"
            )
        return Finding("lock", spec.name, "problem", str(reason), command)
    except BuildError as reason:
        return Finding("lock", spec.name, "problem", str(reason), command)
    words = f"fresh: {len(lock.conda)} conda and {len(lock.pypi)} PyPI packages, {lock.digest}"
    return Finding("lock", spec.name, "ok", words)


def _built(spec: Spec, store: Store, kind: Kind, *, deep: bool) -> Iterator[Finding]:
    built = store.find(read_lock(spec).digest_for(kind), kind)
    if built is None:
        if kind == "conda":
            yield Finding("built", spec.name, "note", "not built", f"envhub build {reference(spec)}")
        return
    complaints = store.verify(built) if deep else []
    if complaints:
        more = f" and {len(complaints) - 3} more" if len(complaints) > 3 else ""
        words = f"{kind} environment is not what was built: {', '.join(complaints[:3])}{more}"
        mend = f"envhub store verify --remove, then envhub build {reference(spec)}"
        yield Finding("built", spec.name, "problem", words, mend)
        return
    words = f"{kind}, Python {built.python_version}, {'every file as built' if deep else 'complete'}"
    yield Finding("built", spec.name, "ok", f"{words} ({built.prefix})")


def _serves(spec: Spec, store: Store) -> Finding:
    try:
        return Finding("serves", spec.name, "ok", f"in {find_runtime(spec, 'auto', store)}")
    except BuildError as reason:
        return Finding("serves", spec.name, "problem", str(reason), f"envhub build {reference(spec)}")
