"""What a model is told: the system message, and a message for each thing it sees."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from envhub_sdk import EnvInfo
from envhub_sdk.spaces import plain
from envhub_trainers import _hooks
from envhub_trainers._actions import Form

__all__ = ["PROMPTS", "Prompt", "View", "prompt", "usual_form"]


@dataclass(frozen=True, slots=True)
class View:
    """What there is to say to a model before its next answer."""

    observation: Any
    """What the environment shows; the same as before where the last answer could not be used."""
    info: Mapping[str, Any]
    turn: int
    """Answers the model has given."""
    turns_left: int | None
    """Answers it may still give, this one included; None: as many as it likes."""
    problem: str | None = None
    """Why the last answer could not be used."""
    previous: Any = None
    """The observation before the last answer."""


class Prompt(Protocol):
    """Writes the messages to a model."""

    def system(self, env: EnvInfo, form: Form) -> str | None:
        """What it is told beforehand."""

    def message(self, view: View) -> str:
        """What it is told before its next answer."""


def prompt(name: str, env: str) -> Prompt:
    """Make the prompt of that name.

    Args:
        name: "auto" (the environment's own, else "generic"), a name in `PROMPTS`, or the user's own class,
            `module:Class` or `file.py:Class`.
        env: Name of the environment.

    Raises:
        HookNotFound: It is none of these.
    """
    if name == "auto":
        name = env if env in PROMPTS else "generic"
    if name in PROMPTS:
        return PROMPTS[name]()
    if ":" not in name:
        raise _hooks.HookNotFound(
            f"there is no prompt {name!r}: use auto, one of {', '.join(PROMPTS)}, or name a class of your "
            "own as module:Class"
        )
    made: Prompt = _hooks.load(name)()
    return made


def answers_allowed(env: EnvInfo, most: int | None) -> int | None:
    """How many answers an episode has room for; None: no limit is known.

    An answer that can't be used costs one as well, so the environment's own limit of steps is one of answers.

    Args:
        env: The environment.
        most: What else limits them.
    """
    own = int(env.limits.get("max_episode_steps", 0))
    return min((limit for limit in (own, most) if limit), default=None)


def usual_form(env: str) -> str:
    """The form of actions that suits an environment best."""
    return {"frozenlake": "fenced", "os": "raw", "db": "raw"}.get(env, "react")


def shown(observation: Any) -> str:
    """An observation as text."""
    return observation if isinstance(observation, str) else msgspec.json.encode(plain(observation)).decode()


@dataclass(frozen=True, slots=True)
class Generic:
    """For any environment: what its spec says of actions and observations, and the available actions."""

    example: str = "<action>"

    def system(self, env: EnvInfo, form: Form) -> str:
        """What it is told beforehand."""
        parts = [
            f"You act in an environment: {env.summary or env.name}",
            f"Each message shows what you see. {_sentence(env.observation.get('description', ''))}".strip(),
            f"An action: {_sentence(env.action.get('description', 'as the environment takes it'))}",
            form.instruction.format(example=self.example),
        ]
        return "\n".join(part for part in parts if part)

    def message(self, view: View) -> str:
        """What it is told before its next answer."""
        if view.problem:
            return f"Your answer could not be used: {view.problem}. Nothing has changed; answer again."
        offered = view.info.get("available_actions")
        seen = shown(view.observation)
        return f"{seen}\n\nAvailable actions: {json.dumps(offered, ensure_ascii=False)}" if offered else seen


@dataclass(frozen=True, slots=True)
class WebShop:
    """For WebShop: the task is on the page, and the page's buttons are listed."""

    example: str = "search[blue cotton shirt]"

    def system(self, env: EnvInfo, form: Form) -> str:
        """What it is told beforehand."""
        return (
            "You are shopping online. Each message shows a page of the shop; the instruction on it says what "
            "to buy. Find the product that fits it best, choose the options it asks for on the product's "
            "page, and buy it: the closer the purchase to the instruction, the better, and it can't be "
            "undone.\nAn action is search[keywords], where there is a search bar, or click[label] with one "
            "of the labels listed below the page.\n" + form.instruction.format(example=self.example)
        )

    def message(self, view: View) -> str:
        """What it is told before its next answer."""
        if view.problem:
            return f"Your answer could not be used: {view.problem}. You are still on the same page."
        offered = view.info.get("available_actions", {})
        labels = [f"click[{label}]" for label in offered.get("clickables", ()) if label != "search"]
        actions = (["search[keywords]"] if offered.get("has_search_bar") else []) + labels
        page = f"{shown(view.observation)}\n\nActions: {', '.join(actions) or 'none'}"
        reason = view.info.get("reason")
        return f"Your last action did nothing: {reason}\n\n{page}" if reason else page


@dataclass(frozen=True, slots=True)
class FrozenLake:
    """For FrozenLake: the rules, then what is seen with the number of the turn and what is left of them."""

    example: str = "right"

    def system(self, env: EnvInfo, form: Form) -> str:
        """What it is told beforehand."""
        if env.config.get("observation") == "coordinates":
            seen = (
                "You see the size of the lake and where you, the goal and the holes are: row,column, from 0, "
                "rows from top to bottom and columns from left to right. All else is ice. "
            )
        else:
            seen = (
                "You see it as a grid: P is you, _ is ice, O is a hole, G is the goal; X is you in a hole, "
                "√ is you on the goal. "
            )
        return (
            f"You walk over a frozen lake. Reach the goal in as few moves as you can.\n{seen}"
            "Falling into a hole ends the walk without a reward, reaching the goal brings 1. A move against "
            "the border leaves you where you are.\n"
            "An action is one of left, down, right, up.\n" + form.instruction.format(example=self.example)
        )

    def message(self, view: View) -> str:
        """What it is told before its next answer."""
        lines = [f"Current observation ({view.turn}):", shown(view.observation)]
        if view.problem:
            lines.append(f"Your answer could not be used: {view.problem}.")
        elif view.turn and view.observation == view.previous:
            lines.append("You are where you were: that move had no effect.")
        left = "" if view.turns_left is None else f"Moves left: {view.turns_left}. "
        lines.append(f"{left}What is your next action?")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class KG:
    """For KG: the tools, then the question and what each call gave."""

    example: str = "get_relations(Paris)"

    def system(self, env: EnvInfo, form: Form) -> str:
        """What it is told beforehand."""
        if env.config.get("actions") == "tools":
            call = 'a call as JSON, such as {"name": "get_relations", "arguments": {"variable": "Paris"}}'
        else:
            call = "a call such as get_relations(Paris) or intersection(#0, #1)"
        return (
            "You answer a question from a knowledge graph, of which you see only what tools tell you:\n"
            "get_relations(x) lists the relations that lead on from x.\n"
            "get_neighbors(x, relation) makes a variable of all that one of these leads to.\n"
            "intersection(v, w) makes a variable of what two variables of the same type have in common.\n"
            "get_attributes(v) lists what the members of a variable can be compared by.\n"
            "argmax(v, attribute) and argmin(v, attribute) make a variable of those with the largest and the "
            "smallest value.\n"
            "count(v) makes a variable that is the number of members.\n"
            "Here x is a variable or one of the question's entities as it is written there; v and w are "
            "variables. They are named in the order in which they are made: #0, #1 and so on. List relations "
            "and attributes before you use them.\n"
            f"An action is {call}. When a variable is the answer, all of it and nothing else, the action is "
            "Final Answer: #n with its number, which ends the task.\n"
            + form.instruction.format(example=self.example)
        )

    def message(self, view: View) -> str:
        """What it is told before its next answer."""
        if view.problem:
            return f"Your answer could not be used: {view.problem}. Nothing has changed; answer again."
        left = "" if view.turns_left is None else f"\n\nTurns left: {view.turns_left}."
        return shown(view.observation) + left


@dataclass(frozen=True, slots=True)
class Ruled:
    """For environments that read a whole answer and say their own rules, with the first observation."""

    example: str

    def system(self, env: EnvInfo, form: Form) -> str | None:
        """What it is told beforehand: nothing in the form `raw`, for the rules say it all."""
        return None if form.name == "raw" else form.instruction.format(example=self.example)

    def message(self, view: View) -> str:
        """What it is told before its next answer."""
        if view.problem:
            return f"Your answer could not be used: {view.problem}. Nothing was done; answer again."
        parts = [view.info.get("rules"), shown(view.observation)]
        if "tools" in view.info:
            functions = "\n".join(msgspec.json.encode(tool).decode() for tool in view.info["tools"])
            call = '<tool_call>{"name": ..., "arguments": {...}}</tool_call>'
            parts.insert(1, f"The functions:\n{functions}\nA call is written {call}.")
        return "\n\n".join(part for part in parts if part)


@dataclass(frozen=True, slots=True)
class Shell(Ruled):
    """For OS."""

    example: str = "Act: finish"


@dataclass(frozen=True, slots=True)
class Database(Ruled):
    """For DB."""

    example: str = "Action: Operation\n```sql\nSHOW TABLES\n```"


@dataclass(frozen=True, slots=True)
class Bare:
    """The observation and nothing else: for models that are trained on an environment from scratch."""

    def system(self, env: EnvInfo, form: Form) -> None:
        """Nothing is told beforehand."""

    def message(self, view: View) -> str:
        """What it is told before its next answer."""
        return shown(view.observation)


PROMPTS: dict[str, type[Prompt]] = {
    "generic": Generic,
    "webshop": WebShop,
    "frozenlake": FrozenLake,
    "kg": KG,
    "os": Shell,
    "db": Database,
    "bare": Bare,
}
"""The prompts that can be named in a configuration."""


def _sentence(text: str) -> str:
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."
