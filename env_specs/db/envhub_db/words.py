"""What the agent reads."""

from __future__ import annotations

from envhub_db.engine import Result
from envhub_db.task import Task

_RULES = """\
You work on a MySQL database to answer a question about what it holds, or to change it as you are asked.
{actions}
You see the raw result of each statement: rows as a list of tuples, `[]` where there are none, or MySQL's
error. More than {limit} characters are cut, so ask for what you need. One statement at a time; each takes
effect at once. An answer has to be exact: the values alone, as the database has them. When the task was to
change the database, what you answer does not matter, but answer you must."""

_CLASSIC = """\
Each time, explain what you think first, then choose exactly one of two actions. To execute a statement:
Action: Operation
```sql
SELECT 1
```
To answer, which ends the task:
Action: Answer
Final Answer: ["first value", "second value"]"""

_CALLS = """\
Each time, call a function. execute_sql executes a statement. commit_final_answer answers, as a list of texts,
and ends the task."""

TRUNCATED = "[TRUNCATED]"


def rules(form: str, limit: int) -> str:
    """Return what an agent should be told beforehand.

    Args:
        form: "classic" or "tools".
        limit: Characters of an observation.
    """
    return _RULES.format(actions=_CLASSIC if form == "classic" else _CALLS, limit=limit)


def shown(result: Result) -> str:
    """Return a result as Python's notation of a list of tuples."""
    return str(list(result.rows))


def cut(text: str, limit: int) -> str:
    """Return the first characters of a text that is too long, and that it was cut."""
    return text if len(text) <= limit else text[:limit] + TRUNCATED


def question(task: Task, form: str) -> str:
    """Return a task as the first observation: what is asked, and what is said of the tables.

    Args:
        task: The task.
        form: "classic" or "tools"; they order and name the parts differently, as published.
    """
    if form == "classic":
        return "\n".join(part for part in (task.evidence, task.question, task.about) if part)
    parts = (
        ("Evidence about the question", task.evidence),
        ("Additional table information about the question", task.about),
        ("Question", task.question),
    )
    return "".join(f"{name}: {text}\n" for name, text in parts if text)
