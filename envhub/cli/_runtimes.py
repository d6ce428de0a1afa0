"""What the environments of a command run in: decided before anything starts."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator

from envhub.build import (
    NotBuilt,
    SpecFiles,
    Store,
    StoreInvalid,
    find_artifact,
    find_runtime,
    wants,
    with_artifacts,
)
from envhub.cli._hubfile import EnvPlan
from envhub.cli.build import artifact_with_bars, build_with_bars
from envhub.pool import PoolPlan
from envhub.spec import ServedSpec, Wanted, reference


@contextlib.contextmanager
def pool_plans(plans: Iterable[EnvPlan], store: Store, build: bool) -> Iterator[list[PoolPlan]]:
    """Decide what each environment runs in and keep it from being removed while the context lasts.

    Args:
        plans: What is to be served.
        store: Where built environments are.
        build: Whether what is wanted is built first.

    Raises:
        BuildError: One of them can't run in what is wanted, or can't be built.
    """
    with contextlib.ExitStack() as held:
        decided = []
        for plan in plans:
            if build:
                _build(plan, store)
            served = with_runtime(plan.served, plan.isolation, store)
            held.enter_context(holding(served, store))
            decided.append(PoolPlan(served, plan.replicas, plan.workers))
        yield decided


def _build(plan: EnvPlan, store: Store) -> None:
    """Build what an environment is to run in and uses; `auto` means conda where the spec has locks."""
    spec, wanted = plan.served.spec, plan.isolation
    for artifact in spec.artifacts:
        if wants(plan.served, artifact):
            artifact_with_bars(spec, artifact, store)
    if wanted == "auto" and spec.path is not None and SpecFiles(spec.path).conda_lock.is_file():
        wanted = "conda"
    if wanted in ("conda", "venv"):
        build_with_bars(spec, store, wanted)


def with_runtime(served: ServedSpec, wanted: Wanted, store: Store) -> ServedSpec:
    """Decide what an environment runs in, and give it what is built for it.

    Raises:
        BuildError: It can't run in what is wanted.
    """
    runtime = find_runtime(served.spec, wanted, store)
    return dataclasses.replace(served, runtime=runtime, config=with_artifacts(served, store))


@contextlib.contextmanager
def holding(served: ServedSpec, store: Store) -> Iterator[None]:
    """Keep what an environment runs in and uses from being removed while the context lasts.

    Raises:
        NotBuilt: It was removed before it could be held.
    """
    with contextlib.ExitStack() as held:
        for artifact in served.spec.artifacts:
            built = find_artifact(served.spec, artifact, store)
            if built is not None and not wants(served, artifact):
                with contextlib.suppress(StoreInvalid):
                    held.enter_context(store.hold(built.digest, "artifact"))
        runtime = served.runtime
        if runtime.isolation != "host" and runtime.lock_digest is not None:
            with contextlib.suppress(StoreInvalid):  # a store that is only read: nobody here removes anything
                held.enter_context(store.hold(runtime.lock_digest, runtime.isolation))
            if store.find(runtime.lock_digest, runtime.isolation) is None:
                build = store.command("build", reference(served.spec), "--isolation", runtime.isolation)
                raise NotBuilt(f"{served.spec.name}: {runtime.python} was removed just now; run: {build}")
        yield
