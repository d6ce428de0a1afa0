"""Conversations: what an agent was told and what it said, as one line of JSON an episode.

The form is that of the OpenManus-RL data set, `{"id", "conversations": [{"role", "content"}, …]}`, and the
messages are those that a model is told when it is trained or evaluated here, so a model that was trained on
them meets nothing new.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from envhub_sdk import EnvInfo
from envhub_trainers._actions import Form, form
from envhub_trainers._chat import Message
from envhub_trainers._prompts import Prompt, View, answers_allowed, prompt, shown, usual_form
from envhub_trainers._runs import Episode

SILENT = "I act on what I see."
"""The thought of a script that says none, in a form that asks for one."""


class Style:
    """How an environment is put into words.

    Args:
        served: The environment.
        prompt_name: As `prompt` takes it.
        form_name: As `form` takes it; None: the one that suits the environment.
        max_steps: Steps after which episodes are cut, where that is less than the environment's own limit.

    Raises:
        HookNotFound: There is no such prompt or form.
    """

    def __init__(
        self,
        served: EnvInfo,
        prompt_name: str = "auto",
        form_name: str | None = None,
        max_steps: int | None = None,
    ) -> None:
        self.served = served
        self.prompt: Prompt = prompt(prompt_name, served.name)
        self.form: Form = form(form_name or usual_form(served.name))
        self.facts = {"prompt": prompt_name, "form": self.form.name}
        self.turns = answers_allowed(served, max_steps)
        """How many answers an episode has room for; None: no limit is known."""


class Conversation:
    """The conversation of one episode, as it grows.

    Args:
        style: How things are said.
    """

    def __init__(self, style: Style) -> None:
        self._style = style
        self._seen: Any = None
        self._turn = 0
        told = style.prompt.system(style.served, style.form)
        self.messages: list[Message] = [] if told is None else [{"role": "system", "content": told}]

    def see(self, observation: Any, info: dict[str, Any], problem: str | None = None) -> None:
        """Tell the agent what there is to see, and why its last answer was of no use."""
        left = None if self._style.turns is None else max(1, self._style.turns - self._turn)
        view = View(observation, info, self._turn, left, problem, self._seen)
        self._seen = observation
        self.messages.append({"role": "user", "content": self._style.prompt.message(view)})

    @property
    def over(self) -> bool:
        """Whether there is no room for another answer."""
        return self._style.turns is not None and self._style.turns <= self._turn

    def say(self, answer: str) -> None:
        """Take the agent's answer."""
        self._turn += 1
        self.messages.append({"role": "assistant", "content": answer})


def conversation(episode: Episode, style: Style) -> dict[str, Any]:
    """An episode as a conversation; it ends with the last action."""
    said = Conversation(style)
    for index, observation in enumerate(episode.observations[: len(episode.actions)]):
        info = episode.infos[index]
        said.see(observation, info)
        *unread, last = episode.replies[index] or [
            written(style.form.name, episode.thoughts[index], episode.actions[index])
        ]
        for answer, problem in zip(unread, episode.problems[index], strict=True):
            said.say(answer)
            said.see(observation, info, problem)
        said.say(last)
    return {"id": episode.id, "conversations": said.messages}


def written(form_name: str, thought: str | None, action: Any) -> str:
    """What a model would have written that thought so and acted so; the form reads the action from it."""
    text = shown(action)
    if form_name == "react":
        return f"Thought: {thought or SILENT}\nAction: {text}"
    if form_name == "fenced":
        return f"{thought}\n```{text}```" if thought else f"```{text}```"
    if form_name == "json":
        call = json.dumps({"name": "act", "arguments": {"action": action}}, ensure_ascii=False)
        return f"<tool_call>{call}</tool_call>"
    return text


def write(file: Path, episodes: Iterable[Episode], style: Style) -> int:
    """Write conversations into a file, whole or not at all; return how many."""
    unfinished = file.with_name(file.name + ".part")
    count = 0
    try:
        with unfinished.open("wb") as lines:
            for episode in episodes:
                if episode.actions:
                    lines.write(msgspec.json.encode(conversation(episode, style)) + b"\n")
                    count += 1
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)
    return count
