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
    """One slot of one worker."""

    __slots__ = ("generation", "on_lost", "slot", "worker")

    def __init__(self, worker: Worker, slot: int) -> None:
        self.worker = worker
        self.slot = slot
        self.generation = 0
        self.on_lost: Callable[[], None] | None = None
        """Set by whoever leases the replica; called when its worker dies."""

    def send(self, operation: int, payload: bytes, sink: Sink) -> None:
        """Has the environment do one operation (see `envhub.worker.frames`)."""
        self.worker.channel.send(operation, self.slot, payload, sink)

    def call(self, operation: int, payload: bytes = b"") -> asyncio.Future[tuple[int, bytes]]:
        """The same with a future."""
        return self.worker.channel.call(operation, self.slot, payload)
