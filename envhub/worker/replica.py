"""One live environment object and the rules around it: limits, refusals, failures.

Every call answers with a status of `frames` and a payload; no exception of the environment gets past
this module. After a failure the object is closed and dropped, and the next reset builds a new one, so a
broken episode can't leak into the next.
"""

from __future__ import annotations

import contextlib
import json
import sys
from typing import Any, Callable, Optional

from . import codec, frames
from .alarm import StepTimeout, alarm
from .failures import Failure, refusal

Answer = tuple[int, bytes]


class _NoTasks(Exception):
    envhub_code = "unknown_task"


class Replica:
    """One environment object in one slot of a worker.

    Args:
        make: Builds a new environment object.
        action_space: The action space as the spec declares it, or None to use the object's own.
        limits: `max_episode_steps` (0: none), `step_timeout_s`, `reset_timeout_s`, `load_timeout_s`.
    """

    def __init__(
        self, make: Callable[[], Any], action_space: Optional[dict[str, Any]], limits: dict[str, float]
    ) -> None:
        self._make = make
        self._declared = action_space
        self._max_steps = int(limits["max_episode_steps"])
        self._step_limit = limits["step_timeout_s"]
        self._reset_limit = limits["reset_timeout_s"]
        self._load_limit = limits["load_timeout_s"]
        self._env: Any = None
        self._parse: Callable[[bytes], Any] = codec.action_parser(None, None)
        self._steps = -1  # steps taken in the episode; -1: no episode yet
        self._over = False

    @property
    def env(self) -> Any:
        """The environment object, built if need be."""
        if self._env is None:
            self._env = self._make()
            self._parse = codec.action_parser(self._declared, getattr(self._env, "action_space", None))
        return self._env

    # -- operations ---------------------------------------------------------------------------------

    def make(self, payload: bytes) -> Answer:
        """Builds the environment object."""

        def call() -> None:
            self.env  # noqa: B018  the property builds it

        return self._guard(self._load_limit, "building the environment", call)

    def reset(self, payload: bytes) -> Answer:
        """Starts an episode."""

        def call() -> dict[str, Any]:
            request = json.loads(payload)
            options = request["options"] or None
            result = self.env.reset(seed=request["seed"], options=options)
            if not isinstance(result, tuple) or len(result) != 2:
                raise TypeError(f"reset must return (observation, info); it returned {_count(result)}")
            observation, info = result
            _require_dict(info)
            self._steps, self._over = 0, False
            return {"observation": observation, "info": info}

        return self._guard(self._reset_limit, "reset", call)

    def step(self, payload: bytes) -> Answer:
        """Takes one step; the hot path, so written out."""
        if self._steps < 0:
            return _error("no_episode", "the replica has no episode: reset first")
        if self._over:
            return _error("episode_over", "the episode has ended: reset first")
        try:
            try:
                action = self._parse(payload)
                alarm.start(self._step_limit)
                result = self._env.step(action)
            finally:
                alarm.stop()
            if not isinstance(result, tuple) or len(result) != 5:
                raise TypeError(
                    "step must return (observation, reward, terminated, truncated, info); "
                    f"it returned {_count(result)}"
                )
            observation, reward, terminated, truncated, info = result
            if type(reward) is not float:
                reward = _number(reward)
            if reward - reward != 0.0:
                raise ValueError(f"the reward is {reward}: it must be a finite number")
            if type(terminated) is not bool:
                terminated = _flag("terminated", terminated)
            if type(truncated) is not bool:
                truncated = _flag("truncated", truncated)
            if type(info) is not dict:
                _require_dict(info)
            self._steps += 1
            if self._steps == self._max_steps and not terminated and not truncated:
                truncated = True
                info = {**info, "truncated_by": "max_episode_steps"}
            body = codec.dump_transition(observation, reward, terminated, truncated, info)
        except BaseException as error:
            return self._failure(error, "step", self._step_limit)
        self._over = terminated or truncated
        return terminated * frames.TERMINATED + truncated * frames.TRUNCATED, body

    def render(self, payload: bytes) -> Answer:
        """Draws the environment as text or as a picture."""
        try:
            with alarm.limit(self._step_limit):
                picture = self.env.render()
            if isinstance(picture, str):
                return frames.TEXT, picture.encode("utf-8", "replace")
            if getattr(picture, "ndim", None) == 3:
                return frames.PNG, codec.png(picture)
            return _error("not_json", f"render() gave {type(picture).__name__}, neither text nor a picture")
        except (NotImplementedError, AttributeError) as error:
            return _error("not_json", f"this environment draws nothing: {error}")
        except BaseException as error:
            return self._failure(error, "render", self._step_limit, fatal=False)

    def describe(self, describe: Callable[[Any], dict[str, Any]]) -> Answer:
        """Answers what `describe` says of the environment object."""
        return self._guard(self._load_limit, "describing it", lambda: describe(self.env), fatal=False)

    def tasks(self, payload: bytes) -> Answer:
        """Lists a page of a split's tasks."""

        def call() -> dict[str, Any]:
            request = json.loads(payload)
            if not hasattr(self.env, "tasks"):
                raise _NoTasks("this environment lists no tasks; reset it with a seed")
            listed = self.env.tasks(request["split"])
            page = listed[request["offset"] : request["offset"] + request["limit"]]
            return {"total": len(listed), "tasks": list(page)}

        return self._guard(self._reset_limit, "tasks", call, fatal=False)

    def get_state(self, payload: bytes) -> Answer:
        """Takes the environment's native snapshot; null where it has none to give as it stands."""

        def call() -> Optional[dict[str, Any]]:
            state = self.env.get_state()
            return None if state is None else {"state": state, "steps": self._steps, "over": self._over}

        return self._guard(self._reset_limit, "get_state", call, fatal=False)

    def set_state(self, payload: bytes) -> Answer:
        """Restores a native snapshot."""

        def call() -> None:
            request = json.loads(payload)
            self.env.set_state(request["state"])
            self._steps, self._over = request["steps"], request["over"]

        return self._guard(self._reset_limit, "set_state", call)

    def close(self, payload: bytes = b"") -> Answer:
        """Closes the environment object; the next reset builds a new one."""
        env, self._env, self._steps, self._over = self._env, None, -1, False
        try:
            if env is not None and hasattr(env, "close"):
                with alarm.limit(self._step_limit):
                    env.close()
        except BaseException as error:
            return self._failure(error, "close", self._step_limit)
        return frames.DONE, b"null"

    # -- failures -----------------------------------------------------------------------------------

    def _guard(self, limit: float, name: str, call: Callable[[], Any], fatal: bool = True) -> Answer:
        try:
            with alarm.limit(limit):
                result = call()
            return frames.DONE, codec.dump(result)
        except BaseException as error:
            return self._failure(error, name, limit, fatal)

    def _failure(self, error: BaseException, name: str, limit: float, fatal: bool = True) -> Answer:
        """Turns an exception of the environment into an answer; a fatal one ends its object."""
        code = refusal(error)
        if code:
            return _error(code, str(error))
        env = getattr(self._env, "unwrapped", self._env)
        failure = Failure(error, getattr(type(env), name, None))
        if isinstance(error, StepTimeout):
            message = f"{name} took longer than its limit of {limit:g} s"
            answer = _error("step_timeout", message)
        else:
            message = f"{name} raised {type(error).__name__}: {error}"
            answer = _error(
                "environment_error", message, {"type": type(error).__name__, "traceback": failure.trace}
            )
        _log(message, failure)
        if fatal:
            env, self._env, self._steps = self._env, None, -1
            with contextlib.suppress(BaseException), alarm.limit(1.0):
                env.close()
        return answer


def _number(reward: Any) -> float:
    """A reward as a plain number; ints stay ints, since they print differently."""
    if type(reward) is int:
        float(reward)  # raises for one that no float can hold
        return reward
    if isinstance(reward, bool) or isinstance(reward, str):
        raise TypeError(f"the reward is {reward!r}: it must be a number")
    return float(reward)


def _count(result: Any) -> str:
    """What came back in place of a tuple of the right length."""
    return f"{len(result)} values" if isinstance(result, tuple) else f"one {type(result).__name__}"


def _flag(name: str, value: Any) -> bool:
    """A NumPy truth value as a plain one."""
    if getattr(getattr(value, "dtype", None), "kind", "") == "b" and value.ndim == 0:
        return bool(value)
    raise TypeError(f"{name} must be True or False, not {type(value).__name__} {value!r:.80}")


def _require_dict(info: Any) -> None:
    if not isinstance(info, dict):
        raise TypeError(f"info must be a dict, not {type(info).__name__}")


def _log(message: str, failure: Failure) -> None:
    line = " ".join(message.split())
    where = f" ({failure.place})" if failure.place else ""
    with contextlib.suppress(OSError):  # nobody listens any more
        print(f"{frames.FAILURE_MARK}{line:.1000}{where}\n{failure.trace}", file=sys.stderr, flush=True)


def _error(code: str, message: str, details: Optional[dict[str, Any]] = None) -> Answer:
    return frames.ERROR_CODES[code], codec.dump({"message": message, "details": details or {}})
