"""What a task is: a question about a graph, the entities it speaks of, and the answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Task:
    """One question.

    Attributes:
        id: Its name, the same in every version of the data.
        split: Where it belongs: "train", "validation" or "test".
        question: What is asked.
        entities: The entities it speaks of, by the words it uses for them: `{"Paris": "city.paris"}`. The
            order is the one they are shown in.
        answers: Names of all that answers it, as `Ontology.name` gives them, or values as texts ("133").
        actions: A way to the answer, as AgentBench writes it, with the names of entities and not their words:
            `get_relations(city.paris)`, `get_neighbors(city.paris,city.country)`, `intersection(#0,#1)`. The
            last variable is the answer. Empty where none is known.
        level: How hard it is: 1 (one hop) to 3; 0: not known.
        kind: What kind of question it is, such as "count" or "grailqa"; for lists of tasks.
    """

    id: str
    split: str
    question: str
    entities: Mapping[str, str]
    answers: frozenset[str]
    actions: tuple[str, ...] = ()
    level: int = 0
    kind: str = ""

    def listed(self) -> dict[str, Any]:
        """Return what a list of tasks says of it: nothing of the answer."""
        listed: dict[str, Any] = {"id": self.id, "split": self.split}
        if self.kind:
            listed["kind"] = self.kind
        if self.level:
            listed["level"] = self.level
        return listed
