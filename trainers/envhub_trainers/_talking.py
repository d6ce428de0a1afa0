"""A chat model as a policy: it is told what there is to see and answers with an action."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from envhub_sdk import spaces
from envhub_trainers._actions import fit
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
        problems: Why all but the last of it could not be used.

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
        self._limited = style.turns is not None
        self._taken = False  # whether the last answer was used

    async def __call__(self, observation: Any, info: dict[str, Any]) -> Any:
        """Return the model's action.

        Raises:
            Unreadable: None of its answers names one, and it may not answer again.
            EndpointFailed: The model's endpoint gave no answer.
            EndpointRefused: It will not.
        """
        if self._taken:
            self.replies, self.problems = [], []
        self._taken = False
        while True:
            self._check_room()
            self._conversation.see(observation, info, self.problems[-1] if self.problems else None)
            answer = await self._speaker(self._conversation.messages)
            self._conversation.say(answer.text)
            self.replies.append(answer.text)
            try:
                action = fit(self._form.parse(answer.text), self._space)
            except ValueError as error:  # a parser of the user's may raise any
                cut = " (it was cut at the limit of tokens)" if answer.cut else ""
                self.problems.append(f"{error}{cut}")
            else:
                self._taken = True
                return action

    def refused(self, problem: str) -> None:
        """Tell the model, when it is asked again, that its action was refused."""
        self.problems.append(problem)
        self._taken = False

    def _check_room(self) -> None:
        """See whether the model may answer once more.

        Raises:
            Unreadable: It may not.
        """
        if self._conversation.over or (not self._limited and len(self.problems) == ANSWERS):
            last = f"; the last one: {self.problems[-1]}" if self.problems else ""
            raise Unreadable(f"its answers could not be used as often as it may answer{last}")
