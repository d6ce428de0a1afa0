"""Reading what a model wrote: AgentBench's classic text and its function calls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from envhub_kg.tools import PARAMETERS

MAX_CALLS = 32
"""Calls of one message, or tools on one line, that are done; of more calls those with an id get an error."""

_ANSWER = re.compile(r"(?:Find|Final) Answer: #(\d+)")
_ACTION = re.compile(r"Action.*?:")
_BARE = re.compile(rf"\s*(?:{'|'.join(PARAMETERS)})\(.*\)\s*")
_NAME = re.compile(r"\b(\w+)\(")
_TO_BRACKET = re.compile(r"((?:<[^<>]*>|<(?![^<>]*>)|[^<)])+)\)")  # one way only to read each character
_TO_FIRST = re.compile(r"([^)]+)\)")
_OPENS, _CLOSES = "<tool_call>", "</tool_call>"


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


_NO_LIST = Call("", problem="tool_calls must be a list of calls")

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
            names = list(_NAME.finditer(line))
            tools = [found for found in names if found[1] in PARAMETERS]
            read = (tools or names)[:MAX_CALLS]
            return [Attempt(found[1], _read(line[found.end() :], mentions)) for found in read]
    return None


def _published(name: str, line: str) -> list[str] | None:
    start = line.index(f"{name}(") + len(name) + 1
    end = line.find(")", start + 1)  # one character there is at least
    return _parted(line[start:end]) if end >= 0 else None


def _read(rest: str, mentions: Iterable[str]) -> list[str] | None:
    """Read arguments from behind their opening parenthesis."""
    for mention in sorted(mentions, key=len, reverse=True):
        found = re.match(r"\s*(['\"]?)" + re.escape(mention) + r"\1\s*([,)])", rest)
        if found and found[2] == ")":
            return [mention]
        second = _to_bracket(rest, found.end()) if found else None
        if second:
            return [mention, _bare(second[1])]
    found = _to_bracket(rest)
    return [_bare(argument) for argument in _parted(found[1])] if found else None


def _to_bracket(text: str, start: int = 0) -> re.Match[str] | None:
    """Match up to a parenthesis that is no part of a whole IRI; if there is none, to one that is."""
    return _TO_BRACKET.match(text, start) or _TO_FIRST.match(text, start)


def _parted(text: str) -> list[str]:
    """Part arguments at commas, without the blanks around these."""
    parts = text.split(",")
    last = len(parts) - 1
    for number, part in enumerate(parts):
        part = part.lstrip() if number else part
        parts[number] = part.rstrip() if number < last else part
    return parts


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
    tagged = list(_between_tags(text))
    if tagged:
        return text, [_tagged(said) for said in tagged]
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text, []
    if isinstance(value, dict) and ("tool_calls" in value or "content" in value):
        calls = value.get("tool_calls") or []
        content = value.get("content")
        read = [_call(one) for one in calls] if isinstance(calls, list) else [_NO_LIST]
        return content if isinstance(content, str) else "", read
    values = value if isinstance(value, list) else [value]
    if values and all(isinstance(one, dict) and ("name" in one or "function" in one) for one in values):
        return "", [_call(one) for one in values]
    return text, []


def _between_tags(text: str) -> Iterator[str]:
    """Find what stands between tags; a pattern would be slow where many of them are not closed."""
    end = 0
    while (start := text.find(_OPENS, end)) >= 0:
        start += len(_OPENS)
        closes = text.find(_CLOSES, start)
        if closes < 0:
            return
        yield text[start:closes].strip()
        end = closes + len(_CLOSES)


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
