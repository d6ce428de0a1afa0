"""What a pool is started from."""

from __future__ import annotations

from dataclasses import dataclass

from envhub.spec import ServedSpec


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """One environment to serve, with everything decided.

    Attributes:
        served: The spec and its settings.
        replicas: How many environments live at once.
        workers: How many processes host them; None means one a core, or what the spec asks for.
    """

    served: ServedSpec
    replicas: int
    workers: int | None = None
