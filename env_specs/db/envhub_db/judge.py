"""Whether the end of an episode reaches the task's goal."""

from __future__ import annotations

from typing import Any

from envhub_db import answers, digests
from envhub_db.engine import Database, DatabaseError, Engine
from envhub_db.task import Answer, Task

SCORINGS = ("fc", "classic")


class Judge:
    """Judges as one of AgentBench's generations.

    Args:
        scoring: "fc" or "classic": how answers are compared.
        faithful: With the published holes.
    """

    def __init__(self, scoring: str, faithful: bool) -> None:
        self._compare = answers.fc if scoring == "fc" else answers.classic
        self._faithful = faithful

    def reached(self, task: Task, answer: Any, database: Database, engine: Engine) -> bool:
        """Tell whether an answer, or what the database holds, is right.

        Args:
            task: The task.
            answer: Text or a list; it does not matter where the task is a change.
            database: The episode's database.
            engine: Opens another one, where the right state has to be made first.
        """
        if isinstance(task.goal, Answer):
            return self._compare(answer, task.goal.labels, self._faithful)
        try:
            found = digests.of_tables(database, task.tables)
        except DatabaseError:  # a table or a column is gone
            return False
        return found == (task.goal.digest or digest_after(task, engine))


def digest_after(task: Task, engine: Engine) -> str:
    """Return the digest of a task's tables after its reference statements, in a database of its own."""
    database = engine.open(task.tables, "dbbench")
    try:
        for sql in task.reference:
            database.execute(sql)
        return digests.of_tables(database, task.tables)
    finally:
        database.close()
