"""A task's own solution as a policy: what the environment plans, and who plays that."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from envhub_os.task import Task


class Plan:
    """The actions that solve a task, one after the other.

    Args:
        task: The task; it must have a solution.
        form: "classic" or "tools": how actions are written.
        state: Where another plan for the task stood, if it is to go on from there.

    Attributes:
        action: The next one.
    """

    def __init__(self, task: Task, form: str, state: Sequence[Any] | None = None) -> None:
        assert task.solution is not None
        self._rest = list(task.solution.scripts)
        self._answer = task.solution.answer
        self._finishes = self._answer is None and not task.answers
        self._classic = form == "classic"
        if state is None:
            self.action: str = self._next("")
        else:
            left, self.action = state
            self._rest = self._rest[len(self._rest) - left :]

    @property
    def state(self) -> list[Any]:
        """Where it stands, as a JSON value."""
        return [len(self._rest), self.action]

    def went_on(self, printed: str) -> None:
        """Go on to the next action, after a script that printed this."""
        self.action = self._next(printed)

    def _next(self, printed: str) -> str:
        if self._rest:
            script = self._rest.pop(0)
            if self._classic:
                return f"Act: bash\n\n```bash\n{script}\n```"
            return _call("bash_action", "script", script)
        if self._finishes:
            return "Act: finish" if self._classic else _call("finish_action", "thought", "done")
        answer = printed.strip() if self._answer is None else self._answer
        if self._classic:  # which holds one line; of several, the last one says how it went
            answer = answer.rpartition("\n")[2]
        return f"Act: answer({answer})" if self._classic else _call("answer_action", "answer", answer)


def _call(name: str, key: str, value: str) -> str:
    return json.dumps({"name": name, "arguments": {key: value}}, ensure_ascii=False)


class Expert:
    """Plays the solution of the embedded task that the info names, which needs nothing of the hub.

    Of other tasks, AgentBench's, it plays what it reads in ``info["expert_action"]``. Call it with an
    observation and the info that came with it; it returns the next action. Each episode needs one of its own.

    Raises:
        ValueError: The task is none of the embedded ones, and the environment plans nothing: it is to be
            served with `expert` set.
    """

    def __init__(self) -> None:
        self._plan: Plan | None = None

    def __call__(self, observation: str, info: Mapping[str, Any]) -> str:
        """Return the next action."""
        if "expert_action" in info:
            action: str = info["expert_action"]
            return action
        if "task" in info:
            task = _embedded(info["task"]["id"])
            self._plan = Plan(task, "tools" if "tools" in info else "classic") if task else None
        elif self._plan is not None and info.get("action") == "bash":
            self._plan.went_on(observation.partition("\n\n")[2])
        if self._plan is None:
            raise ValueError(
                "the expert knows the embedded tasks alone, and there is no info['expert_action']: serve "
                "with --set os.expert=true, and play tasks with a solution"
            )
        return self._plan.action


def _embedded(name: str) -> Task | None:
    """Make the embedded task of a name."""
    folder = str(Path(__file__).resolve().parents[1])
    if folder not in sys.path:  # played from outside: this file was loaded alone
        sys.path.append(folder)
    from envhub_os import own

    kind, _, variant = name.rpartition("-")
    for template in own.TEMPLATES:
        if template.name == kind and variant.isdigit():
            return template.entry(int(variant)).make()
    return None
