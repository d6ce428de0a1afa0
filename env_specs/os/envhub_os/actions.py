"""Reading an action out of what a model wrote: AgentBench's classic text and its function calls.

Both name the same three things to do: run a script, answer, finish.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Union


@dataclass(frozen=True)
class Bash:
    """Run a script in the shell."""

    script: str


@dataclass(frozen=True)
class Commit:
    """The agent is done.

    Attributes:
        answer: Its answer; None: it says no more than that it has finished.
    """

    answer: str | None


@dataclass(frozen=True)
class Unclear:
    """No action was found.

    Attributes:
        reason: What was wrong with the text, for the agent.
    """

    reason: str


Action = Union[Bash, Commit, Unclear]

TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": description,
            "parameters": {
                "type": "object",
                "properties": {key: {"type": "string", "description": meaning}},
                "required": [key],
                "additionalProperties": False,
            },
        },
    }
    for name, description, key, meaning in (
        ("bash_action", "Run a bash script in the shell.", "script", "The script."),
        ("finish_action", "The task is done, or can't be done.", "thought", "Why it is finished."),
        ("answer_action", "Answer the question: the end.", "answer", "The answer alone, exact and short."),
    )
]
"""The functions in the form in which chat endpoints take them."""

_ACT = re.compile(r"Act:\s*(.+)")
_FENCED = re.compile(r"^```bash[ \t]*\n(.*?)\n?^```[ \t]*$", re.DOTALL | re.MULTILINE)
_PUBLISHED_FENCED = re.compile(r"```bash\n(.*?)\n```", re.DOTALL)
_TAGGED = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)
_ARGUMENTS = {"bash_action": "script", "finish_action": "thought", "answer_action": "answer"}

NO_CALL = "No executable tool calls found. Please call a tool instead"
BAD_CALL = "Invalid function call. Please call a tool instead"


def read_classic(text: str, faithful: bool) -> Action:
    """Read `Act: bash` and a fenced block, `Act: answer(...)` or `Act: finish`.

    The last line that begins with `Act:` and names one of the three counts, in any case. All blocks fenced as
    bash are run as one script.

    Args:
        text: What the model wrote.
        faithful: A bash action without a block is an empty script, as published; otherwise it is unclear.
    """
    for line in reversed(_ACT.findall(text)):
        word = line.strip().lower()
        if word.startswith("bash"):
            script = _script(text, faithful)
            if script or faithful:
                return Bash(script)
            return Unclear("`Act: bash` needs a block between ```bash and ```, on lines of their own.")
        if word.startswith("finish"):
            return Commit(None)
        if word.startswith("answer"):
            first, last = line.find("("), line.rfind(")")
            if first >= 0 and last >= 0:
                return Commit(line[first + 1 : last])
    return Unclear("Write one action: `Act: bash` and a ```bash block, `Act: answer(...)` or `Act: finish`.")


def _script(text: str, faithful: bool) -> str:
    blocks = (_PUBLISHED_FENCED if faithful else _FENCED).findall(text)
    return "\n\n".join(block if faithful else block.rstrip() for block in blocks)


def read_call(text: str, faithful: bool) -> Action:
    """Read a function call, or the first of several.

    A call is `{"name", "arguments"}`, or such as chat endpoints give: `{"function": {"name", "arguments"}}`,
    alone, in a list, or as `tool_calls` of a message. Arguments are an object, or its JSON as text. A call
    may stand between `<tool_call>` and `</tool_call>` in any text.

    Args:
        text: What the model wrote.
        faithful: As published, the first argument counts whatever its name, and the thought of finish_action
            is the answer. Otherwise the argument must have its name, and a finish has no answer.
    """
    tagged = _TAGGED.search(text)
    try:
        call = _first_call(json.loads(tagged[1] if tagged else text))
    except (ValueError, RecursionError):
        return Unclear(NO_CALL)
    if call is None:
        return Unclear(NO_CALL)
    name, arguments = call.get("name"), call.get("arguments")
    try:
        if isinstance(arguments, str):
            arguments = json.loads(arguments)
    except (ValueError, RecursionError) as error:
        return Unclear(str(error))
    if not isinstance(arguments, dict):
        return Unclear(f"the arguments must be an object, not {type(arguments).__name__}")
    if name not in _ARGUMENTS:
        known = ", ".join(_ARGUMENTS)
        return Unclear(BAD_CALL if faithful else f"There is no function {name!r}: there are {known}.")
    key = _ARGUMENTS[name]
    if faithful and arguments:
        value = next(iter(arguments.values()))
    elif key in arguments:
        value = arguments[key]
    else:
        return Unclear(f"{name} needs the argument {key!r}.")
    if not isinstance(value, str):
        value = json.dumps(value)
    if name == "bash_action":
        return Bash(value)
    return Commit(value if faithful or name == "answer_action" else None)


def _first_call(value: Any) -> dict[str, Any] | None:
    """Find the first call in a message, a list of calls, or a call."""
    if isinstance(value, dict) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    if isinstance(value, list):
        value = value[0] if value else None
    if isinstance(value, dict) and isinstance(value.get("function"), dict):
        value = value["function"]
    return value if isinstance(value, dict) and "name" in value else None
