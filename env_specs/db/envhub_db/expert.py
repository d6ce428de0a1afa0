"""A task's own solution as a policy: what the environment plans, and who plays that."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from envhub_db.task import Task

DONE = "done"
"""What is answered where the answer does not matter."""


class Plan:
    """The actions that solve a task, one after the other: its statements, then the answer.

    Args:
        task: The task.
        form: "classic" or "tools": how actions are written.
        position: How many of them were done.
    """

    def __init__(self, task: Task, form: str, position: int = 0) -> None:
        self._task = task
        self._classic = form == "classic"
        self.position = position

    @property
    def action(self) -> str:
        """The next action."""
        if self.position < len(self._task.reference):
            sql = self._task.reference[self.position]
            if self._classic:
                return f"Action: Operation\n```sql\n{sql}\n```"
            return _call("execute_sql", "query", sql)
        labels = list(getattr(self._task.goal, "labels", (DONE,)))
        if self._classic:
            return f"Action: Answer\nFinal Answer: {json.dumps(labels, ensure_ascii=False)}"
        return _call("commit_final_answer", "answers", labels)

    def went_on(self) -> None:
        """Go on to the next action, after a statement."""
        self.position += 1


def _call(name: str, key: str, value: Any) -> str:
    return json.dumps({"name": name, "arguments": {key: value}}, ensure_ascii=False)


class Expert:
    """Plays what it reads in ``info["expert_action"]``.

    Call it with an observation and the info that came with it; it returns the next action.

    Raises:
        ValueError: The environment plans nothing: it is to be served with `expert` set.
    """

    def __call__(self, observation: str, info: Mapping[str, Any]) -> str:
        """Return the next action."""
        if "expert_action" not in info:
            raise ValueError("no info['expert_action']: serve with --set db.expert=true")
        action: str = info["expert_action"]
        return action
