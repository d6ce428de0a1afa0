"""What a task is: tables, a question or an order, and how the end is judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union

from envhub_db.engine import Table

CHANGES = frozenset(("INSERT", "UPDATE", "DELETE"))
"""The types of tasks that the tables' final state decides."""


@dataclass(frozen=True)
class Answer:
    """The agent's answer decides.

    Attributes:
        labels: The values of the right one; their order does not count.
    """

    labels: tuple[str, ...]


@dataclass(frozen=True)
class Change:
    """What the tables hold at the end decides.

    Attributes:
        digest: The digest (`digests.of_tables`) that they should have; None: the one that the reference
            makes.
    """

    digest: str | None = None


Goal = Union[Answer, Change]


@dataclass(frozen=True)
class Task:
    """One task.

    Attributes:
        id: Its name.
        type: One of `CHANGES`, or what a question is about: "counting", "ranking" and so on.
        question: What is to be found out or done.
        tables: What the database holds, all of which counts for a `Change`.
        goal: How the end is judged.
        about: A sentence about the tables, which the agent is told as well.
        evidence: What else the agent is told.
        reference: Statements that solve it, for tests and demonstrations; never shown to an agent.
    """

    id: str
    type: str
    question: str
    tables: tuple[Table, ...]
    goal: Goal
    about: str = ""
    evidence: str = ""
    reference: tuple[str, ...] = ()
