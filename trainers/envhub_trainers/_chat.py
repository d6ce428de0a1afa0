"""A model's chat template, applied a message at a time.

Invariants:

- Ids are only ever appended. What a model sampled stays in the context as it was sampled: it is never decoded
  and encoded again, whatever the tokenizer would make of it.
- What is appended after an answer is what the template puts between that answer and the next one, minus the
  end mark that the model has sampled itself.
- So the context is what the template makes of the whole conversation. A template for which this can't hold,
  because it rewrites earlier turns, is refused when the `Chat` is made: a model that is trained on one
  context and used on another would not be the one that was trained.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Protocol

__all__ = ["Chat", "Message", "TemplateRefused", "Tokenizer"]

Message = dict[str, str]
"""`{"role": "system" | "user" | "assistant", "content": …}`."""

_MESSAGE = "delta"
_PLAIN = "alpha"
_THOUGHT = "<think>\nbeta\n</think>\n\nalpha"
_KEEP = "or use a template that keeps every turn as it was said (setting `chat_template`)"


class TemplateRefused(ValueError):
    """The chat template can't be applied a message at a time; the message says why and what to do."""


class Tokenizer(Protocol):
    """The part of a Hugging Face tokenizer that is used here."""

    def apply_chat_template(self, conversation: list[Message], **options: Any) -> Any:
        """Render a conversation."""

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        """Ids of a text."""

    def decode(self, token_ids: list[int], *, skip_special_tokens: bool = False) -> Any:
        """Text of ids."""


class Chat:
    """A tokenizer's chat template.

    Args:
        tokenizer: The model's tokenizer.
        template: A template (Jinja) to use instead of the tokenizer's own.

    Raises:
        TemplateRefused: There is no template, or it rewrites earlier turns, drops earlier thoughts or can't
            render a conversation of alternating turns.
    """

    def __init__(self, tokenizer: Tokenizer, template: str | None = None) -> None:
        self._tokenizer = tokenizer
        self._template = template
        if template is None and not getattr(tokenizer, "chat_template", None):
            raise TemplateRefused(
                "the tokenizer has no chat template: use an instruction-tuned model's, or give one (setting "
                "`chat_template`)"
            )
        self._head = self._verified_head()
        after = self._after(_MESSAGE)
        self._mark = self._ids(after[: after.find(_MESSAGE)])
        self._takes_system = self._renders_system()

    def opening(self, system: str | None, first: str) -> list[int]:
        """Ids of the conversation up to where the model's first answer begins.

        Args:
            system: What the model is told beforehand. Where the template has no system turn it begins the
                first message.
            first: The first message to the model.
        """
        messages = [{"role": "user", "content": first}]
        if system and self._takes_system:
            messages.insert(0, {"role": "system", "content": system})
        elif system:
            messages[0]["content"] = f"{system}\n\n{first}"
        return self._ids(self._render(messages))

    def between(self, answer: Sequence[int], *, ended: bool, message: str) -> list[int]:
        """Ids that follow an answer, up to where the next answer begins.

        Args:
            answer: The ids that the model has sampled.
            ended: Whether the model ended the answer itself, so that its last id may be the template's end
                mark. False for one that was cut at its limit.
            message: The next message to the model.
        """
        ids = self._ids(self._after(message))
        if ended and answer and answer[-1] in self._mark:
            sampled = self._mark.index(answer[-1]) + 1
            if ids[:sampled] == self._mark[:sampled]:
                return ids[sampled:]
        return ids

    def text(self, answer: Sequence[int]) -> str:
        """What an answer says, without special tokens."""
        return str(self._tokenizer.decode(list(answer), skip_special_tokens=True))

    def full_text(self, ids: Sequence[int]) -> str:
        """A conversation as the model sees it, special tokens and all."""
        return str(self._tokenizer.decode(list(ids), skip_special_tokens=False))

    # -- the template -------------------------------------------------------------------------------

    def _render(self, messages: list[Message]) -> str:
        options: dict[str, Any] = {} if self._template is None else {"chat_template": self._template}
        return str(
            self._tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True, **options
            )
        )

    def _ids(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text, add_special_tokens=False))

    def _after(self, message: str) -> str:
        """What the template puts between an answer and the next one."""
        return self._render(_turns([_PLAIN], last=message))[len(self._head) :]

    # -- what a template must hold to ---------------------------------------------------------------

    def _verified_head(self) -> str:
        """Check the template; return what it renders up to the end of a first answer."""
        try:
            one, two, three = (self._render(_turns([_PLAIN] * answers)) for answers in range(3))
            thoughts = [self._render(_turns([_THOUGHT] * answers)) for answers in range(3)]
        except Exception as error:
            raise TemplateRefused(
                f"the chat template can't render turns that alternate: {type(error).__name__}: {error}"
            ) from error
        first = _continued(one, _PLAIN, two)
        second = _continued(two, _PLAIN, three)
        same = first is not None and second is not None and two[first:] == three[second:]
        kept = all(_continued(a, _THOUGHT, b) for a, b in itertools.pairwise(thoughts))
        if not kept and (same or "<think>" in one):
            raise TemplateRefused(
                "the chat template drops the thoughts of earlier answers (what stands between <think> and "
                "</think>) when the conversation goes on, so that later turns would not see what was sampled "
                f"in earlier ones: use a model whose template keeps them, {_KEEP}"
            )
        if not same:
            raise TemplateRefused(
                "the chat template rewrites earlier turns when the conversation goes on, so that a model "
                f"would not see what it was trained on: use another model, {_KEEP}"
            )
        return two[:first]

    def _renders_system(self) -> bool:
        try:
            text = self._render([{"role": "system", "content": "gamma"}, *_turns([])])
        except Exception:  # such templates raise, each its own
            return False
        return "gamma" in text


def _turns(answers: Sequence[str], last: str = _MESSAGE) -> list[Message]:
    """A conversation with these answers that waits for the next one."""
    turns: list[Message] = []
    for answer in answers:
        turns += [{"role": "user", "content": _MESSAGE}, {"role": "assistant", "content": answer}]
    return [*turns, {"role": "user", "content": last}]


def _continued(before: str, answer: str, after: str) -> int | None:
    """Where, in a conversation that went on, the answer ends; None unless it is the one before, continued."""
    if not after.startswith(before):
        return None
    start = len(before)
    while after[start : start + 1].isspace():  # some templates put a blank before an answer
        start += 1
    return start + len(answer) if after.startswith(answer, start) else None
