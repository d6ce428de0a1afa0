"""What the agent reads beforehand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from envhub_kg.tools import PARAMETERS

_RULES = """\
You answer a question from a knowledge graph. You see nothing of the graph but what these tools tell you:

{tools}

A variable stands for a set of entities, or for a number. The first one that a tool makes is #0, the next one
#1, and so on. Where a tool takes a variable to start from, get_relations and get_neighbors also take one of
the question's entities, written as in its list. {ways}
{actions}
When a variable is the answer, all of it and nothing else, write: Final Answer: #n
with its number. That ends the task. Your turns are limited: to 15, unless you are told otherwise."""

_ONE_WAY = "Relations lead one way only: from what you have to what get_neighbors gives."
_BOTH_WAYS = (
    "A relation whose name begins with ^ is another one backwards: ^r leads to all that r leads from."
)

_CLASSIC = """\
Each time, write what you think and then one action, on a line of its own:
Thought: what you think
Action: get_relations(an entity or #n)
You are then told what came of it. Never write an observation yourself."""

_CALLS = """\
Each time, call a function, or give the final answer as plain text, without a call."""

_EXTREME = (
    "Make a variable of the members whose attribute has the {which} value. The attribute must be one that "
    "get_attributes lists for the variable."
)
_DESCRIPTIONS = {
    "get_relations": "List the relations that lead on from an entity, or from the members of a variable.",
    "get_neighbors": (
        "Make a variable of all that a relation leads to from an entity or from the members of a variable. "
        "The relation must be one that get_relations lists for it."
    ),
    "intersection": "Make a variable of what two variables have in common. They must be of the same type.",
    "get_attributes": "List the attributes of a variable's members, which argmax and argmin can compare.",
    "argmax": _EXTREME.format(which="largest"),
    "argmin": _EXTREME.format(which="smallest"),
    "count": "Make a variable that is the number of a variable's members.",
}
_MEANINGS = {
    "relation": "A relation, as get_relations lists it.",
    "attribute": "An attribute, as get_attributes lists it.",
}
_VARIABLE = "A variable such as #0."
_START = "A variable such as #0, or one of the question's entities."


def _parameter(tool: str, name: str) -> dict[str, str]:
    start = _START if tool in ("get_relations", "get_neighbors") else _VARIABLE
    return {"type": "string", "description": _MEANINGS.get(name, start)}


TOOLS: list[dict[str, Any]] = [
    {
        "type": "function",
        "function": {
            "name": tool,
            "description": _DESCRIPTIONS[tool],
            "parameters": {
                "type": "object",
                "properties": {name: _parameter(tool, name) for name in parameters},
                "required": list(parameters),
                "additionalProperties": False,
            },
        },
    }
    for tool, parameters in PARAMETERS.items()
]
"""The functions in the form in which chat endpoints take them."""


def rules(form: str, both_ways: bool) -> str:
    """Return what an agent should be told beforehand.

    Args:
        form: "classic" or "tools".
        both_ways: Some relations are others backwards.
    """
    tools = "\n".join(
        f"- {tool}({', '.join(parameters)}): {_DESCRIPTIONS[tool]}" for tool, parameters in PARAMETERS.items()
    )
    return _RULES.format(
        tools=tools,
        ways=_BOTH_WAYS if both_ways else _ONE_WAY,
        actions=_CLASSIC if form == "classic" else _CALLS,
    )


def question(text: str, mentions: Iterable[str]) -> str:
    """Return the first observation, as published."""
    return f"{text}\nEntities: [{', '.join(mentions)}]"
