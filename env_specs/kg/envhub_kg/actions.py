"""Reading what a model wrote: AgentBench's classic text and its function calls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from envhub_kg.tools import PARAMETERS

MAX_CALLS = 32
"""Calls of one message that are done; more are answered with an error."""

_ANSWER = re.compile(r"(?:Find|Final) Answer: #(\d+)")
_ACTION = re.compile(r"Action.*?:")
_BARE = re.compile(rf"\s*(?:{'|'.join(PARAMETERS)})\(.*\)\s*")
_NAME = re.compile(r"(\w+)\(")
_COMMA = re.compile(r"\s*,\s*")
_TO_BRACKET = re.compile(r"((?:<[^<>]*>|[^)])+?)\)")
_TAGGED = re.compile(r"<tool_call>\s*(.*?)\s*</tool_call>", re.DOTALL)


@dataclass(frozen=True)
class Attempt:
    """A function that a line of classic text names.

    Attributes:
        name: Of the function; it need not be a tool.
        arguments: What stands in its parentheses; None: that could not be read.
    """

    name: str
    arguments: list[str] | None


@dataclass(frozen=True)
class Call:
    """A function call of a chat message.

    Attributes:
        id: The message's own name for it; empty if it has none.
        name: Of the function; it need not be a tool.
        arguments: By parameter.
        problem: Why it can't be read; empty if it can.
    """

    id: str
    name: str = ""
    arguments: Mapping[str, Any] | None = None
    problem: str = ""


def cut(text: str) -> str:
    """Return what counts of a reply: without observations that it makes up, and escaped underlines."""
    return text.split("Observation:", 1)[0].replace("\\_", "_")


def final_answer(text: str) -> int | None:
    """Return the number of the first variable that a reply gives as its answer, or None."""
    found = _ANSWER.search(text)
    return int(found[1][:9]) if found else None


# -- classic text -----------------------------------------------------------------------------------


def read_classic(text: str, mentions: Iterable[str], faithful: bool) -> list[Attempt] | None:
    """Return the functions on the first line that begins with `Action` and has a colon; None: there is none.

    A text that is a call and nothing else needs no `Action:`, unless `faithful`.

    Args:
        text: What the model wrote, cut.
        mentions: The question's words for its entities. They are recognised whatever they have in them.
        faithful: As published: arguments end at the first parenthesis and are parted by commas, so that an
            entity with one of these in its name can't be given.
    """
    lines = text.split("\n")
    if not faithful and _BARE.fullmatch(text):
        lines = [f"Action: {text.strip()}"]
    for line in lines:
        if _ACTION.match(line):
            if faithful:
                return [Attempt(name, _published(name, line)) for name in _NAME.findall(line)]
            names = [
                Attempt(found[1], _read(line[found.end() :], mentions)) for found in _NAME.finditer(line)
            ]
            tools = [attempt for attempt in names if attempt.name in PARAMETERS]
            return tools or names
    return None


def _published(name: str, line: str) -> list[str] | None:
    found = re.search(name + r"\((.+?)\)", line)
    return _COMMA.split(found[1]) if found else None


def _read(rest: str, mentions: Iterable[str]) -> list[str] | None:
    """Read arguments from behind their opening parenthesis."""
    for mention in sorted(mentions, key=len, reverse=True):
        found = re.match(r"\s*(['\"]?)" + re.escape(mention) + r"\1\s*([,)])", rest)
        if found and found[2] == ")":
            return [mention]
        second = _TO_BRACKET.match(rest, found.end()) if found else None
        if second:
            return [mention, _bare(second[1])]
    found = _TO_BRACKET.match(rest)
    return [_bare(argument) for argument in _COMMA.split(found[1])] if found else None


def _bare(argument: str) -> str:
    """Take away blanks around an argument, quotes, and the word variable."""
    argument = re.sub(r"^variable\s+(?=#)", "", argument.strip(), flags=re.IGNORECASE)
    quoted = re.fullmatch(r"(['\"])(.*)\1", argument)
    return quoted[2] if quoted else argument


# -- function calls ---------------------------------------------------------------------------------


def read_calls(text: str) -> tuple[str, list[Call]]:
    """Return a message's text and its function calls.

    The message is one as chat endpoints give it, with `content` and `tool_calls`; or a call
    `{"name", "arguments"}` alone, or several in a list; or any text with calls between `<tool_call>` and
    `</tool_call>`. Arguments are an object, or its JSON as text.

    Args:
        text: What the model wrote.
    """
    tagged = _TAGGED.findall(text)
    if tagged:
        return text, [_tagged(said) for said in tagged]
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text, []
    if isinstance(value, dict) and ("tool_calls" in value or "content" in value):
        calls = value.get("tool_calls")
        content = value.get("content")
        return content if isinstance(content, str) else "", [_call(one) for one in calls or []]
    values = value if isinstance(value, list) else [value]
    if values and all(isinstance(one, dict) and ("name" in one or "function" in one) for one in values):
        return "", [_call(one) for one in values]
    return text, []


def _tagged(said: str) -> Call:
    try:
        return _call(json.loads(said))
    except (ValueError, RecursionError) as error:
        return Call("", problem=str(error))


def _call(value: Any) -> Call:
    name = value.get("id") if isinstance(value, dict) else None
    ident = name if isinstance(name, str) else ""
    function = value.get("function", value) if isinstance(value, dict) else None
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        return Call(ident, problem="a call has a function with a name and arguments")
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError) as error:
            return Call(ident, function["name"], problem=str(error))
    if not isinstance(arguments, dict):
        return Call(ident, function["name"], problem="the arguments must be an object")
    return Call(ident, function["name"], arguments)
