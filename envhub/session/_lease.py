"""A replica that outlives its worker: what is asked of it is answered, whoever dies meanwhile.

Invariants:
- One request is under way at a time; it is answered exactly once, or the lease is over.
- When the worker dies, the same slot of the next worker is brought to where the episode stood (`Replay`),
  then the request that was under way is sent again. Its sender notices nothing but the time.
- A request or a replay that was under way when a worker died may be what killed it. It is done again alone,
  so that it can't take others with it. After `MAX_DEATHS` a request is answered as a failure of the
  environment; after `MAX_HANGS` beyond the reach of signals, as one that timed out. A replay ends the lease
  after `MAX_REPLAY_DEATHS`.
- A lease whose episode can't be replayed, or whose replay differs, is over: it never goes on silently.
"""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Callable
from dataclasses import dataclass

from envhub.pool import HUNG, Death, Pool, Replica, Sink
from envhub.session._episode import Episode
from envhub.session._errors import HubError
from envhub.session._replay import Divergence, Replay
from envhub.worker import frames

MAX_DEATHS = 3
"""Workers that one request may take with it."""
MAX_REPLAY_DEATHS = 8
"""Workers that may die during one replay: it was answered once already, so it is hardly to blame."""
MAX_HANGS = 2
"""Times that one request may hang where only killing its worker ends it."""
RECOVERY_S = 60.0
"""How long a session waits for its worker to come back."""
CHECKPOINT_STEPS = 512
"""Steps after which a native snapshot is taken, so that replays stay short."""

_LOST = frames.ERROR_CODES["session_lost"]
_TIMEOUT = frames.ERROR_CODES["step_timeout"]
_ERROR = frames.ERROR_CODES["environment_error"]
_FATAL = (_LOST, _TIMEOUT, _ERROR)
_NOTHING = 0


@dataclass(slots=True)
class _Asked:
    operation: int
    payload: bytes
    sink: Sink
    deaths: int = 0
    hangs: int = 0
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
        self._turn_over: Callable[[], None] | None = None  # ends the turn in which it is done alone
        self._replay_deaths = 0
        self._behind = False  # the worker is new and was not brought to the episode, which a reset will end
        self._failed_checkpoints = 0
        self._given_back = False
        self._deadline: asyncio.TimerHandle | None = None
        replica.on_lost, replica.on_back, replica.may_move = self._worker_lost, self._recover, self._may_move
        self._ready = replica.worker.ready  # it may have died since the replica was taken
        if not self._ready:
            self._start_clock()

    @property
    def generation(self) -> int:
        """How many times the worker of this lease has been started."""
        return self._replica.worker.generation

    @property
    def worker(self) -> int:
        """The number of its worker."""
        return self._replica.worker.number

    # -- asking -------------------------------------------------------------------------------------

    def ask(self, operation: int, payload: bytes, sink: Sink) -> None:
        """Has the environment do one operation; nothing else may be under way."""
        self._asked = _Asked(operation, payload, sink)
        if self._ready and self._replica.worker.ready:  # else `_recover` will be called, and send it
            self._send(self._asked)

    def go_to(self, episode: Episode, sink: Sink) -> None:
        """Brings the replica to where an episode stands; the sink hears when it is there."""
        self.episode = episode
        self._asked = _Asked(_NOTHING, b"", sink)
        if self._ready:
            self._recover()
        elif self._replay is not None:  # of the episode before
            self._drop_replay()
            self._end_turn()
            self._recover()

    def _send(self, asked: _Asked) -> None:
        if asked.operation == _NOTHING:
            self._asked = None
            asked.sink(frames.DONE, b"null")
            self._end_turn()
        elif self._turn_over is None and self._replica.worker.suspects.busy:
            self._replica.worker.suspects.hold(functools.partial(self._send_held, asked))
        else:
            self._replica.send(asked.operation, asked.payload, self._answered)

    def _send_held(self, asked: _Asked) -> None:
        if asked is self._asked and self._ready:
            self._replica.send(asked.operation, asked.payload, self._answered)

    def _answered(self, code: int, body: bytes) -> None:
        asked = self._asked
        if asked is None:
            return
        if code == _LOST:  # `_worker_lost` follows
            asked.deaths += 1
            asked.hangs += body == HUNG
            return
        self._end_turn()
        if code == _TIMEOUT and asked.operation == frames.STEP and not asked.timed_out and self._replayable():
            asked.timed_out = True  # a hang may have been the moment's: try once more from the same point
            self._recover()
            return
        if self._behind and asked.operation == frames.RESET and code >= frames.FIRST_ERROR:
            if code not in _FATAL:  # refused: the episode before goes on, so bring it here first
                self._asked = _Asked(_NOTHING, b"", lambda *_: asked.sink(code, body))
                self._recover()
                return
        self._behind = False
        self._asked = None
        asked.sink(code, body)

    def checkpoint(self) -> None:
        """Takes a native snapshot now and then, so that a replay never starts far back."""
        episode = self.episode
        if episode is None or episode.distance < CHECKPOINT_STEPS:
            return
        if not self._ready or not self._replica.worker.ready:
            return
        if not self._pool.description.get("native_snapshot") or self._failed_checkpoints >= MAX_DEATHS:
            return
        index = episode.next_index

        def taken(code: int, body: bytes) -> None:
            if body == frames.NO_STATE:
                return
            if code == frames.DONE:
                self._failed_checkpoints = 0
                episode.rebase(index, body)
            else:
                self._failed_checkpoints += 1

        self._replica.send(frames.GET_STATE, b"", taken)

    # -- recovery -----------------------------------------------------------------------------------

    def _worker_lost(self) -> None:
        self._ready = False
        asked = self._asked
        self._end_turn()
        if self._replay is not None:
            self._drop_replay()
            self._replay_deaths += 1
        if self._replay_deaths >= MAX_REPLAY_DEATHS:
            self._end(f"so did {self._replay_deaths} that replayed its episode")
            return
        if not self._pool.served.spec.replayable and self.episode is not None and not self._resets():
            self._end("its environment is not replayable")
            return
        self._start_clock()
        if asked is not None and (asked.deaths >= MAX_DEATHS or asked.hangs >= MAX_HANGS):
            self._asked = None
            death = self._replica.death
            asked.sink(*(_hanger(asked.hangs) if asked.hangs >= MAX_HANGS else _killer(asked.deaths, death)))

    def _resets(self) -> bool:
        """Whether what is under way starts an episode anyway."""
        return self._asked is not None and self._asked.operation == frames.RESET

    def _replayable(self) -> bool:
        return self._pool.served.spec.replayable and self.episode is not None and self.episode.replayable

    def _forgets_state(self) -> bool:
        """Gives up a native snapshot that can't be restored, if a replay of all steps leads there."""
        return self._replayable() and self.episode is not None and self.episode.forget_state()

    def _may_move(self) -> bool:
        """Whether the worker may be replaced now: nothing is lost, and no recovery is under way."""
        episode = self.episode
        return self._ready and (episode is None or self._replayable())

    def _recover(self) -> None:
        """Brings the environment of a worker to the episode; called when a new worker is up, too."""
        self._ready = False
        if not self._replica.worker.ready:  # called again when it is
            self._start_clock()
            return
        asked = self._asked
        if self._replay_deaths or (asked is not None and asked.deaths):
            self._replica.in_turn(self._recover_alone)
        else:
            self._bring()

    def _recover_alone(self, over: Callable[[], None]) -> None:
        if self._given_back:
            over()
        else:
            self._turn_over = over
            self._bring()

    def _bring(self) -> None:
        self._behind = self.episode is not None and self._resets()
        if self.episode is None or self._behind:
            self._recovered()
        elif not self.episode.replayable:
            self._end("its episode is longer than what is kept for a replay")
        else:
            self._replay = Replay(self._replica, self.episode, self._replayed)
            self._replay.start()

    def _drop_replay(self) -> None:
        """Waits no longer for the replay under way, if any."""
        if self._replay is not None:
            self._replay.drop()
            self._replay = None

    def _end_turn(self) -> None:
        """Lets the next suspect have its turn, if this was one."""
        turn_over, self._turn_over = self._turn_over, None
        if turn_over is not None and self._replica.worker.ready:  # else the line ended with the worker
            turn_over()

    def _replayed(self, divergence: Divergence | None) -> None:
        self._replay = None
        if divergence is None:
            self._replay_deaths = 0
            self._pool.replays += self._asked is None or self._asked.operation != _NOTHING
            self._recovered()
        elif divergence.of_state and self._forgets_state():
            self._end_turn()
            self._recover()
        elif divergence.timed_out and self._replay_deaths < MAX_DEATHS - 1:
            self._replay_deaths += 1
            self._end_turn()
            self._recover()
        else:
            self._pool.divergences += 1
            self._over(self._diverged(divergence))

    def _diverged(self, divergence: Divergence) -> HubError:
        where = "its reset" if divergence.step_index < 0 else f"step {divergence.step_index}"
        what = (
            "a native snapshot of its episode could not be restored; mend its set_state"
            if divergence.of_state
            else f"its episode was replayed elsewhere and differed at {where}; the environment is not "
            "deterministic: mend that, or declare replayable = false in its spec"
        )
        return HubError(
            "replay_diverged",
            f"{self._holder} is over: {what}",
            {
                "step_index": divergence.step_index,
                "recorded": divergence.recorded,
                "replayed": divergence.replayed,
            },
        )

    def _recovered(self) -> None:
        self._ready = True
        self._stop_clock()
        if self._asked is not None:
            self._send(self._asked)
        else:
            self._end_turn()

    def _start_clock(self) -> None:
        if self._deadline is None:
            self._deadline = asyncio.get_running_loop().call_later(RECOVERY_S, self._too_late)

    def _too_late(self) -> None:
        self._end(f"the next one was not there within {RECOVERY_S:g} s")

    def _stop_clock(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    # -- the end ------------------------------------------------------------------------------------

    def give_back(self) -> None:
        """Ends the lease; ending it again does nothing."""
        if self._given_back:
            return
        self._given_back = True
        self._stop_clock()
        self._drop_replay()
        self._end_turn()
        self._asked = self.episode = None
        self._pool.release(self._replica)

    def _end(self, reason: str) -> None:
        death = self._replica.death
        under_way = self._asked is not None and self._asked.deaths > 0
        whose = "a request" if under_way else "no request"
        self._over(
            HubError(
                "session_lost",
                f"{self._holder} is over: the worker that held it {death.words if death else 'is gone'}, "
                f"while {whose} of this session was under way, and {reason}; open a new session",
                {"death": death.kind if death else None, "request_under_way": under_way},
            )
        )

    def _over(self, error: HubError) -> None:
        asked, self._asked, self.episode = self._asked, None, None
        self._on_over(error)
        if asked is not None:
            asked.sink(_LOST, b"null")


def _killer(deaths: int, last: Death | None) -> tuple[int, bytes]:
    message = f"the environment's process died {deaths} times in this very request"
    details: dict[str, object] = {"deaths": deaths}
    if last is not None:
        message += f": its worker {last.words}"
        details["death"] = last.kind
    return _ERROR, json.dumps({"message": message, "details": details}).encode()


def _hanger(hangs: int) -> tuple[int, bytes]:
    message = f"this very request hung {hangs} times where only killing the environment's process ended it"
    return _TIMEOUT, json.dumps({"message": message, "details": {"hangs": hangs}}).encode()
