"""A replica that outlives its worker: what is asked of it is answered, whoever dies meanwhile.

Invariants:
- One request is under way at a time; it is answered exactly once, or the lease is over.
- When the worker dies, the same slot of the next worker is brought to where the episode stood (`Replay`),
  then the request that was under way is sent again. Its sender notices nothing but the time.
- A request that was under way when a worker died may be what killed it. It is sent again alone, so that it
  can't take others with it; after `MAX_DEATHS` it is answered as a failure of the environment.
- A lease whose episode can't be replayed, or whose replay differs, is over: it never goes on silently.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass

from envhub.pool import Pool, Replica, Sink
from envhub.session._episode import Episode
from envhub.session._errors import HubError
from envhub.session._replay import Divergence, Replay
from envhub.worker import frames

MAX_DEATHS = 3
"""Workers that one request may take with it."""
RECOVERY_S = 60.0
"""How long a session waits for its worker to come back."""
CHECKPOINT_STEPS = 512
"""Steps after which a native snapshot is taken, so that replays stay short."""

_LOST = frames.ERROR_CODES["session_lost"]
_TIMEOUT = frames.ERROR_CODES["step_timeout"]
_ERROR = frames.ERROR_CODES["environment_error"]
_NOTHING = 0


@dataclass(slots=True)
class _Asked:
    operation: int
    payload: bytes
    sink: Sink
    deaths: int = 0
    timed_out: bool = False


class Lease:
    """The lease of a replica.

    Args:
        pool: Where the replica comes from.
        replica: The replica.
        holder: Who holds it, for messages.
        on_over: Called when it can't go on, with the reason.
    """

    def __init__(
        self, pool: Pool, replica: Replica, holder: str, on_over: Callable[[HubError], None]
    ) -> None:
        self.episode: Episode | None = None
        """What the replica must stand at whenever it is asked something; None: nothing to keep."""
        self._pool = pool
        self._replica = replica
        self._holder = holder
        self._on_over = on_over
        self._asked: _Asked | None = None
        self._replay: Replay | None = None
        self._ready = True
        self._given_back = False
        self._deadline: asyncio.TimerHandle | None = None
        replica.on_lost, replica.on_back = self._worker_lost, self._worker_back

    @property
    def generation(self) -> int:
        """How many times the worker of this lease has been started."""
        return self._replica.worker.generation

    # -- asking -------------------------------------------------------------------------------------

    def ask(self, operation: int, payload: bytes, sink: Sink) -> None:
        """Has the environment do one operation; nothing else may be under way."""
        self._asked = _Asked(operation, payload, sink)
        if self._ready:
            self._send(self._asked)

    def go_to(self, episode: Episode, sink: Sink) -> None:
        """Brings the replica to where an episode stands; the sink hears when it is there."""
        self.episode = episode
        self._asked = _Asked(_NOTHING, b"", sink)
        if self._ready:
            self._recover()

    def _send(self, asked: _Asked) -> None:
        if asked.operation == _NOTHING:
            self._asked = None
            asked.sink(frames.DONE, b"null")
        elif asked.deaths:
            self._replica.send_alone(asked.operation, asked.payload, self._answered)
        else:
            self._replica.send(asked.operation, asked.payload, self._answered)

    def _answered(self, code: int, body: bytes) -> None:
        asked = self._asked
        if asked is None:
            return
        if code == _LOST:  # `_worker_lost` follows
            asked.deaths += 1
            return
        if code == _TIMEOUT and asked.operation == frames.STEP and not asked.timed_out and self._replayable():
            asked.timed_out = True  # a hang may have been the moment's: try once more from the same point
            self._recover()
            return
        self._asked = None
        asked.sink(code, body)

    def checkpoint(self) -> None:
        """Takes a native snapshot now and then, so that a replay never starts far back."""
        episode = self.episode
        if episode is None or not self._ready or episode.distance < CHECKPOINT_STEPS:
            return
        if not self._pool.description.get("native_snapshot"):
            return
        index = episode.next_index

        def taken(code: int, body: bytes) -> None:
            if code == frames.DONE:
                episode.rebase(index, body)

        self._replica.send(frames.GET_STATE, b"", taken)

    # -- recovery -----------------------------------------------------------------------------------

    def _worker_lost(self) -> None:
        if not self._pool.served.spec.replayable:
            self._end("its environment is not replayable")
            return
        self._ready = False
        if self._replay is not None:
            self._replay.drop()
        asked = self._asked
        if asked is not None and asked.deaths >= MAX_DEATHS:
            self._asked, self.episode = None, None
            asked.sink(_ERROR, _killer(asked.deaths))
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().call_later(RECOVERY_S, self._too_late)

    def _too_late(self) -> None:
        self._end(f"its worker did not come back within {RECOVERY_S:g} s")

    def _worker_back(self) -> None:
        self._recover()

    def _replayable(self) -> bool:
        return self._pool.served.spec.replayable and self.episode is not None and self.episode.replayable

    def _recover(self) -> None:
        self._ready = False
        asked = self._asked
        if self.episode is None or (asked is not None and asked.operation == frames.RESET):
            self._recovered()
        elif not self.episode.replayable:
            self._end("its episode is longer than what is kept for a replay")
        else:
            self._replay = Replay(self._replica, self.episode, self._replayed)
            self._replay.start()

    def _replayed(self, divergence: Divergence | None) -> None:
        self._replay = None
        if divergence is None:
            self._pool.replays += 1
            self._recovered()
            return
        where = "reset" if divergence.step_index < 0 else f"step {divergence.step_index}"
        self._over(
            HubError(
                "replay_diverged",
                f"{self._holder} is over: its worker died and a replay of its episode differed at {where}; "
                "the environment is not deterministic: mend that, or declare replayable = false in its spec",
                {
                    "step_index": divergence.step_index,
                    "recorded": divergence.recorded,
                    "replayed": divergence.replayed,
                },
            )
        )

    def _recovered(self) -> None:
        self._ready = True
        self._stop_clock()
        if self._asked is not None:
            self._send(self._asked)

    # -- the end ------------------------------------------------------------------------------------

    def give_back(self) -> None:
        """Ends the lease; ending it again does nothing."""
        if self._given_back:
            return
        self._given_back = True
        self._stop_clock()
        if self._replay is not None:
            self._replay.drop()
        self._pool.release(self._replica)

    def _end(self, reason: str) -> None:
        self._over(
            HubError(
                "session_lost",
                f"{self._holder} is over: the worker that held it died and {reason}; open a new session",
            )
        )

    def _over(self, error: HubError) -> None:
        asked, self._asked, self.episode = self._asked, None, None
        self._on_over(error)
        if asked is not None:
            asked.sink(_LOST, b"null")

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _killer(deaths: int) -> bytes:
    message = f"the environment's process died {deaths} times in this very request"
    return json.dumps({"message": message, "details": {"deaths": deaths}}).encode()
