"""A question's own way to the answer, as the actions of an episode."""

from __future__ import annotations

import json
import re

from envhub_kg.task import Task
from envhub_kg.tools import PARAMETERS

_CALL = re.compile(r"(\w+)\((.*)\)")
_HARD = re.compile("[,()]|[vV]ariable ")
_LISTS = ("get_relations", "get_attributes")


class Plan:
    """The actions that answer a question, one after the other.

    Args:
        task: The question; it must have actions.
        form: "classic" or "tools": how actions are written.
        faithful: Entities whose words the published grammar can't read are given by their ids.

    Attributes:
        taken: How many have been taken.
    """

    def __init__(self, task: Task, form: str, faithful: bool) -> None:
        self._form = form
        self._words: dict[str, str] = {}
        for words, ident in task.entities.items():
            if not (faithful and form == "classic" and _HARD.search(words)):
                self._words.setdefault(ident, words)
        self._actions = task.actions
        self._made = sum(not action.startswith(_LISTS) for action in task.actions)
        self.taken = 0

    @property
    def action(self) -> str:
        """The next one."""
        if self.taken >= len(self._actions):
            return f"Final Answer: #{self._made - 1}"
        found = _CALL.fullmatch(self._actions[self.taken])
        if found is None:
            raise ValueError(f"{self._actions[self.taken]!r} is no action")
        name, arguments = (
            found[1],
            [self._words.get(text.strip(), text.strip()) for text in found[2].split(",", 1)],
        )
        if self._form == "classic":
            return f"Action: {name}({', '.join(arguments)})"
        given = dict(zip(PARAMETERS[name], arguments))
        return json.dumps({"name": name, "arguments": given}, ensure_ascii=False)
