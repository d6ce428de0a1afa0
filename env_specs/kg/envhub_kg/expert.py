"""Who plays what the environment plans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Expert:
    """Plays what it reads in ``info["expert_action"]``.

    Call it with an observation and the info that came with it; it returns the next action.

    Raises:
        ValueError: The environment plans nothing: it is to be served with `expert` set.
    """

    def __call__(self, observation: str, info: Mapping[str, Any]) -> str:
        """Return the next action."""
        if "expert_action" not in info:
            raise ValueError(
                "no info['expert_action']: serve with --set kg.expert=true, and questions that have actions"
            )
        action: str = info["expert_action"]
        return action
