"""Whether the end of an episode reaches the task's goal."""

from __future__ import annotations

from typing import Any

from envhub_db import answers, digests
from envhub_db.engine import Database, DatabaseError, Engine
from envhub_db.errors import JudgementFailed
from envhub_db.task import Answer, Task

SCORINGS = ("fc", "classic")
_LATE = (1969, 3024)
_FAULTS = (*_LATE, 0, 1021, 1037, 1038, 1040, 1041, 1053, 1203, 1205, 1213, 1927, 2006, 2013, 2055)
"""Errors of a machine or a server, not of what an agent has done (published, a view may also be slow)."""


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

        Raises:
            JudgementFailed: The tables can't be read, and not by the agent's doing.
        """
        if isinstance(task.goal, Answer):
            return self._compare(answer, task.goal.labels, self._faithful)
        try:
            database.execute("COMMIT")
            if not self._faithful:
                # The agent's settings and temporary tables shall not stand between the tables and the judge.
                database.reconnect()
                kept = {name.lower() for name in database.tables()}
                if any(table.name.lower() not in kept for table in task.tables):
                    return False  # gone, or a view in its place
            found = digests.of_tables(database, task.tables)
        except DatabaseError as error:
            if error.number in _FAULTS and not (self._faithful and error.number in _LATE):
                raise JudgementFailed(f"the tables can't be read at the end: {error}") from error
            return False  # a table or a column is gone
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
