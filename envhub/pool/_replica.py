"""A replica as the hub sees it: a slot of a worker that one session at a time may lease."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from envhub.pool._channel import Sink
from envhub.pool._death import Death

if TYPE_CHECKING:
    from envhub.pool._worker import Turn, Worker

__all__ = ["Replica", "Sink"]


class Replica:
    """One slot of one worker; it outlives the worker's process."""

    __slots__ = ("leased", "may_move", "on_back", "on_lost", "slot", "worker")

    def __init__(self, worker: Worker, slot: int) -> None:
        self.worker = worker
        self.slot = slot
        self.leased = False
        self.on_lost: Callable[[], None] | None = None
        """Set by whoever leases the replica; called when its worker's process dies."""
        self.on_back: Callable[[], None] | None = None
        """Likewise; called when the next process is up, with an environment that was never reset."""
        self.may_move: Callable[[], bool] | None = None
        """Likewise; tells whether the leaseholder would go on where it is on a new process."""

    @property
    def fixed(self) -> bool:
        """Whether replacing its process now would cost somebody something."""
        return self.leased and not (self.may_move is not None and self.may_move())

    @property
    def death(self) -> Death | None:
        """How the last process of its worker ended."""
        return self.worker.death

    def send(self, operation: int, payload: bytes, sink: Sink) -> None:
        """Has the environment do one operation (see `envhub.worker.frames`)."""
        self.worker.channel.send(operation, self.slot, payload, sink)

    def in_turn(self, turn: Turn) -> None:
        """Does something while nothing else that is suspected of killing workers is under way."""
        self.worker.suspects.wait(turn)

    def call(self, operation: int, payload: bytes = b"") -> asyncio.Future[tuple[int, bytes]]:
        """The same with a future."""
        return self.worker.channel.call(operation, self.slot, payload)
