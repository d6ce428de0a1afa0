"""The answers of operations that were asked for together."""

from __future__ import annotations

import asyncio
import functools

from envhub.session._errors import HubError
from envhub.session._holder import Answer, Sink


def all_good(answers: list[Answer]) -> list[bytes]:
    """The answers, if none is an error.

    Raises:
        HubError: The first that is.
    """
    for answer in answers:
        if isinstance(answer, HubError):
            raise answer
    return [answer for answer in answers if isinstance(answer, bytes)]


class Gathered:
    """Answers of a batch, gathered through one future."""

    def __init__(self, count: int) -> None:
        self.future: asyncio.Future[list[Answer]] = asyncio.get_running_loop().create_future()
        self._answers: list[Answer] = [b""] * count
        self._missing = count
        if count == 0:
            self.future.set_result([])

    def sink(self, number: int) -> Sink:
        """What takes the answer of that number."""
        return functools.partial(self._take, number)

    def _take(self, number: int, answer: Answer) -> None:
        self._answers[number] = answer
        self._missing -= 1
        if self._missing == 0 and not self.future.done():
            self.future.set_result(self._answers)

    @staticmethod
    def reply(answers: list[Answer]) -> bytes:
        """The answers as a batch reply."""
        encoded = [answer if isinstance(answer, bytes) else answer.encode() for answer in answers]
        return b'{"results":[%b]}' % b",".join(encoded)
