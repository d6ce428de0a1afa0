"""One session's side of the protocol, without I/O: what to ask next and what an answer means."""

from __future__ import annotations

import secrets
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np
from gymnasium.utils import seeding

from envhub_sdk import _calls, _wire, spaces
from envhub_sdk._calls import Call
from envhub_sdk._exceptions import NoEpisode, UnexpectedAnswer
from envhub_sdk._snapshot import Snapshot

Task = Mapping[str, Any] | str
"""A task as `Hub.tasks` lists it, or its id."""
Transition = tuple[Any, float, bool, bool, dict[str, Any]]

SEED_BOUND = 2**31
DEFAULT_WAIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Settings:
    """How sessions are opened and what their episodes start from unless `reset` says otherwise."""

    task: Task | None = None
    split: str | None = None
    wait_s: float = DEFAULT_WAIT_S
    idle_timeout_s: float | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    heartbeat: bool = True


class Seeds:
    """Draws the seed of each episode as a Gymnasium environment would.

    A given seed starts the stream anew; without one the stream goes on, so that a run that began with a
    seed is reproducible as a whole. The stream of a seed is the same here and in `Env`.

    Args:
        first: Seed of the first episode, if its reset gives none.
    """

    def __init__(self, first: int | None = None) -> None:
        self._first = first
        self._stream: np.random.Generator | None = None

    def next(self, seed: int | None = None) -> int:
        """Return the seed of the next episode."""
        if seed is None and self._stream is None:
            seed = self._first
        if seed is not None or self._stream is None:
            self._stream, used = seeding.np_random(seed)
            return draw(self._stream) if seed is None else int(used)
        return draw(self._stream)

    def spawn(self, count: int) -> list[Seeds]:
        """Make streams of their own, which follow from this one's seed."""
        if self._stream is None:
            self._stream, _ = seeding.np_random(self._first)
        children = [Seeds() for _ in range(count)]
        for child, stream in zip(children, self._stream.spawn(count), strict=True):
            child._stream = stream
        return children


def draw(stream: np.random.Generator) -> int:
    """Draw the seed of an episode."""
    return int(stream.integers(SEED_BOUND))


def start_of(
    settings: Settings, options: Mapping[str, Any] | None
) -> tuple[dict[str, Any] | str | None, dict[str, Any]]:
    """Split reset options into the wire's task and options; the settings fill in what they leave out.

    Raises:
        TypeError: The task is neither a dict nor an id.
    """
    rest = dict(options or {})
    task: Task | None = rest.pop("task", settings.task)
    if task is None and settings.split is not None:
        rest.setdefault("split", settings.split)
    return _plain(task), rest


def _plain(task: Task | None) -> dict[str, Any] | str | None:
    """The task as the wire has it.

    Raises:
        TypeError: It is neither a dict nor an id.
    """
    if task is None or isinstance(task, str):
        return task
    if not isinstance(task, Mapping):
        raise TypeError(f"task is {task!r:.80}: give a dict as hub.tasks() lists it, or its id, as text")
    return dict(task)


@dataclass(frozen=True, slots=True)
class Opening:
    """A session that is asked for, with the start of its first episode."""

    env: _wire.EnvInfo
    settings: Settings
    seed: int
    task: dict[str, Any] | str | None
    options: dict[str, Any]

    @property
    def kind(self) -> Hashable:
        """The same of openings that fit into one request."""
        if self.options.keys() - {"split"}:
            return id(self)
        wanted = self.settings
        labels = tuple(sorted(wanted.labels.items()))
        return (
            self.env.name,
            wanted.idle_timeout_s,
            labels,
            self.task is None,
            repr(self.options.get("split")),
        )

    def call(self) -> Call[_wire.OpenedSessions]:
        """Ask for it, and wait for a replica as its settings say."""
        tasks = None if self.task is None else [self.task]
        return open_call(self.env, self.settings, [self.seed], tasks, self.options)


def open_at_once(openings: Sequence[Opening]) -> Call[_wire.OpenedSessions]:
    """Ask for openings of one kind, for all or none, and wait for no replica."""
    first = openings[0]
    tasks = None if first.task is None else [opening.task for opening in openings]
    seeds = [opening.seed for opening in openings]
    return open_call(first.env, replace(first.settings, wait_s=0.0), seeds, tasks, first.options)


class Session:
    """A session as the client sees it.

    Args:
        env: The served environment.
        settings: How the session is opened.
    """

    def __init__(self, env: _wire.EnvInfo, settings: Settings) -> None:
        self.env = env
        self.settings = settings
        self.id: str | None = None
        """None until it is opened, and after it is gone."""
        self.seed: int | None = None
        self.task: dict[str, Any] | str | None = None
        """The task the last reset asked for."""
        self.episode_id: str | None = None
        self.step_index = 0
        """Index of the next step."""
        self._start_index = 0
        self._observation_space = observation_space(env)

    def forget(self) -> None:
        """Note that the session is over."""
        self.id = self.episode_id = None

    # -- calls --------------------------------------------------------------------------------------

    def opening(self, seed: int, options: Mapping[str, Any] | None) -> Opening:
        """What `open_call` asks for."""
        self.task, rest = start_of(self.settings, options)
        return Opening(self.env, self.settings, seed, self.task, rest)

    def open_call(self, seed: int, options: Mapping[str, Any] | None) -> Call[_wire.OpenedSessions]:
        """Open the session and reset it, in one request."""
        return self.opening(seed, options).call()

    def reset_call(self, seed: int, options: Mapping[str, Any] | None) -> Call[_wire.ResetReply]:
        """Start another episode."""
        self.task, rest = start_of(self.settings, options)
        request = _wire.ResetRequest(seed, self.task, rest, self.next_start())
        return _calls.reset(self.known_id(), request, grace_s(self.env, "reset"))

    def step_call(self, action: Any) -> Call[_wire.StepReply]:
        """Take the next step of the episode."""
        item = self.step_item(spaces.encode(action))
        request = _wire.StepRequest(item.action, item.step_index, item.episode_id)
        return _calls.step(item.session_id, request, grace_s(self.env, "step"))

    def step_item(self, action: bytes) -> _wire.StepItem:
        """The next step as an item of a batch.

        Raises:
            NoEpisode: There was no reset yet, or the session is gone.
        """
        if self.id is None or self.episode_id is None:
            raise NoEpisode(f"{self.env.name} has no running episode: call reset() first")
        return _wire.StepItem(self.id, msgspec.Raw(action), self.step_index, self.episode_id)

    def open_empty_call(self) -> Call[_wire.OpenedSessions]:
        """Open the session without an episode, to restore one."""
        return open_call(self.env, self.settings, None, None, {})

    def snapshot_call(self) -> Call[_wire.SnapshotReply]:
        """Save where the episode stands."""
        return _calls.snapshot(self.known_id(), grace_s(self.env, "step"))

    def restore_call(self, snapshot: Snapshot) -> Call[_wire.ResetReply]:
        """Go on from a saved point."""
        request = _wire.RestoreRequest(snapshot.id, self.next_start())
        return _calls.restore(self.known_id(), request, self._replay_s(snapshot.step_index))

    def fork_call(self, count: int, snapshot: Snapshot | None) -> Call[_wire.OpenedSessions]:
        """Open sessions that go on from where this one stands, or from a saved point."""
        request = _wire.ForkRequest(
            count, snapshot.id if snapshot else None, self.settings.wait_s, _request_id()
        )
        steps = snapshot.step_index if snapshot else self.step_index
        return _calls.fork(self.known_id(), request, self._replay_s(steps))

    def next_start(self) -> int:
        """The number of another reset or restore: with it the hub executes it once."""
        self._start_index += 1
        return self._start_index

    def _replay_s(self, steps: int) -> float:
        """Seconds an episode may take that has to be played again up to a point."""
        return grace_s(self.env, "reset") + steps * grace_s(self.env, "step")

    def known_id(self) -> str:
        """The session's id.

        Raises:
            NoEpisode: It is not open.
        """
        if self.id is None:
            raise NoEpisode(f"{self.env.name} has no open session: call reset() first")
        return self.id

    # -- answers ------------------------------------------------------------------------------------

    def opened(self, reply: _wire.OpenedSession) -> tuple[Any, dict[str, Any]]:
        """Take in the answer to `open_call`; return the first observation and info."""
        self.id = reply.id
        start = msgspec.convert(reply, _wire.ResetReply, from_attributes=True)
        return self.started(start)

    def started(self, reply: _wire.ResetReply) -> tuple[Any, dict[str, Any]]:
        """Take in the start of an episode; return its first observation and info."""
        self.episode_id, self.step_index, self.seed = reply.episode_id, reply.step_index, reply.seed
        return self._value(reply.observation), msgspec.json.decode(reply.info)

    def saved(self, reply: _wire.SnapshotReply) -> Snapshot:
        """Take in the answer to `snapshot_call`."""
        return Snapshot(reply.snapshot_id, reply.step_index, reply.kind, self.task)

    def restored(self, reply: _wire.ResetReply, snapshot: Snapshot) -> tuple[Any, dict[str, Any]]:
        """Take in the answer to `restore_call`; return the observation and info at that point."""
        self.task = _plain(snapshot.task)
        return self.started(reply)

    def forked(self, reply: _wire.OpenedSession, task: Task | None) -> None:
        """Be one of the sessions that a fork opened, in an episode of that task."""
        start = msgspec.convert(reply, _wire.ResetReply, from_attributes=True)
        self.id, self.task = reply.id, _plain(task)
        self.episode_id, self.step_index, self.seed = start.episode_id, start.step_index, start.seed

    def stepped(self, reply: _wire.StepReply) -> Transition:
        """Take in the answer to a step."""
        if reply.step_index != self.step_index:
            raise UnexpectedAnswer(
                f"session {self.id} answered for step {reply.step_index} when asked for step "
                f"{self.step_index}; is something replaying answers between here and the hub?",
                session=self.id,
            )
        self.step_index += 1
        observation, info = self._value(reply.observation), msgspec.json.decode(reply.info)
        return observation, reply.reward, reply.terminated, reply.truncated, info

    def _value(self, raw: msgspec.Raw) -> Any:
        try:
            return spaces.decode(self._observation_space, msgspec.json.decode(raw))
        except ValueError as error:
            raise UnexpectedAnswer(
                f"{self.env.name} sent an observation outside its own space: {error}", session=self.id
            ) from error


def open_call(
    env: _wire.EnvInfo,
    settings: Settings,
    seeds: Sequence[int] | None,
    tasks: Sequence[Any] | None,
    options: Mapping[str, Any],
) -> Call[_wire.OpenedSessions]:
    """Open one session a seed and reset them all, in one request; without seeds, one that is not reset."""
    request = _wire.OpenRequest(
        count=1 if seeds is None else len(seeds),
        seeds=None if seeds is None else list(seeds),
        reset=seeds is not None,
        tasks=None if tasks is None else list(tasks),
        options=dict(options),
        wait_s=settings.wait_s,
        idle_timeout_s=settings.idle_timeout_s,
        labels=dict(settings.labels),
        request_id=_request_id(),
    )
    return _calls.open_sessions(env.name, request, grace_s(env, "reset"))


def _request_id() -> str:
    return secrets.token_hex(16)


def grace_s(env: _wire.EnvInfo, kind: str) -> float:
    """Seconds the environment itself may take for a step or a reset."""
    return float(env.limits.get(f"{kind}_timeout_s", 0.0))


def observation_space(env: _wire.EnvInfo) -> spaces.Space:
    """The environment's observation space."""
    return _space(env, "observation", env.observation)


def action_space(env: _wire.EnvInfo) -> spaces.Space:
    """The environment's action space."""
    return _space(env, "action", env.action)


def _space(env: _wire.EnvInfo, role: str, channel: dict[str, Any]) -> spaces.Space:
    try:
        return spaces.from_json(channel.get("space"))
    except ValueError as error:
        raise ValueError(f"the {role} space of {env.name!r}: {error}") from error
