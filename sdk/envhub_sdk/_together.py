"""Steps and sessions that are asked for at the same moment, sent as one request.

A request costs client and hub more than a step does; a batch of steps costs little more than one. What it
costs is that an answer waits for the slowest of its batch. So after two slow batches in a row steps go one by
one for a while; one alone may be slow because this process, or its machine, was busy.

A hub opens all sessions of a request or none. So they are asked for without waiting for replicas, and where
that is refused each asks for itself, and waits.

Every step is executed once, as on its own: it carries its episode and index, whichever way it is sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from envhub_sdk import _calls, _results, _wire
from envhub_sdk._calls import Call
from envhub_sdk._exceptions import ApiError, NotReady, UnexpectedAnswer
from envhub_sdk._session import Opening, open_at_once

LARGEST_BATCH = 256
SLOW_S = 0.5
"""Batches that take longer show that their environments, or the hub, are slow."""
SLOW_BATCHES = 2
"""So many in a row."""
ALONE_S = 30.0
"""How long steps are sent one by one after that."""


@dataclass(slots=True)
class _Step:
    item: _wire.StepItem
    grace_s: float
    answer: asyncio.Future[_wire.StepReply]


@dataclass(slots=True)
class _Wish:
    opening: Opening
    answer: asyncio.Future[_wire.OpenedSession]


class _Asked(Protocol):
    answer: asyncio.Future[Any]


class Together:
    """Gathers steps and openings; use it in one event loop.

    Args:
        send: Sends a call, with the client's retries.
    """

    def __init__(self, send: Callable[[Call[Any]], Awaitable[Any]]) -> None:
        self._send = send
        self._waiting: list[_Step] = []
        self._wishes: list[_Wish] = []
        self._under_way: set[asyncio.Task[None]] = set()
        self._slow_batches = 0
        self._alone_until = 0.0

    async def step(self, item: _wire.StepItem, grace_s: float) -> _wire.StepReply:
        """Take a step, with those that others ask for in this turn of the event loop.

        Args:
            item: The step.
            grace_s: Seconds the environment may rightly take.

        Raises:
            EnvHubError: It failed.
        """
        loop = asyncio.get_running_loop()
        step = _Step(item, grace_s, loop.create_future())
        self._waiting.append(step)
        if len(self._waiting) == 1:
            loop.call_soon(self._leave)
        return await step.answer

    async def open(self, opening: Opening) -> _wire.OpenedSessions:
        """Open a session, with those that others ask for in this turn of the event loop.

        Raises:
            EnvHubError: It failed.
        """
        loop = asyncio.get_running_loop()
        wish = _Wish(opening, loop.create_future())
        self._wishes.append(wish)
        if len(self._wishes) == 1:
            loop.call_soon(self._leave_to_open)
        return _wire.OpenedSessions([await wish.answer])

    # -- openings -----------------------------------------------------------------------------------

    def _leave_to_open(self) -> None:
        """Send what has been gathered, a request for what fits into one."""
        wishes, self._wishes = self._wishes, []
        alike: dict[Any, list[_Wish]] = {}
        for wish in wishes:
            alike.setdefault(wish.opening.kind, []).append(wish)
        for group in alike.values():
            for first in range(0, len(group), LARGEST_BATCH):
                self._start(self._open_all(group[first : first + LARGEST_BATCH]))

    async def _open_all(self, wishes: Sequence[_Wish]) -> None:
        if len(wishes) == 1:
            await self._open_one(wishes[0])
            return
        call = open_at_once([wish.opening for wish in wishes])
        with _failures_told(wishes):
            try:
                opened = (await self._send(call)).sessions
            except ApiError:  # it may be about one of them: each asks for itself
                for wish in wishes:
                    self._start(self._open_one(wish))
                return
            if len(opened) != len(wishes):
                raise UnexpectedAnswer(f"{call.path} opened {len(opened)} sessions of {len(wishes)}")
            for wish, session in zip(wishes, opened, strict=True):
                _tell(wish, session)

    async def _open_one(self, wish: _Wish) -> None:
        with _failures_told([wish]):
            (session,) = (await self._send(wish.opening.call())).sessions
            _tell(wish, session)

    # -- steps --------------------------------------------------------------------------------------

    def _leave(self) -> None:
        """Send what has been gathered."""
        steps, self._waiting = self._waiting, []
        if len(steps) == 1 or time.monotonic() < self._alone_until:
            for step in steps:
                self._start(self._one(step))
        else:
            for first in range(0, len(steps), LARGEST_BATCH):
                self._start(self._batch(steps[first : first + LARGEST_BATCH]))

    def _start(self, sending: Any) -> None:
        task = asyncio.create_task(sending)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def _one(self, step: _Step) -> None:
        item = step.item
        request = _wire.StepRequest(item.action, item.step_index, item.episode_id)
        with _failures_told([step]):
            reply: _wire.StepReply = await self._send(_calls.step(item.session_id, request, step.grace_s))
            _tell(step, reply)

    async def _batch(self, steps: Sequence[_Step]) -> None:
        with _failures_told(steps):
            await self._batch_of(steps)

    async def _batch_of(self, steps: Sequence[_Step]) -> None:
        began = time.monotonic()
        call = _calls.batch_step([step.item for step in steps], False, max(step.grace_s for step in steps))
        try:
            results = (await self._send(call)).results
            if len(results) != len(steps):
                raise UnexpectedAnswer(f"{call.path} gave {len(results)} results for {len(steps)} steps")
        except ApiError:  # about the batch, not about any step: one by one it may do
            for step in steps:
                self._start(self._one(step))
            return
        self._slow_batches = self._slow_batches + 1 if time.monotonic() - began > SLOW_S else 0
        if self._slow_batches >= SLOW_BATCHES:
            self._alone_until = time.monotonic() + ALONE_S
            self._slow_batches = 0
        for step, raw in zip(steps, results, strict=True):
            answer = _results.read(raw, _wire.StepReply, step.item.session_id)
            if isinstance(answer, NotReady):  # asked again as a step of its own is
                self._start(self._one(step))
            else:
                _tell(step, answer)


@contextlib.contextmanager
def _failures_told(asked: Sequence[_Asked]) -> Iterator[None]:
    """Whatever ends a request ends the wait for its answers: nobody waits for ever."""
    try:
        yield
    except Exception as error:
        for one in asked:
            _tell(one, error)
    except asyncio.CancelledError:
        for one in asked:
            one.answer.cancel()
        raise


def _tell(one: _Asked, answer: object) -> None:
    if one.answer.done():  # its caller was cancelled
        return
    if isinstance(answer, Exception):
        one.answer.set_exception(answer)
    else:
        one.answer.set_result(answer)
