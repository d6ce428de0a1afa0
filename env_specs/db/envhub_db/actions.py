"""Reading actions out of what a model wrote: AgentBench's classic text and its function calls.

Both name the same two things to do: execute a statement, commit the answer.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Union

from envhub_db import answers


@dataclass(frozen=True)
class Query:
    """Execute a statement."""

    sql: str


@dataclass(frozen=True)
class Commit:
    """The agent is done.

    Attributes:
        answer: Its answer: text as it was written, or a JSON value.
    """

    answer: Any


@dataclass(frozen=True)
class Unclear:
    """No action was found.

    Attributes:
        reason: What was wrong with the text, for the agent.
        status: Where the episode ends by it, the word for that.
    """

    reason: str
    status: str = ""


Action = Union[Query, Commit, Unclear]

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {key: value},
                "required": [key],
                "additionalProperties": False,
            },
        },
    }
    for name, description, key, value in (
        (
            "execute_sql",
            "Execute one SQL statement and see its result.",
            "query",
            {"type": "string", "description": "The statement."},
        ),
        (
            "commit_final_answer",
            "Commit the answer: the end. After a change of the database it can be anything.",
            "answers",
            {"type": "array", "items": {"type": "string"}, "description": "The values of the answer."},
        ),
    )
]
"""The functions in the form in which chat endpoints take them."""

_PUBLISHED_ACTION = re.compile(r"Action: (.*?)\n")
_PUBLISHED_BLOCK = re.compile(r"```sql\n(.*?)\n```", re.DOTALL)
_PUBLISHED_ANSWER = re.compile(r"\nFinal Answer:(.*)")
_ACTION = re.compile(r"^[ \t]*Action:[ \t]*(\w+)", re.IGNORECASE | re.MULTILINE)
_BLOCK = re.compile(r"```sql[ \t]*\n(.*?)```", re.DOTALL | re.IGNORECASE)
_ANSWER = re.compile(r"Final Answer:[ \t]*", re.IGNORECASE)
_TAGGED = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)
_ARGUMENTS = {"execute_sql": "query", "commit_final_answer": "answers"}

VALIDATION_FAILED = "agent_validation_failed"
NO_CALL = "Internal error: No tool calls found despite finish reason."
BAD_CALL = "Error: Failed to parse tool call. Tool call format is incorrect."
UNKNOWN_CALL = "Invalid function call. Please call a tool instead."


def read_classic(text: str, faithful: bool) -> list[Action]:
    """Read `Action: Operation` and a fenced statement, or `Action: Answer` and `Final Answer: [...]`.

    Args:
        text: What the model wrote.
        faithful: As published, letter by letter: what does not match ends the episode. Otherwise letter case
            and blanks don't count, line ends within the statement stay, and what is missing is explained.
    """
    if faithful:
        return [_published(text)]
    found = _ACTION.search(text)
    word = found[1].lower() if found else ""
    if word == "operation":
        block = _BLOCK.search(text)
        if block and block[1].strip():
            return [Query(block[1].strip())]
        return [
            Unclear("`Action: Operation` needs a statement between ```sql and ```, on lines of their own.")
        ]
    if word == "answer":
        found_answers = list(_ANSWER.finditer(text))
        if found_answers:
            return [Commit(answers.first_list(text[found_answers[-1].end() :]))]
        return [Unclear('`Action: Answer` needs a line such as `Final Answer: ["A1", "A2"]`.')]
    return [
        Unclear(
            "Write `Action: Operation` and a ```sql block, or `Action: Answer` and `Final Answer: [...]`."
        )
    ]


def _published(text: str) -> Action:
    action = _PUBLISHED_ACTION.search(text)
    if action is not None and action[1] == "Operation":
        block = _PUBLISHED_BLOCK.search(text)
        if block is None:
            return Unclear("", VALIDATION_FAILED)
        return Query(block[1].strip().replace("\n", " "))
    return published_answer(text) or Unclear("", VALIDATION_FAILED)


def published_answer(text: str) -> Commit | None:
    """Read the answer as published; None where there is none."""
    answer = _PUBLISHED_ANSWER.search(text)
    return Commit(answer[1]) if answer else None


def read_calls(text: str, faithful: bool) -> list[Action]:
    """Read function calls, in order.

    A call is `{"name", "arguments"}`, or such as chat endpoints give: `{"function": {"name", "arguments"}}`,
    alone, in a list, or as `tool_calls` of a message. Arguments are an object, or its JSON as text. Calls may
    stand between `<tool_call>` and `</tool_call>` in any text.

    Args:
        text: What the model wrote.
        faithful: As published, the first argument counts whatever its name.
    """
    try:
        calls = [call for part in _TAGGED.findall(text) or [text] for call in _calls(json.loads(part))]
    except (ValueError, RecursionError):
        calls = []
    if not calls:
        return [Unclear(NO_CALL if faithful else "Call a function: execute_sql or commit_final_answer.")]
    read = _published_call if faithful else _call
    return [read(call.get("name"), call.get("arguments", "{}")) for call in calls]


def _call(name: Any, arguments: Any) -> Action:
    try:
        given = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError) as error:
        return Unclear(f"The arguments are no JSON: {error}")
    if not isinstance(name, str) or name not in _ARGUMENTS:
        return Unclear(f"There is no function {name!r:.80}: there are {' and '.join(_ARGUMENTS)}.")
    key = _ARGUMENTS[name]
    if not isinstance(given, dict) or key not in given:
        return Unclear(f"{name} needs an object with {key!r}.")
    if name == "commit_final_answer":
        return Commit(given[key])
    if not isinstance(given[key], str):
        return Unclear("query must be text.")
    return Query(given[key])


def _published_call(name: Any, arguments: Any) -> Action:
    try:
        given = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        return Unclear(BAD_CALL)
    if not isinstance(name, str) or name not in _ARGUMENTS:
        return Unclear(UNKNOWN_CALL)
    problem = ""
    if not isinstance(given, dict):
        problem = f"{type(given).__name__!r} object has no attribute 'values'"
    elif not given:
        problem = "list index out of range"
    if name == "commit_final_answer":
        return Unclear("", "task_error") if problem else Commit(next(iter(given.values())))
    if problem:
        return Unclear(f"Error executing query: {problem}")
    return Query(str(next(iter(given.values()))))


def _calls(value: Any) -> list[dict[str, Any]]:
    """Find the calls in a message, a list of calls, or a call."""
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    found = []
    for one in value if isinstance(value, list) else [value]:
        inner = one["function"] if isinstance(one, dict) and isinstance(one.get("function"), dict) else one
        if isinstance(inner, dict) and "name" in inner:
            found.append(inner)
    return found
