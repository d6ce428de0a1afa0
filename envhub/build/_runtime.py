"""Which interpreter a spec's workers run in: decided once, before anything starts, and said everywhere."""

from __future__ import annotations

import sys

from envhub.build._errors import HostUnsuitable, LockMissing, LockStale, NotBuilt, WrongPlatform
from envhub.build._fresh import check_fresh
from envhub.build._host import host_lacks
from envhub.build._lock import Kind, Lock, read_lock
from envhub.build._store import Store
from envhub.spec import HOST, Runtime, Spec, Wanted, reference


def find_runtime(spec: Spec, wanted: Wanted, store: Store) -> Runtime:
    """Find the interpreter that a spec's workers are to run in; nothing is built.

    Args:
        spec: The spec.
        wanted: `conda` or `venv`: what was built from the spec's locks. `host`: the hub's own interpreter,
            if it satisfies the spec. `auto`: conda if it is built, else host.
        store: Where built environments are.

    Raises:
        NotBuilt: Nothing is built from the spec's present locks.
        HostUnsuitable: The hub's own interpreter lacks something the spec asks for.
        VenvRefused: A virtual environment can't hold what the spec asks for.
        LockStale: What the locks were made from has changed since.
        BuildError: The locks are missing, can't be read or are for another platform.
    """
    if wanted == "host":
        return _host(spec, store)
    if wanted == "auto":
        return _auto(spec, store)
    lock = read_lock(spec)
    if wanted == "venv":
        lock.check_kind("venv")
    built = _built(spec, lock, wanted, store)
    if built is None:
        raise NotBuilt(
            f"{spec.name}: there is no {wanted} environment of its present lock "
            f"({lock.digest_for(wanted)}) in {store.root}; {_how_to_have_it(spec, wanted, lock, store)}"
        )
    return built


def _auto(spec: Spec, store: Store) -> Runtime:
    """Conda if it is built, else the host if it has everything, else an error that says what to do."""
    if spec.path is None:
        return _host(spec, store)
    try:
        lock = read_lock(spec)
    except (LockMissing, WrongPlatform) as reason:
        command = _build_command(spec, store)
        return _host(spec, store, f"and nothing is built for it: {reason}, then {command}")
    built = _built(spec, lock, "conda", store)
    if built is not None:
        return built
    how = _how_to_have_it(spec, "conda", lock, store)
    return _host(spec, store, f"and its conda environment is not built; {how}")


def _host(spec: Spec, store: Store, next_step: str | None = None) -> Runtime:
    lacks = host_lacks(spec)
    if not lacks:
        return HOST
    if spec.path is None:
        next_step = "it has no folder for locks, so it can only run on the hub's own interpreter"
    elif next_step is None:
        next_step = (
            f"install that here, or build it an environment of its own with {_build_command(spec, store)}"
        )
    raise HostUnsuitable(
        f"{spec.name}: the hub's own interpreter ({sys.executable}) lacks {', '.join(lacks)}; {next_step}"
    )


def _built(spec: Spec, lock: Lock, kind: Kind, store: Store) -> Runtime | None:
    """Return what is built from a lock, if the lock is still that of the spec."""
    digest = lock.digest_for(kind)
    built = store.find(digest, kind)
    if built is None:
        return None
    freshness = check_fresh(spec)
    if not freshness.fresh:
        raise LockStale(
            f"{spec.name}: what is built is from stale locks: {'; '.join(freshness.reasons)}; "
            f"run: envhub lock {reference(spec)}, then {_build_command(spec, store, kind)}"
        )
    verify = store.command("store", "verify", "--remove")
    mend = f"if it is damaged, `{verify}` says so and {_build_command(spec, store, kind)} then makes it anew"
    return Runtime(kind, built.python, digest, mend)


def _how_to_have_it(spec: Spec, kind: Kind, lock: Lock, store: Store) -> str:
    origin = store.moved_from(lock.digest_for(kind), kind)
    if origin is None:
        return f"make it with {_build_command(spec, store, kind)}"
    command = _build_command(spec, store, kind, "--offline")
    return f"it was built as {origin} and works only there: build it again here with {command}"


def _build_command(spec: Spec, store: Store, kind: Kind = "conda", *options: str) -> str:
    isolation = () if kind == "conda" else ("--isolation", kind)
    return f"`{store.command('build', reference(spec), *isolation, *options)}`"
