"""ALFWorld, played by the published packages: the environment of the spec `alfworld` with its other engine.

It is a spec of its own because it has locks of its own: the packages need many others and a compiler.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2] / "alfworld"))

from envhub_alfworld.data import Library
from envhub_alfworld.env import AlfworldEnv

__all__ = ["OriginalEnv"]


class OriginalEnv(AlfworldEnv):
    """Games of ALFWorld in the published engine; see `AlfworldEnv` for what it takes and gives."""

    def __init__(
        self,
        shared: Library | None = None,
        *,
        data_dir: str = "",
        task_types: Sequence[str] = (),
        admissible_commands: bool = True,
        expert: bool = False,
    ) -> None:
        """Open the games; the engine that plays them starts with the first reset."""
        super().__init__(
            shared,
            mode="faithful",
            engine="textworld",
            data_dir=data_dir,
            task_types=task_types,
            admissible_commands=admissible_commands,
            expert=expert,
        )

    @classmethod
    def load_shared(cls, config: Mapping[str, Any]) -> Library:
        """Find the games, and see whether the published engine can be started; see `AlfworldEnv`."""
        return super().load_shared({**config, "engine": "textworld"})
