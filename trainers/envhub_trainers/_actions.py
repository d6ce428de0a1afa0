"""Forms of an answer: how a model writes its action, and how the action is read from what it wrote.

What a model thinks between `<think>` and `</think>` at the beginning of an answer is never part of its
action.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gymnasium import spaces as gym_spaces

from envhub_sdk import spaces
from envhub_trainers import _hooks

__all__ = ["FORMS", "Form", "FormatError", "fit", "form"]

_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_REACT = re.compile(
    r"\AThought:\s*(?P<thought>\S.*?)\s*^Action:\s*(?P<action>\S.*)\Z", re.DOTALL | re.MULTILINE
)
_REACT_LABEL = re.compile(r"^(Thought|Action|Observation):", re.MULTILINE)
_FENCE = re.compile(r"```(.*?)```", re.DOTALL)
_TAG = re.compile(r"\A[\w+-]*\n")
_TOOL_CALL = re.compile(r"<tool_call>(.*?)</tool_call>", re.DOTALL)


class FormatError(ValueError):
    """An answer holds no action in the form that was asked for; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class Form:
    """A way to write an action."""

    name: str
    instruction: str
    """Tells a model how to write it; `{example}` stands for an action of the environment."""
    parse: Callable[[str], Any]
    """Reads the action from an answer; raises `FormatError`."""


def form(name: str) -> Form:
    """The form of that name, or the user's own parser, `module:function` or `file.py:function`.

    Such a parser raises `ValueError` where an answer holds no action.

    Raises:
        HookNotFound: It is neither.
    """
    if name in FORMS:
        return FORMS[name]
    if ":" not in name:
        raise _hooks.HookNotFound(
            f"there is no form of actions {name!r}: use one of {', '.join(FORMS)}, or name a parser of your "
            "own as module:function"
        )
    return Form(name, "", _refusing(_hooks.load(name)))


def fit(action: Any, space: spaces.Space) -> Any:
    """Make the action that an answer names one of the action space.

    Raises:
        FormatError: It is none.
    """
    if isinstance(space, gym_spaces.Text):
        if not isinstance(action, str):
            raise FormatError(f"the action has to be text, not {json.dumps(action)[:80]}")
        return action
    try:
        value = json.loads(action) if isinstance(action, str) else action
        if isinstance(space, gym_spaces.Discrete) and (isinstance(value, bool) or not isinstance(value, int)):
            raise ValueError("not a whole number")
        fitted = spaces.decode(space, value)
    except ValueError:
        fitted = None
    if fitted is None or not space.contains(fitted):
        raise FormatError(f"{action!r:.80} is no action: it has to be one of {space}")
    return fitted


# -- forms ------------------------------------------------------------------------------------------


def _raw(answer: str) -> str:
    action = _without_thought(answer)
    if not action:
        raise FormatError("the answer is empty: it has to be the action")
    return action


def _react(answer: str) -> str:
    said = _without_thought(answer)
    found = _REACT.match(said)
    if found is None:
        raise FormatError('the answer has to be a line "Thought: …" and after it a line "Action: …"')
    if len(_REACT_LABEL.findall(said)) != 2:
        raise FormatError("the answer has to hold one thought and one action, and end with the action")
    return found["action"].strip()


def _fenced(answer: str) -> str:
    blocks = _FENCE.findall(_without_thought(answer))
    if not blocks:
        raise FormatError("the answer has to hold the action between ``` and ```")
    last: str = blocks[-1]
    untagged = _TAG.sub("", last, count=1)
    action = (untagged if untagged.strip() else last).strip()
    if not action:
        raise FormatError("there is nothing between ``` and ```: the action belongs there")
    return action


def _json_call(answer: str) -> Any:
    """The action of a tool call.

    `{"name": "act", "arguments": {"action": A}}` is the action A itself. Any other name with one argument is
    `name[argument]`, and with none `name`.
    """
    said = _without_thought(answer)
    calls = _TOOL_CALL.findall(said) or [said]
    if len(calls) != 1:
        raise FormatError(f"the answer holds {len(calls)} tool calls: it has to hold one")
    try:
        call = json.loads(calls[0])
        name, arguments = call["name"], call.get("arguments") or {}
        values = list(arguments.values())
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise FormatError(
            'the answer has to be one JSON object {"name": …, "arguments": {…}}, alone or between '
            "<tool_call> and "
            "</tool_call>"
        ) from error
    if not isinstance(name, str) or not name:
        raise FormatError("the tool call's name has to be text")
    if name == "act":
        if list(arguments) != ["action"]:
            raise FormatError('the tool "act" takes one argument, "action"')
        return arguments["action"]
    if len(values) > 1:
        raise FormatError(f"the tool {name!r} takes one argument or none, not {len(values)}")
    return f"{name}[{values[0]}]" if values else name


def _refusing(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """A user's parser whose `ValueError` says that an answer holds no action."""

    def read(answer: str) -> Any:
        try:
            return parse(answer)
        except ValueError as error:
            raise FormatError(str(error) or "it holds no action") from error

    return read


def _without_thought(answer: str) -> str:
    return _THOUGHT.sub("", answer, count=1).strip()


FORMS = {
    made.name: made
    for made in (
        Form("raw", "Answer with the action alone, for example:\n{example}", _raw),
        Form(
            "react",
            "Answer with what you think and then the action, in this form and with nothing after it:\n"
            "Thought: <what you think>\nAction: {example}",
            _react,
        ),
        Form(
            "fenced",
            "Think first, then write the action alone between three backticks, for "
            "example:\n```{example}```\nThe last such block counts.",
            _fenced,
        ),
        Form(
            "json",
            "Answer with one tool call and nothing else, for example:\n"
            '<tool_call>{{"name": "act", "arguments": {{"action": "{example}"}}}}</tool_call>',
            _json_call,
        ),
    )
}
"""The forms that can be named in a configuration."""
