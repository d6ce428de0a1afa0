"""Many sessions of a hub as one Gymnasium vector environment.

Invariants:

- One request a step, whatever the number of sub-environments and the autoreset mode.
- A sub-environment's answer is taken in exactly once, at once, whatever happens to the others: answers
  wait in `_kept` until the step is whole. A repeated `step` asks only those that have not answered.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate
from numpy.typing import NDArray

from envhub_sdk import _calls, _infos, _results, _wire, spaces
from envhub_sdk._calls import Call
from envhub_sdk._exceptions import (
    EnvHubError,
    EpisodeOver,
    NoEpisode,
    NotReady,
    SessionGone,
    UnexpectedAnswer,
)
from envhub_sdk._session import (
    Seeds,
    Session,
    Settings,
    Transition,
    action_space,
    grace_s,
    observation_space,
    open_call,
    start_of,
)

if TYPE_CHECKING:
    from envhub_sdk._hub import Hub

__all__ = ["VectorEnv"]

T = TypeVar("T")
Start = tuple[Any, dict[str, Any]]
Batch = tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]


class VectorEnv(gymnasium.vector.VectorEnv[Any, Any, NDArray[Any]]):
    """`num_envs` sessions of one environment, stepped together; made by `Hub.make_vec`.

    Observations, actions and infos are batched as Gymnasium's own vector environments do it: arrays are
    stacked, texts come as a tuple. The sessions are opened, all or none, by the first `reset()`.

    Autoreset modes are Gymnasium's: with NEXT_STEP the step after an episode's last one returns the next
    episode's first observation; with SAME_STEP the last step itself does, and the last observation and
    info are in `infos["final_obs"]` and `infos["final_info"]`; with DISABLED the caller resets, with
    `reset(options={"reset_mask": …})`. The hub resets in the same request in which the episode ends.

    When some sub-environments fail in a step, `BatchError` names them and the results of the others are
    kept. Then either call `step` again with the same actions (only those that failed are asked again), or
    reset the failed ones with a `reset_mask` and go on from what the error's `partial` returned.

    Attributes:
        env_info: What the hub says of the environment: version, splits, limits, data.
    """

    def __init__(
        self,
        hub: Hub,
        env: _wire.EnvInfo,
        settings: Settings,
        num_envs: int,
        autoreset_mode: AutoresetMode,
        seed: int | None = None,
    ) -> None:
        super().__init__()
        self._hub = hub
        self._on_close: Callable[[], None] | None = None
        self._sessions: list[Session] = []  # close() works from here on, also when the rest fails
        if num_envs < 1:
            raise ValueError(f"num_envs is {num_envs}: a vector environment has at least one")
        self.env_info = env
        self.num_envs = num_envs
        self.autoreset_mode = autoreset_mode
        self.metadata = {"render_modes": [], "autoreset_mode": autoreset_mode}
        self.single_action_space = action_space(env)
        self.single_observation_space = observation_space(env)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self._settings = settings
        self._sessions = [Session(env, settings) for _ in range(num_envs)]
        self._seeds = [Seeds(None if seed is None else seed + i) for i in range(num_envs)]
        self._observations: list[Any] = [None] * num_envs
        self._done: NDArray[np.bool_] = np.zeros(num_envs, np.bool_)
        self._kept: dict[int, tuple[bytes, Transition]] = {}  # of the step under way: action and answer
        self._unfinished = False  # the step under way failed in part, and its caller was told
        self._next: dict[int, Start] = {}  # episodes the hub has started and no step has shown yet

    @property
    def session_ids(self) -> tuple[str | None, ...]:
        """Ids of the sessions; None for one that is not open."""
        return tuple(session.id for session in self._sessions)

    @property
    def episode_seeds(self) -> tuple[int | None, ...]:
        """Seeds of the episodes that are running on the hub, those it started by itself included."""
        return tuple(session.seed for session in self._sessions)

    # -- reset --------------------------------------------------------------------------------------

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode in every sub-environment, or in those of a mask.

        Args:
            seed: Of the first sub-environment, the others have `seed + 1`, …; or one for each.
            options: As for `Env.reset`, for each of them. Besides, `"tasks"` gives one task for each
                sub-environment, and `"reset_mask"` (a boolean array) chooses those to reset.

        Returns:
            Every sub-environment's last observation, and the infos of those that were reset.

        Raises:
            BatchError: Some of them failed; `partial` is None.
            NoFreeReplica: There were not enough free replicas within `wait_s`; nothing was opened.
            InvalidOptions: The hub has fewer replicas than this has sub-environments.
        """
        if self.closed:
            raise gymnasium.error.ClosedEnvironmentError(f"{self} is closed: make another")
        rest = dict(options or {})
        chosen = self._masked(rest.pop("reset_mask", None))
        if any(self._observations[i] is None for i in range(self.num_envs) if i not in chosen):
            raise ValueError("the first reset must be of every sub-environment, without a reset_mask")
        tasks = self._each("options['tasks']", rest.pop("tasks", None))
        if tasks is not None and None in tasks:
            raise ValueError("options['tasks'] must have a task for every sub-environment")
        seeds = self._each("seed", _spread(seed, self.num_envs))
        if self._unfinished:
            self._finish_step()
        requests = {}
        for i in chosen:
            task, wire_options = start_of(
                self._settings, rest if tasks is None else {**rest, "task": tasks[i]}
            )
            seed_i = self._seeds[i].next(None if seeds is None else seeds[i])
            requests[i] = _wire.ResetRequest(seed_i, task, wire_options)
        starts, errors = self._start(requests)
        for i, (observation, _) in starts.items():
            self._observations[i], self._done[i] = observation, False
            self._next.pop(i, None)
        if errors:
            raise _results.batch_error("reset", self.env_info.name, errors)
        infos = _infos.batch({i: starts[i][1] for i in sorted(starts)}, self.num_envs)
        return self._stacked(self._observations), infos

    def _masked(self, mask: Any) -> list[int]:
        if mask is None:
            return list(range(self.num_envs))
        if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_ or mask.shape != (self.num_envs,):
            raise TypeError(f"options['reset_mask'] must be a boolean array of {self.num_envs}, got {mask!r}")
        if not mask.any():
            raise ValueError("options['reset_mask'] chooses no sub-environment to reset")
        return [int(i) for i in np.flatnonzero(mask)]

    def _each(self, name: str, values: Any) -> Any:
        if values is not None and (isinstance(values, str | Mapping) or not hasattr(values, "__len__")):
            raise TypeError(f"{name} is {values!r:.80}: give a list, one for each sub-environment")
        if values is not None and len(values) != self.num_envs:
            raise ValueError(f"{name} has {len(values)} entries for {self.num_envs} sub-environments")
        return values

    def _start(
        self, requests: Mapping[int, _wire.ResetRequest]
    ) -> tuple[dict[int, Start], dict[int, EnvHubError]]:
        """Reset the open sessions, then open those that are not."""
        starts: dict[int, Start] = {}
        errors: dict[int, EnvHubError] = {}
        items = {i: self._reset_item(i, request) for i, request in requests.items() if self._sessions[i].id}
        if items:
            limit = grace_s(self.env_info, "reset")
            for i, answer in self._answers(
                lambda some: _calls.batch_reset([items[i] for i in some], limit),
                list(items),
                _wire.ResetReply,
            ):
                try:
                    starts[i] = self._sessions[i].started(_results.success(answer))
                except SessionGone:
                    continue  # opened anew below
                except EnvHubError as error:
                    errors[i] = error
        closed = {i: request for i, request in requests.items() if self._sessions[i].id is None}
        if closed:
            starts |= self._open(closed)
        return starts, errors

    def _reset_item(self, i: int, request: _wire.ResetRequest) -> _wire.ResetItem:
        session = self._sessions[i]
        start = session.next_start()
        return _wire.ResetItem(session.id or "", request.seed, request.task, request.options, start)

    def _open(self, requests: Mapping[int, _wire.ResetRequest]) -> dict[int, Start]:
        wanted = list(requests.values())
        tasks = [request.task for request in wanted]
        call = open_call(
            self.env_info,
            self._settings,
            [request.seed or 0 for request in wanted],
            None if None in tasks else tasks,
            wanted[0].options,
        )
        starts = {}
        for i, opened in zip(requests, self._hub._open(call).sessions, strict=True):
            self._hub._heartbeat.add(opened.id, opened.idle_timeout_s, self, self._settings.heartbeat)
            starts[i] = self._sessions[i].opened(opened)
        return starts

    # -- step ---------------------------------------------------------------------------------------

    def step(self, actions: Any) -> Batch:
        """Take one step in every sub-environment, with one request.

        Returns:
            `(observations, rewards, terminations, truncations, infos)`, each batched.

        Raises:
            BatchError: Some sub-environments failed; the others' results are kept (see the class).
            NoEpisode: There was no reset yet.
            EpisodeOver: With autoreset DISABLED, some episodes have ended; nothing was stepped.
            TransportError: No answer came; call `step` again with the same actions.
            ValueError: There are not `num_envs` actions, or a repeated step has another action for a
                sub-environment that took it already.
            TypeError: `actions` is a single text or number.
        """
        encoded = self._encoded(actions)
        self._check_step(encoded)
        skipped = self._skipped()
        asked = [i for i in range(self.num_envs) if i not in self._kept and i not in skipped]
        errors = self._ask(asked, encoded)
        errors |= self._restart()
        if errors:
            self._unfinished = True
            raise _results.batch_error("step", self.env_info.name, errors, self._outcome())
        outcome = self._outcome()
        self._finish_step()
        return outcome

    def _encoded(self, actions: Any) -> list[bytes]:
        wanted = f"a list of {self.num_envs} actions is needed, one for each sub-environment"
        if isinstance(actions, str | bytes) or not isinstance(actions, Iterable):
            raise TypeError(f"{wanted}; this is one {type(actions).__name__}: {actions!r:.80}")
        encoded = [spaces.encode(action) for action in iterate(self.action_space, actions)]
        if len(encoded) != self.num_envs:
            raise ValueError(f"{wanted}; these are {len(encoded)}")
        return encoded

    def _skipped(self) -> Mapping[int, Start]:
        """Sub-environments that show a new episode in this step instead of taking it."""
        if self.autoreset_mode is not AutoresetMode.NEXT_STEP:
            return {}
        return {i: start for i, start in self._next.items() if i not in self._kept}

    def _check_step(self, encoded: Sequence[bytes]) -> None:
        if self._observations[0] is None:
            raise NoEpisode(f"{self.env_info.name} has no running episodes: call reset() first")
        for i, (action, _) in self._kept.items():
            if encoded[i] != action:
                raise ValueError(
                    f"sub-environment {i} has taken this step already, with the action "
                    f"{action.decode()[:80]}: repeat it, or reset the ones that failed (reset_mask)"
                )
        over = np.flatnonzero(self._done)
        if self.autoreset_mode is AutoresetMode.DISABLED and over.size:
            raise EpisodeOver(
                f"the episodes of sub-environments {over.tolist()} have ended: reset them with "
                "reset(options={'reset_mask': …}) before the next step"
            )

    def _ask(self, asked: Sequence[int], encoded: Sequence[bytes]) -> dict[int, EnvHubError]:
        """Step sub-environments and keep their answers; return what failed."""
        errors: dict[int, EnvHubError] = {}
        items: dict[int, _wire.StepItem] = {}
        for i in asked:
            try:
                items[i] = self._sessions[i].step_item(encoded[i])
            except EnvHubError as error:
                errors[i] = error
        if not items:
            return errors
        autoreset = self.autoreset_mode is not AutoresetMode.DISABLED
        limit = grace_s(self.env_info, "step")
        for i, answer in self._answers(
            lambda some: _calls.batch_step([items[i] for i in some], autoreset, limit),
            list(items),
            _wire.StepReply,
        ):
            try:
                self._keep(i, encoded[i], _results.success(answer))
            except EnvHubError as error:
                errors[i] = error
        return errors

    def _keep(self, i: int, action: bytes, reply: _wire.StepReply) -> None:
        session = self._sessions[i]
        self._kept[i] = (action, session.stepped(reply))
        if isinstance(reply.reset, _wire.ResetReply):
            self._next[i] = session.started(reply.reset)

    def _restart(self) -> dict[int, EnvHubError]:
        """Reset where an episode ended and the hub could not start the next; return what failed."""
        if self.autoreset_mode is AutoresetMode.DISABLED:
            return {}
        stranded = [
            i
            for i, (_, (_, _, terminated, truncated, _)) in self._kept.items()
            if (terminated or truncated) and i not in self._next
        ]
        task, options = start_of(self._settings, None)
        requests = {i: _wire.ResetRequest(self._seeds[i].next(), task, options) for i in stranded}
        starts, errors = self._start(requests)
        self._next |= starts
        return errors

    def _outcome(self) -> Batch:
        """What the step returns, from what is kept; what is missing is marked by a reward of NaN."""
        observations = list(self._observations)
        rewards = np.full(self.num_envs, np.nan)
        terminations, truncations = (np.zeros(self.num_envs, np.bool_) for _ in range(2))
        infos: dict[int, dict[str, Any]] = {}
        skipped = self._skipped()
        for i in range(self.num_envs):
            if i in skipped:
                observations[i], infos[i] = skipped[i]
                rewards[i] = 0.0
            elif i in self._kept:
                _, (observations[i], rewards[i], terminations[i], truncations[i], infos[i]) = self._kept[i]
                if self.autoreset_mode is AutoresetMode.SAME_STEP and i in self._next:
                    final = {_infos.FINAL_OBSERVATION: observations[i], "final_info": infos[i]}
                    observations[i], started = self._next[i]
                    infos[i] = {**final, **started}
        batched = _infos.batch(infos, self.num_envs)
        return self._stacked(observations), rewards, terminations, truncations, batched

    def _finish_step(self) -> None:
        """Take the step under way as shown to the caller."""
        for i in list(self._skipped()):
            self._observations[i], _ = self._next.pop(i)
        for i, (_, (observation, _, terminated, truncated, _)) in self._kept.items():
            self._observations[i], self._done[i] = observation, terminated or truncated
            if self.autoreset_mode is AutoresetMode.SAME_STEP and i in self._next:
                self._observations[i], _ = self._next.pop(i)
        self._kept.clear()
        self._unfinished = False

    def _stacked(self, observations: Sequence[Any]) -> Any:
        space = self.single_observation_space
        empty: Any = create_empty_array(space, self.num_envs)
        return concatenate(space, observations, empty)

    # -- the rest -----------------------------------------------------------------------------------

    def render(self) -> tuple[Any, ...]:
        """Draw every sub-environment, as `Env.render` does; one request for each."""
        return tuple(self._hub._send(_calls.render(session.known_id())) for session in self._sessions)

    def close_extras(self, **kwargs: Any) -> None:
        """End all sessions and give their replicas back."""
        self._hub._release([session.id for session in self._sessions if session.id is not None])
        for session in self._sessions:
            session.forget()
        if self._on_close is not None:
            self._on_close()

    def __del__(self) -> None:
        """Do nothing: Gymnasium would close, with requests amid a collection. The heartbeat does it."""

    def _answers(
        self, ask: Callable[[Sequence[int]], Call[_wire.BatchResults]], asked: Sequence[int], kind: type[T]
    ) -> Iterator[tuple[int, T | EnvHubError]]:
        """Send a batch; yield each sub-environment's own answer or error.

        Those that a hub which starts or stops could not take are asked for again, as a single call is.
        """
        call = ask(asked)
        attempts = self._hub._attempts(call)
        while True:
            waiting: dict[int, EnvHubError] = {}
            for i, answer in self._once(call, asked, kind):
                if isinstance(answer, NotReady):
                    waiting[i] = answer
                else:
                    yield i, answer
            if not waiting:
                return
            try:
                time.sleep(attempts.pause_after(next(iter(waiting.values()))))
            except NotReady:
                yield from waiting.items()
                return
            asked = list(waiting)
            call = ask(asked)

    def _once(
        self, call: Call[_wire.BatchResults], asked: Sequence[int], kind: type[T]
    ) -> Iterator[tuple[int, T | EnvHubError]]:
        results = self._hub._send(call).results
        if len(results) != len(asked):
            raise UnexpectedAnswer(f"{call.path} gave {len(results)} results for {len(asked)} items")
        for i, raw in zip(asked, results, strict=True):
            session = self._sessions[i]
            answer = _results.read(raw, kind, session.id)
            if isinstance(answer, SessionGone):
                self._hub._heartbeat.drop(session.known_id())
                session.forget()
            elif session.id is not None:
                self._hub._heartbeat.used(session.id)
            yield i, answer


def _spread(seed: int | Sequence[int | None] | None, count: int) -> Sequence[int | None] | None:
    return [seed + i for i in range(count)] if isinstance(seed, int | np.integer) else seed
