"""Bringing a fresh environment to a recorded point of an episode, and noticing when it differs.

The nearest native snapshot is restored, or the episode is reset with its recorded seed, task and options;
then the recorded actions are taken. All requests leave at once: a replay costs one round trip. What comes
back is compared with the record: observation, reward and the two end flags. Infos, which often hold times,
are compared only where that is asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from envhub.pool import Replica
from envhub.session._episode import Episode
from envhub.worker import frames

MAX_SHOWN = 2000
"""Bytes of an observation that a divergence shows."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where a replay first differed from the record."""

    step_index: int
    """-1: the reset itself."""
    recorded: str
    replayed: str
    timed_out: bool = False
    """It did not differ: the replay took longer than a step or a reset may."""
    of_state: bool = False
    """It did not differ: the native snapshot could not be restored."""


Done = Callable[[Divergence | None], None]


class _Start(msgspec.Struct):
    observation: msgspec.Raw
    info: msgspec.Raw


class _Transition(msgspec.Struct):
    observation: msgspec.Raw
    reward: float
    terminated: bool
    truncated: bool
    info: msgspec.Raw


_starts = msgspec.json.Decoder(_Start)
_transitions = msgspec.json.Decoder(_Transition)


class Replay:
    """One replay of one episode on one replica.

    Args:
        replica: Where.
        episode: What; it must be replayable.
        done: Told once how it went, unless it was dropped or the worker died meanwhile.
        infos: Whether infos must be the same, too.
    """

    def __init__(self, replica: Replica, episode: Episode, done: Done, infos: bool = False) -> None:
        self._replica = replica
        self._episode = episode
        self._done: Done | None = done
        self._infos = infos
        self._left = 0

    def start(self) -> None:
        """Sends everything."""
        state, steps = self._episode.plan()
        self._left = 1 + len(steps)
        if state is not None:
            self._replica.send(frames.SET_STATE, state, self._restored)
        else:
            self._replica.send(frames.RESET, self._episode.request(), self._started)
        first = self._episode.next_index - len(steps)
        for index, (action, answer) in enumerate(steps, first):
            self._replica.send(frames.REPLAY, action, functools.partial(self._stepped, index, answer))

    def drop(self) -> None:
        """Nobody wants to know any more."""
        self._done = None

    def _restored(self, code: int, body: bytes) -> None:
        if code >= frames.FIRST_ERROR:
            index = self._episode.next_index - self._left
            self._failed(code, index, "a native snapshot", body, of_state=True)
        else:
            self._one_less()

    def _started(self, code: int, body: bytes) -> None:
        start = self._episode.start
        recorded, info = bytes(start["observation"]), bytes(start["info"])
        if code >= frames.FIRST_ERROR:
            self._failed(code, -1, _shown(recorded), body)
            return
        replayed = _starts.decode(body)
        if not _same(recorded, bytes(replayed.observation)):
            self._end(Divergence(-1, *_both(recorded, bytes(replayed.observation))))
        elif self._infos and not _same(info, bytes(replayed.info)):
            self._end(Divergence(-1, *_both_infos(info, bytes(replayed.info))))
        else:
            self._one_less()

    def _stepped(self, index: int, answer: bytes, code: int, body: bytes) -> None:
        if code < frames.FIRST_ERROR and answer.startswith(body[:-1]):
            self._one_less()
            return
        recorded = _transitions.decode(answer)
        if code >= frames.FIRST_ERROR:
            self._failed(code, index, _shown(bytes(recorded.observation)), body)
            return
        replayed = _transitions.decode(body)
        observations = bytes(recorded.observation), bytes(replayed.observation)
        infos = bytes(recorded.info), bytes(replayed.info)
        if _ends(recorded) != _ends(replayed) or not _same(*observations):
            shown = _both(*observations)
            self._end(Divergence(index, shown[0] + _rest(recorded), shown[1] + _rest(replayed)))
        elif self._infos and not _same(*infos):
            self._end(Divergence(index, *_both_infos(*infos)))
        else:
            self._one_less()

    def _failed(self, code: int, index: int, recorded: str, body: bytes, of_state: bool = False) -> None:
        if code != frames.ERROR_CODES["session_lost"]:  # then the worker died: another replay will follow
            timed_out = code == frames.ERROR_CODES["step_timeout"]
            self._end(Divergence(index, recorded, _shown(body), timed_out, of_state))

    def _one_less(self) -> None:
        self._left -= 1
        if self._left == 0:
            self._end(None)

    def _end(self, outcome: Divergence | None) -> None:
        done, self._done = self._done, None
        if done is not None:
            done(outcome)


def _ends(transition: _Transition) -> tuple[float, bool, bool]:
    return transition.reward, transition.terminated, transition.truncated


def _rest(transition: _Transition) -> str:
    ends = f"terminated {transition.terminated}, truncated {transition.truncated}"
    return f", reward {transition.reward!r}, {ends}"


def _same(one: bytes, other: bytes) -> bool:
    """Whether two texts are the same JSON, however they are written: 1, 1.0 and true are three things."""
    return one == other or _plain(one) == _plain(other)


def _plain(text: bytes) -> bytes:
    return msgspec.json.encode(msgspec.json.decode(text))


def _both_infos(recorded: bytes, replayed: bytes) -> tuple[str, str]:
    one, other = _both(recorded, replayed)
    return f"info {one}", f"info {other}"


def _both(recorded: bytes, replayed: bytes) -> tuple[str, str]:
    """Two observations, cut to where they first differ if they are long."""
    same = next(
        (at for at, pair in enumerate(zip(recorded, replayed, strict=False)) if pair[0] != pair[1]), 0
    )
    start = max(0, same - MAX_SHOWN // 2)
    return _shown(recorded, start), _shown(replayed, start)


def _shown(body: bytes, start: int = 0) -> str:
    text = body[start : start + MAX_SHOWN].decode(errors="replace")
    return f"…{text}" if start else text
