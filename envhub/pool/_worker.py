"""A worker as the hub sees it: a process behind a channel, and the replicas it hosts."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
from collections import deque
from collections.abc import Callable
from typing import Any

from envhub.pool._channel import LOST, Channel, Sink
from envhub.pool._errors import LoadFailed
from envhub.pool._replica import Replica
from envhub.pool._template import Template
from envhub.worker import frames


class Worker:
    """One worker process and its slots; the same object over all its generations.

    Args:
        number: The worker's number within its pool.
        slots: How many replicas it hosts.
        on_lost: Called when the process is gone without having been closed.
    """

    def __init__(self, number: int, slots: int, on_lost: Callable[[Worker], None]) -> None:
        self.number = number
        self.generation = 0
        self.pid = 0
        self.ready = False
        self.channel: Channel
        self.suspects: Suspects
        self.started_at = 0.0
        self.quick_deaths = 0
        """How many times in a row it died soon after its start."""
        self._on_lost = on_lost
        self._closing = False
        self.replicas = [Replica(self, slot) for slot in range(slots)]

    async def start(self, template: Template, fork: bool) -> None:
        """Starts the process and builds the environment object of every slot.

        Raises:
            LoadFailed: The template is gone, or an environment object could not be built.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        ours.setblocking(False)
        try:
            with theirs:
                self.pid = (
                    await template.fork(self.number, theirs) if fork else template.serve(self.number, theirs)
                )
        except BaseException:
            ours.close()
            raise
        _, self.channel = await asyncio.get_running_loop().create_unix_connection(
            lambda: Channel(self._lost), sock=ours
        )
        self.generation += 1
        for code, payload in await asyncio.gather(
            *(self.channel.call(frames.MAKE, replica.slot) for replica in self.replicas)
        ):
            if code >= frames.FIRST_ERROR:
                self.kill()
                raise LoadFailed(f"{template.name}: {_explain(json.loads(payload))}")
        self.suspects = Suspects(self.channel)
        self.ready, self.started_at = True, asyncio.get_running_loop().time()

    def _lost(self) -> None:
        if self._closing:  # it closes its environments and ends by itself
            return
        self.kill()  # a worker that broke the conversation may still run
        was_ready, self.ready, self.pid = self.ready, False, 0
        if was_ready:
            self._on_lost(self)

    def close(self) -> None:
        """Asks the process to end; it closes its environments first."""
        self.ready, self._closing = False, True
        if self.generation:
            self.channel.close()

    def kill(self) -> None:
        """Ends the process at once."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


class Suspects:
    """Requests that were under way when a worker died, sent to the next one by one.

    So a request that kills workers is caught alone, and no innocent one is blamed for its deaths.
    """

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._line: deque[tuple[int, int, bytes, Sink]] = deque()

    def send(self, operation: int, slot: int, payload: bytes, sink: Sink) -> None:
        """Sends a request when it is its turn."""
        self._line.append((operation, slot, payload, sink))
        if len(self._line) == 1:
            self._send_first()

    def _send_first(self) -> None:
        operation, slot, payload, sink = self._line[0]

        def answered(code: int, body: bytes) -> None:
            self._line.popleft()
            if code == LOST:
                self._line.clear()  # whoever waits will ask the next worker
            sink(code, body)
            if self._line:
                self._send_first()

        self._channel.send(operation, slot, payload, answered)


def _explain(failure: dict[str, Any]) -> str:
    trace = failure.get("details", {}).get("traceback", "")
    return f"{failure['message']}\n{trace}".rstrip()
