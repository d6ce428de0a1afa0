"""Steps of many environments that are asked for at the same moment, sent as one request.

A request costs client and hub more than a step does; a batch of steps costs little more than one. What it
costs is that an answer waits for the slowest of its batch. So a batch that was slow is the last for a while.

Every step is executed once, as on its own: it carries its episode and index, whichever way it is sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from envhub_sdk import _calls, _results, _wire
from envhub_sdk._calls import Call
from envhub_sdk._exceptions import ApiError, NotReady, UnexpectedAnswer

LARGEST_BATCH = 256
SLOW_S = 0.5
"""A batch that took longer shows that its environments, or the hub, are slow."""
ALONE_S = 30.0
"""How long steps are sent one by one after that."""


@dataclass(slots=True)
class _Step:
    item: _wire.StepItem
    grace_s: float
    answer: asyncio.Future[_wire.StepReply]


class Together:
    """Gathers steps; use it in one event loop.

    Args:
        send: Sends a call, with the client's retries.
    """

    def __init__(self, send: Callable[[Call[Any]], Awaitable[Any]]) -> None:
        self._send = send
        self._waiting: list[_Step] = []
        self._under_way: set[asyncio.Task[None]] = set()
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
        if time.monotonic() - began > SLOW_S:
            self._alone_until = time.monotonic() + ALONE_S
        for step, raw in zip(steps, results, strict=True):
            answer = _results.read(raw, _wire.StepReply, step.item.session_id)
            if isinstance(answer, NotReady):  # asked again as a step of its own is
                self._start(self._one(step))
            else:
                _tell(step, answer)


@contextlib.contextmanager
def _failures_told(steps: Sequence[_Step]) -> Iterator[None]:
    """Whatever ends a request ends the wait for its answers: nobody waits for ever."""
    try:
        yield
    except Exception as error:
        for step in steps:
            _tell(step, error)
    except asyncio.CancelledError:
        for step in steps:
            step.answer.cancel()
        raise


def _tell(step: _Step, answer: _wire.StepReply | Exception) -> None:
    if step.answer.done():  # its caller was cancelled
        return
    if isinstance(answer, Exception):
        step.answer.set_exception(answer)
    else:
        step.answer.set_result(answer)
