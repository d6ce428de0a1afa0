"""A replica as the hub sees it: a slot of a worker that one session at a time may lease."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from envhub.pool._channel import Sink

if TYPE_CHECKING:
    from envhub.pool._worker import Worker

__all__ = ["Replica", "Sink"]


class Replica:
    """One slot of one worker; it outlives the worker's process."""

    __slots__ = ("leased", "on_back", "on_lost", "slot", "worker")

    def __init__(self, worker: Worker, slot: int) -> None:
        self.worker = worker
        self.slot = slot
        self.leased = False
        self.on_lost: Callable[[], None] | None = None
        """Set by whoever leases the replica; called when its worker's process dies."""
        self.on_back: Callable[[], None] | None = None
        """Likewise; called when the next process is up, with an environment that was never reset."""

    def send(self, operation: int, payload: bytes, sink: Sink) -> None:
        """Has the environment do one operation (see `envhub.worker.frames`)."""
        self.worker.channel.send(operation, self.slot, payload, sink)

    def send_alone(self, operation: int, payload: bytes, sink: Sink) -> None:
        """The same, while nothing else that is suspected of killing workers is under way."""
        self.worker.suspects.send(operation, self.slot, payload, sink)

    def call(self, operation: int, payload: bytes = b"") -> asyncio.Future[tuple[int, bytes]]:
        """The same with a future."""
        return self.worker.channel.call(operation, self.slot, payload)
