"""A saved point of an episode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A point of an episode that the hub keeps; made by `Env.snapshot`, taken by `restore` and `fork`.

    It outlives its session, can be restored by any session of the same environment on the same hub, and can
    be pickled.

    Attributes:
        id: Its name on the hub.
        step_index: Index of the step that would come next.
        kind: "native" where the environment's own state was saved, "replay" where the record was.
        task: The task that the episode's reset asked for.
    """

    id: str
    step_index: int
    kind: Literal["native", "replay"]
    task: Mapping[str, Any] | str | None = None
