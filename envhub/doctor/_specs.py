"""Specs, one by one: their data, their locks, what is built of them, and where they would run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from envhub.build import (
    BuildError,
    HostUnsuitable,
    Kind,
    Lock,
    LockMissing,
    SetupInvalid,
    SpecFiles,
    Store,
    check_fresh,
    find_artifact,
    find_runtime,
    read_lock,
)
from envhub.doctor._finding import Finding
from envhub.spec import Artifact, DataInvalid, Spec, check_data, reference

_KINDS: tuple[Kind, ...] = ("conda", "venv")


def look_at_spec(spec: Spec, store: Store, *, deep: bool) -> Iterator[Finding]:
    """Everything about one spec.

    Args:
        spec: The spec.
        store: Where what is built of it would be.
        deep: Whether every file of what is built is to be hashed.
    """
    yield from _data(spec)
    finding, lock = _lock(spec)
    yield finding
    built: dict[Kind, Finding] = {}
    if lock is not None:
        for kind in _KINDS:
            found = _built(spec, lock.digest_for(kind), store, kind, deep=deep)
            if found is not None:
                built[kind] = found
    yield from built.values()
    for artifact in spec.artifacts:
        yield _artifact(spec, artifact, store, deep=deep)
    yield _serves(spec, store, finding, built)


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


def _lock(spec: Spec) -> tuple[Finding, Lock | None]:
    """The locks, where they are in order, and what there is to say of them."""
    command = f"envhub lock {reference(spec)}"
    try:
        freshness = check_fresh(spec)
        if not freshness.fresh and _never_locked(SpecFiles.of(spec)):
            words = "not locked yet: it can run in the hub's own interpreter only"
            return Finding("lock", spec.name, "note", words, command), None
        if not freshness.fresh:
            words = f"stale: {'; '.join(freshness.reasons)}"
            return Finding("lock", spec.name, "problem", words, command), None
        lock = read_lock(spec)
    except LockMissing as reason:
        if spec.path is None or not SpecFiles(spec.path).environment.is_file():
            words = "has none: it can run in the hub's own interpreter only"
            return Finding("lock", spec.name, "note", words), None
        return Finding("lock", spec.name, "problem", str(reason), command), None
    except SetupInvalid as reason:
        mend = f"edit {SpecFiles.of(spec).setup}"
        return Finding("lock", spec.name, "problem", str(reason), mend), None
    except BuildError as reason:
        return Finding("lock", spec.name, "problem", str(reason), command), None
    words = f"fresh: {len(lock.conda)} conda and {len(lock.pypi)} PyPI packages, {lock.digest}"
    return Finding("lock", spec.name, "ok", words), lock


def _never_locked(files: SpecFiles) -> bool:
    return not any(file.is_file() for file in (files.conda_lock, files.requirements_lock, files.provenance))


def _built(spec: Spec, digest: str, store: Store, kind: Kind, *, deep: bool) -> Finding | None:
    """What is built of one kind; that there is no virtual environment is not worth a word."""
    option = () if kind == "conda" else ("--isolation", kind)
    built, origin = store.find(digest, kind), store.moved_from(digest, kind)
    if built is None and origin is not None:
        words = f"{kind} environment was built as {origin} and works only there: it was moved or copied"
        again = store.command("build", reference(spec), *option, "--offline")
        return Finding("built", spec.name, "note", words, again)
    again = store.command("build", reference(spec), *option)
    if built is None:
        return Finding("built", spec.name, "note", "not built", again) if kind == "conda" else None
    complaints = store.verify(built) if deep else []
    if complaints:
        more = f" and {len(complaints) - 3} more" if len(complaints) > 3 else ""
        words = f"{kind} environment is not what was built: {', '.join(complaints[:3])}{more}"
        mend = f"{store.command('store', 'verify', '--remove')}, then {again}"
        return Finding("built", spec.name, "problem", words, mend)
    words = f"{kind}, Python {built.python_version}, {'every file as built' if deep else 'complete'}"
    return Finding("built", spec.name, "ok", f"{words} ({built.prefix})")


def _artifact(spec: Spec, artifact: Artifact, store: Store, *, deep: bool) -> Finding:
    """What is made of an artifact; that it is not is worth knowing."""
    again = store.command("build", reference(spec), "--isolation", "host")
    built = find_artifact(spec, artifact, store)
    if built is None:
        return Finding("artifact", spec.name, "note", f"{artifact.name} is not built: {artifact.help}", again)
    complaints = store.verify(built) if deep else []
    if complaints:
        words = f"{artifact.name} is not what was built: {', '.join(complaints[:3])}"
        mend = f"{store.command('store', 'verify', '--remove')}, then {again}"
        return Finding("artifact", spec.name, "problem", words, mend)
    words = f"{artifact.name}, {'every file as built' if deep else 'complete'} ({built.content})"
    return Finding("artifact", spec.name, "ok", words)


def _serves(spec: Spec, store: Store, lock: Finding, built: Mapping[Kind, Finding]) -> Finding:
    """Where it would run; that it has to be built first is no problem where the locks are in order."""
    build = store.command("build", reference(spec))
    try:
        runtime = find_runtime(spec, "auto", store)
    except HostUnsuitable as reason:
        if lock.status == "ok":
            return Finding("serves", spec.name, "note", str(reason), build)
        return Finding("serves", spec.name, "problem", str(reason), lock.mend or build)
    except BuildError as reason:
        return Finding("serves", spec.name, "problem", str(reason), lock.mend or build)
    used = built.get("conda") if runtime.isolation == "conda" else None
    if used is not None and used.status == "problem":
        return Finding("serves", spec.name, "problem", f"in {runtime}, which is damaged", used.mend)
    return Finding("serves", spec.name, "ok", f"in {runtime}")
