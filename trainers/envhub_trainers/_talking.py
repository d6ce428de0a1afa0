"""A chat model as a policy: it is told what there is to see and answers with an action."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from envhub_sdk import spaces
from envhub_trainers._actions import FormatError, fit
from envhub_trainers._chat import Message
from envhub_trainers._conversations import Conversation, Style
from envhub_trainers._endpoint import Answer, ChatEndpoint
from envhub_trainers._policies import Player, Policy, Unreadable

Speaker = Callable[[Sequence[Message]], Awaitable[Answer]]
"""Answers the conversation of one episode, each time with its whole history."""

ANSWERS = 3
"""How often a model is asked for one action, where the environment has no limit of steps. Where it has one,
an answer that can't be read uses up a step, as in training."""


def player(endpoint: ChatEndpoint, style: Style) -> Player:
    """Make the player that asks a chat model, in that style."""
    facts = {
        "kind": "endpoint",
        "name": endpoint.model,
        "url": endpoint.url,
        "sampling": endpoint.sampling,
        **style.facts,
    }

    def make(seed: int) -> Policy:
        return Talker(endpoint.ask, style)

    return Player(facts, make)


class Talker:
    """The policy of one episode.

    Attributes:
        replies: What the model wrote for the last action.
        problems: Why all but the last of it could not be read.

    Args:
        speaker: Answers.
        style: How the environment is put into words.
    """

    def __init__(self, speaker: Speaker, style: Style) -> None:
        self.replies: list[str] = []
        self.problems: list[str] = []
        self._speaker = speaker
        self._form = style.form
        self._space = spaces.from_json(style.served.action.get("space"))
        self._conversation = Conversation(style)
        self._limited = style.turns > 0

    async def __call__(self, observation: Any, info: dict[str, Any]) -> Any:
        """Return the model's action.

        Raises:
            Unreadable: None of its answers names one, and it may not answer again.
            EndpointFailed: The model's endpoint gave no answer.
            EndpointRefused: It will not.
        """
        self.replies, self.problems = [], []
        if self._conversation.over:
            raise Unreadable("the answers that could not be read have used up the steps of the episode")
        self._conversation.see(observation, info)
        while True:
            answer = await self._speaker(self._conversation.messages)
            self._conversation.say(answer.text)
            self.replies.append(answer.text)
            try:
                return fit(self._form.parse(answer.text), self._space)
            except FormatError as error:
                cut = " (it was cut at the limit of tokens)" if answer.cut else ""
                self.problems.append(f"{error}{cut}")
                if self._conversation.over or (not self._limited and len(self.problems) == ANSWERS):
                    raise Unreadable(f"{error}{cut}") from error
                self._conversation.see(observation, info, self.problems[-1])
