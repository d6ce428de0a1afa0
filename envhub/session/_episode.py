"""The record of one episode: what was asked, what was answered, byte for byte."""

from __future__ import annotations

import itertools
import json
from collections import deque
from collections.abc import Iterator
from typing import Any

import msgspec

from envhub.record import SessionRecord, Snapshotted, Started
from envhub.worker import frames
from envhub_sdk._wire import TrajectoryStep

MAX_RECORDED_STEPS = 4096
"""Steps kept of an episode; of a longer one the oldest are dropped from the record."""


class _Reward(msgspec.Struct):
    reward: float


class _Ends(msgspec.Struct):
    terminated: bool
    truncated: bool


_ends = msgspec.json.Decoder(_Ends)
_rewards = msgspec.json.Decoder(_Reward)
_steps = msgspec.json.Decoder(TrajectoryStep)
_starts = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Episode:
    """One episode from its reset on.

    Args:
        id: Its name on the wire.
        seed: The seed it was reset with.
        task: The task it was given, if any.
        options: The reset options it was given, without the task.
        start: The environment's answer to the reset: JSON of observation and info.
        kept: How many steps are kept; None keeps all.
    """

    def __init__(
        self,
        id: str,
        seed: int,
        task: dict[str, Any] | None,
        options: dict[str, Any],
        start: bytes,
        kept: int | None = MAX_RECORDED_STEPS,
    ) -> None:
        self.id, self.seed, self.task, self.options = id, seed, task, options
        self.next_index = 0
        self.flags = frames.OK
        """Whether the last step terminated or truncated it."""
        self._start = start
        self._total_reward = 0.0
        self._counted = 0
        self._steps: deque[tuple[bytes, bytes]] = deque(maxlen=kept)
        self._base: tuple[int, bytes] | None = None

    def reply(self) -> bytes:
        """The reply to the reset."""
        return b'%b,"step_index":0,"episode_id":"%b","seed":%d}' % (
            self._start[:-1],
            self.id.encode(),
            self.seed,
        )

    def record(self, action: bytes, transition: bytes, flags: int) -> bytes:
        """Records a step and returns the reply to it."""
        answer = b'%b,"step_index":%d}' % (transition[:-1], self.next_index)
        self.keep(action, answer, flags)
        return answer

    def keep(self, action: bytes, answer: bytes, flags: int) -> None:
        """Takes in a step with the reply that was given to it."""
        if self.next_index - self._counted == MAX_RECORDED_STEPS:
            self._count_rewards()
        self._steps.append((action, answer))
        self.next_index += 1
        self.flags = flags

    def amend(self, addition: bytes) -> bytes:
        """Adds a field to the last reply and returns it: a repeated request is told the same."""
        action, answer = self._steps.pop()
        amended = b"%b,%b}" % (answer[:-1], addition)
        self._steps.append((action, amended))
        return amended

    def again(self, index: int, action: bytes) -> bytes | None:
        """The recorded reply to the last step, if that is what is asked for: same index, same action."""
        if index != self.next_index - 1 or not self._steps:
            return None
        last_action, answer = self._steps[-1]
        return answer if last_action == action or _same(last_action, action) else None

    # -- going on elsewhere -------------------------------------------------------------------------

    def request(self) -> bytes:
        """The reset that starts this episode, as a worker takes it.

        Raises:
            RecursionError: Task or options are nested too deeply.
        """
        options = self.options if self.task is None else {**self.options, "task": self.task}
        return json.dumps({"seed": self.seed, "options": options}).encode()

    def rebase(self, index: int, state: bytes) -> None:
        """Keeps a native snapshot, taken before step `index`: replays start there."""
        self._base = (index, state)

    def forget_state(self) -> bool:
        """Gives up the native snapshot where all steps are kept; says whether it did."""
        if self._base is None or len(self._steps) < self.next_index:
            return False
        self._base = None
        return True

    @property
    def base(self) -> tuple[int, bytes] | None:
        """The native snapshot that is kept, and the step before which it was taken."""
        return self._base

    @property
    def distance(self) -> int:
        """How many steps a replay would take."""
        return self.next_index - (self._base[0] if self._base else 0)

    @property
    def has_state(self) -> bool:
        """Whether a native snapshot is kept."""
        return self._base is not None

    @property
    def replayable(self) -> bool:
        """Whether everything that a replay needs is still in the record."""
        return self.distance <= len(self._steps)

    def plan(self) -> tuple[bytes | None, list[tuple[bytes, bytes]]]:
        """What a replay does: the snapshot to restore (None: reset), and the recorded steps after it."""
        state = self._base[1] if self._base else None
        return state, list(itertools.islice(self._steps, len(self._steps) - self.distance, None))

    def branch(self, id: str) -> Episode:
        """The same episode up to here, to be continued under another name."""
        copy = Episode(id, self.seed, self.task, self.options, self._start)
        copy.next_index, copy.flags, copy._base = self.next_index, self.flags, self._base
        copy._steps = self._steps.copy()
        copy._total_reward, copy._counted = self._total_reward, self._counted
        return copy

    def point(self) -> bytes:
        """Where the episode stands, as the reply to a restore: JSON like a reset's, with the last step's."""
        last: dict[str, msgspec.Raw] = _starts.decode(self._steps[-1][1] if self._steps else self._start)
        return b'{"observation":%b,"info":%b,"step_index":%d,"episode_id":"%b","seed":%d}' % (
            bytes(last["observation"]),
            bytes(last["info"]),
            self.next_index,
            self.id.encode(),
            self.seed,
        )

    # -- written down ---------------------------------------------------------------------------------

    def lines(
        self,
        record: SessionRecord,
        inherited: int = 0,
        last: int | None = None,
        more: bytes = b"",
        at_us: int | None = None,
    ) -> Iterator[bytes]:
        """The events of a record from which `from_event` builds this episode again.

        Args:
            record: The record of its session.
            inherited: How many of its steps are another episode's.
            last: How many of its last steps to write; None for all that are kept.
            more: Further fields of its beginning, each with a comma before it.
            at_us: When its session was last in use; None is now.
        """
        steps = list(self._steps)[-last:] if last is not None else self._steps
        stands = b',"next_index":%d,"first_index":%d,"total_reward":%r,"inherited":%d' % (
            self.next_index,
            self.next_index - len(steps),
            self.total_reward,
            inherited,
        )
        yield self.line(record, stands + more, at_us=at_us)
        for action, answer in steps:
            yield record.old_step_line(self.id, action, answer)
        if self._base is not None and last is None:
            yield record.checkpoint_line(self.id, *self._base)

    def line(
        self,
        record: SessionRecord,
        more: bytes = b"",
        asked_ns: int | None = None,
        at_us: int | None = None,
    ) -> bytes:
        """The event of its beginning, which was asked for and happened then."""
        task, options = json.dumps(self.task).encode(), json.dumps(self.options).encode()
        return record.episode_line(self.id, self.seed, task, options, self._start, more, asked_ns, at_us)

    @classmethod
    def from_event(cls, started: Started, kept: int | None = MAX_RECORDED_STEPS) -> Episode:
        """The episode whose beginning that event is; `keep` takes in its steps."""
        task = msgspec.json.decode(started.task)
        options = msgspec.json.decode(started.options)
        episode = cls(started.episode, started.seed, task, options, bytes(started.start), kept)
        episode.next_index = started.first_index
        episode._counted = started.first_index
        if started.next_index is not None:
            episode._counted, episode._total_reward = started.next_index, started.total_reward
        return episode

    def fields(self) -> bytes:
        """All of it, as fields of the event from which `from_snapshot` builds it again."""
        steps = (
            b'{"action":%b,"answer":%b}' % (action.replace(b"\n", b" "), answer)
            for action, answer in self._steps
        )
        base = b"" if self._base is None else b',"base_index":%d,"state":%b' % self._base
        return (
            b'"episode":"%b","seed":%d,"task":%b,"options":%b,"start":%b,"next_index":%d,"total_reward":%r,'
            b'"steps":[%b]%b'
            % (
                self.id.encode(),
                self.seed,
                json.dumps(self.task).encode(),
                json.dumps(self.options).encode(),
                self._start,
                self.next_index,
                self.total_reward,
                b",".join(steps),
                base,
            )
        )

    @classmethod
    def from_snapshot(cls, event: Snapshotted) -> Episode:
        """The episode that was saved.

        Raises:
            msgspec.MsgspecError: What was answered in it can't be read.
        """
        task, options = msgspec.json.decode(event.task), msgspec.json.decode(event.options)
        episode = cls(event.episode, event.seed, task, options, bytes(event.start))
        episode.next_index = event.next_index - len(event.steps)
        episode._counted, episode._total_reward = event.next_index, event.total_reward
        for step in event.steps:
            ends = _ends.decode(step.answer)
            flags = frames.TERMINATED * ends.terminated | frames.TRUNCATED * ends.truncated
            episode.keep(bytes(step.action), bytes(step.answer), flags)
        if event.base_index is not None:
            episode.rebase(event.base_index, bytes(event.state))
        return episode

    @property
    def total_reward(self) -> float:
        """The sum of the rewards so far, also of steps that are no longer in the record."""
        self._count_rewards()
        return self._total_reward

    def _count_rewards(self) -> None:
        """Adds the rewards of the steps since the last call: steps themselves don't pay for a sum."""
        new = self.next_index - self._counted
        for _, answer in itertools.islice(self._steps, len(self._steps) - new, None):
            self._total_reward += _rewards.decode(answer).reward
        self._counted = self.next_index

    @property
    def start(self) -> dict[str, msgspec.Raw]:
        """The first observation and info."""
        return _starts.decode(self._start)

    @property
    def played_task(self) -> Any:
        """The task that was given, or the one that the environment says it drew (`info["task"]`)."""
        if self.task is not None:
            return self.task
        info = msgspec.json.decode(self.start["info"])
        return info.get("task") if isinstance(info, dict) else None

    @property
    def steps(self) -> list[TrajectoryStep]:
        """The recorded transitions."""
        return [_steps.decode(b'{"action":%b,%b' % (action, answer[1:])) for action, answer in self._steps]


def _same(one: bytes, other: bytes) -> bool:
    """Whether two actions are the same JSON, however they are written."""
    try:
        return bool(json.loads(one) == json.loads(other))
    except (ValueError, RecursionError):  # what can't be read was never executed
        return False
