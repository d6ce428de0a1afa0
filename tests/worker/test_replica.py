"""One replica: limits, truncation, refusals, failures."""

import json
import signal
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from envhub.worker import frames
from envhub.worker.alarm import alarm
from envhub.worker.frames import FAILURE_MARK
from envhub.worker.replica import Replica

LIMITS = {"max_episode_steps": 0, "step_timeout_s": 30.0, "reset_timeout_s": 30.0, "load_timeout_s": 30.0}
TEXT = {"type": "Text", "max_length": 100}


class Refused(Exception):
    def __init__(self, code: str) -> None:
        super().__init__(f"refused: {code}")
        self.envhub_code = code


class Counter:
    """Counts its steps; the action is Python to be evaluated first, with `self` at hand."""

    built = 0
    closed = 0

    def __init__(self) -> None:
        type(self).built += 1
        self.at = -1

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        for code in (options or {}).values():
            self.run(code)
        self.at = 0
        return f"start {seed}", {"options": options}

    def step(self, action: str) -> Any:
        given = self.run(action) if action else None
        self.at += 1
        return given or (f"at {self.at}", 0.5, False, False, {})

    def run(self, code: str) -> Any:
        def refuse(code: str) -> None:
            raise Refused(code)

        return eval(code, {"self": self, "time": time, "np": np, "refuse": refuse, "exit": self.leave})

    def leave(self) -> None:
        raise SystemExit(3)

    def render(self) -> Any:
        return f"drawn {self.at}"

    def tasks(self, split: str) -> range:
        return range({"train": 10}[split])

    def get_state(self) -> int:
        return self.at

    def set_state(self, state: int) -> None:
        self.at = state

    def close(self) -> None:
        type(self).closed += 1


@pytest.fixture(autouse=True)
def the_alarm() -> Iterator[None]:
    before = signal.getsignal(signal.SIGALRM)
    alarm.install()
    Counter.built = Counter.closed = 0
    yield
    signal.raise_signal(signal.SIGALRM)  # raises if some call still counts as under way
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def replica(make: Any = Counter, **limits: float) -> Replica:
    return Replica(make, TEXT, {**LIMITS, **limits})


def started(make: Any = Counter, **limits: float) -> Replica:
    one = replica(make, **limits)
    assert reset(one)[0] == frames.DONE
    return one


def reset(one: Replica, seed: int = 1, options: dict[str, Any] | None = None) -> tuple[int, Any]:
    return told(one.reset(json.dumps({"seed": seed, "options": options or {}}).encode()))


def step(one: Replica, action: str = "") -> tuple[int, Any]:
    return told(one.step(json.dumps(action).encode()))


def told(answer: tuple[int, bytes]) -> tuple[int, Any]:
    return answer[0], json.loads(answer[1])


def code(name: str) -> int:
    return frames.ERROR_CODES[name]


def test_an_episode() -> None:
    one = replica()
    assert reset(one, seed=7, options={}) == (
        frames.DONE,
        {"observation": "start 7", "info": {"options": None}},
    )
    assert step(one) == (
        frames.OK,
        {"observation": "at 1", "reward": 0.5, "terminated": False, "truncated": False, "info": {}},
    )


def test_a_step_before_the_reset_and_after_the_end_is_refused() -> None:
    one = replica()
    assert step(one)[0] == code("no_episode")
    reset(one)
    assert step(one, "('end', 1.0, True, False, {})")[0] == frames.TERMINATED
    assert step(one)[0] == code("episode_over")
    assert reset(one)[0] == frames.DONE
    assert step(one)[0] == frames.OK


def test_the_episode_limit_truncates_and_says_so() -> None:
    one = started(max_episode_steps=2)
    assert step(one)[0] == frames.OK
    status, last = step(one)
    assert status == frames.TRUNCATED
    assert last["truncated"] and last["info"] == {"truncated_by": "max_episode_steps"}
    assert step(one)[0] == code("episode_over")


def test_an_episode_that_ends_on_the_limit_by_itself_is_not_called_truncated() -> None:
    one = started(max_episode_steps=1)
    status, last = step(one, "('end', 1.0, True, False, {})")
    assert (status, last["truncated"], last["info"]) == (frames.TERMINATED, False, {})


def test_terminated_and_truncated_at_once_are_both_told() -> None:
    status, _ = step(started(), "('end', 1.0, np.bool_(True), np.array(True), {})")
    assert status == frames.TERMINATED | frames.TRUNCATED


@pytest.mark.parametrize(("given", "sent"), [("1", 1), ("np.float32(0.25)", 0.25), ("0.1", 0.1)])
def test_rewards_are_plain_numbers(given: str, sent: float) -> None:
    assert step(started(), f"('o', {given}, False, False, {{}})")[1]["reward"] == sent


BAD_STEPS = {
    "1 / 0": "ZeroDivisionError",
    "exit()": "SystemExit",
    "('o', float('nan'), False, False, {})": "finite",
    "('o', float('inf'), False, False, {})": "finite",
    "('o', True, False, False, {})": "must be a number",
    "('o', '1', False, False, {})": "must be a number",
    "('o', None, False, False, {})": "TypeError",
    "('o', 0.0, False, {})": "step must return (observation, reward, terminated, truncated, info); it "
    "returned 4 values",
    "'seven'": "it returned one str",
    "['o', 0.0, False, False, {}]": "it returned one list",
    "('o', 0.0, 1, False, {})": "terminated must be True or False, not int 1",
    "('o', 0.0, False, None, {})": "truncated must be True or False, not NoneType None",
    "('o', 0.0, False, False, [])": "info must be a dict, not list",
    "('o', 0.0, False, False, {'held': [1, {2}]})": 'info["held"][1]: set has no JSON form',
    "('o', 0.0, False, False, {(1, 2): 3})": "info: the key (1, 2) has no JSON form",
    "([1, object()], 0.0, False, False, {})": "observation[1]: object has no JSON form",
    "(object(), 0.0, False, False, {})": "no JSON form",
    "('o', 0.0, False, False, {'a': {1, 2}})": "no JSON form",
}


@pytest.mark.parametrize("action", BAD_STEPS)
def test_a_failure_is_told_with_its_traceback_and_drops_the_object(action: str) -> None:
    one = started()
    status, error = step(one, action)
    assert status == code("environment_error")
    assert BAD_STEPS[action] in error["message"]
    assert "Traceback" in error["details"]["traceback"]
    assert Counter.closed == 1
    assert step(one)[0] == code("no_episode")
    assert reset(one)[0] == frames.DONE
    assert Counter.built == 2, "the broken object must not be used again"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("'seen'", "reset must return (observation, info); it returned one str"),
        ("'ab'", "it returned one str"),
        ("('seen', {}, 0)", "it returned 3 values"),
        ("('seen', None)", "info must be a dict, not NoneType"),
        ("('seen', {'lock': object()})", 'info["lock"]: object has no JSON form'),
    ],
)
def test_what_reset_must_return_is_told(given: str, said: str) -> None:
    class Odd(Counter):
        def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
            return eval(given)

    status, error = reset(replica(Odd))
    assert status == code("environment_error")
    assert said in error["message"]


def test_a_failure_is_one_marked_line_with_its_place_before_the_traceback(
    capfd: pytest.CaptureFixture[str],
) -> None:
    one = started()
    step(one, "1 / 0")
    first, *others = capfd.readouterr().err.splitlines()
    assert first.startswith(f"{FAILURE_MARK}step raised ZeroDivisionError: division by zero ({__file__}:")
    assert first.endswith(", in run)")
    assert others[0] == "Traceback (most recent call last):"
    assert not any(FAILURE_MARK in line or "/envhub/worker/" in line for line in others)


def test_a_result_of_the_wrong_form_points_at_the_function_that_gave_it(
    capfd: pytest.CaptureFixture[str],
) -> None:
    step(started(), "('o', 0.0, False, {})")
    line = Counter.step.__code__.co_firstlineno
    assert f"({__file__}:{line}, in step)" in capfd.readouterr().err.splitlines()[0]


@pytest.mark.parametrize("name", ["invalid_action", "invalid_options", "unknown_task"])
def test_a_refusal_changes_nothing(name: str) -> None:
    one = started()
    step(one)
    assert step(one, f"refuse({name!r})") == (code(name), {"message": f"refused: {name}", "details": {}})
    assert reset(one, options={"x": f"refuse({name!r})"})[0] == code(name)
    assert step(one)[1]["observation"] == "at 2"
    assert (Counter.built, Counter.closed) == (1, 0)


def test_an_action_outside_the_declared_space_never_reaches_the_environment() -> None:
    one = started()
    assert told(one.step(b"17"))[0] == code("invalid_action")
    assert told(one.step(b'"' + b"x" * 101 + b'"'))[0] == code("invalid_action")
    assert told(one.step(b"{"))[0] == code("invalid_action")
    assert step(one)[1]["observation"] == "at 1"


def test_a_code_of_the_environments_own_that_is_no_refusal_is_a_failure() -> None:
    assert step(started(), "refuse('session_lost')")[0] == code("environment_error")


@pytest.mark.parametrize(
    "action", ["time.sleep(60)", "[0 for i in iter(int, 1)]"], ids=["asleep", "a busy loop"]
)
def test_a_step_over_its_limit_is_interrupted(action: str) -> None:
    one = started(step_timeout_s=0.05)
    status, error = step(one, action)
    assert status == code("step_timeout")
    assert "0.05 s" in error["message"]
    assert Counter.closed == 1
    assert reset(one)[0] == frames.DONE


def test_an_except_exception_does_not_swallow_the_limit() -> None:
    class Stubborn(Counter):
        def step(self, action: str) -> Any:
            while True:
                try:
                    time.sleep(60)
                except Exception:
                    continue

    assert step(started(Stubborn, step_timeout_s=0.05))[0] == code("step_timeout")


def test_a_reset_and_a_build_over_their_limits_are_interrupted() -> None:
    one = replica(reset_timeout_s=0.05)
    assert reset(one, options={"x": "time.sleep(60)"})[0] == code("step_timeout")
    assert told(replica(lambda: time.sleep(60), load_timeout_s=0.05).make(b""))[0] == code("step_timeout")


def test_a_close_that_hangs_or_raises_is_bounded_after_a_failure() -> None:
    class Clinging(Counter):
        def close(self) -> None:
            raise ValueError("no")

    one = started(Clinging)
    assert step(one, "1 / 0")[0] == code("environment_error")
    assert reset(one)[0] == frames.DONE
    assert told(one.close())[0] == code("environment_error")
    assert reset(one)[0] == frames.DONE


def test_a_request_too_deep_to_read_is_a_failure_of_that_request_alone() -> None:
    one = started()
    deep = b'{"seed":1,"options":{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}}"
    for operation in (one.reset, one.tasks, one.set_state):
        assert operation(deep)[0] == code("environment_error")
    assert reset(one)[0] == frames.DONE


def test_rendering() -> None:
    one = started()
    assert one.render(b"") == (frames.TEXT, b"drawn 0")

    class Painter(Counter):
        picture: Any = np.zeros((2, 2, 3), np.uint8)

        def render(self) -> Any:
            return self.picture

    status, picture = started(Painter).render(b"")
    assert (status, picture[1:4]) == (frames.PNG, b"PNG")
    Painter.picture = None
    assert started(Painter).render(b"")[0] == code("not_json")
    Painter.picture = np.zeros((2, 2, 4), np.uint8)
    assert started(Painter).render(b"")[0] == code("environment_error")


def test_a_failed_rendering_does_not_end_the_episode() -> None:
    class Clumsy(Counter):
        def render(self) -> Any:
            raise RuntimeError("no canvas")

    one = started(Clumsy)
    assert one.render(b"")[0] == code("environment_error")
    assert step(one)[0] == frames.OK


def test_tasks_are_listed_in_pages() -> None:
    one = replica()
    page = told(one.tasks(b'{"split":"train","offset":8,"limit":5}'))
    assert page == (frames.DONE, {"total": 10, "tasks": [8, 9]})
    assert told(one.tasks(b'{"split":"train","offset":99,"limit":5}'))[1]["tasks"] == []
    assert one.tasks(b'{"split":"test","offset":0,"limit":5}')[0] == code("environment_error")


def test_an_environment_without_tasks_says_so() -> None:
    class Taskless:
        pass

    status, error = told(replica(Taskless).tasks(b'{"split":"train","offset":0,"limit":5}'))
    assert (status, "lists no tasks" in error["message"]) == (code("unknown_task"), True)


def test_a_state_goes_into_another_replica() -> None:
    one, other = started(), replica()
    step(one)
    status, state = told(one.get_state(b""))
    assert status == frames.DONE
    assert told(other.set_state(json.dumps(state).encode()))[0] == frames.DONE
    assert step(other)[1]["observation"] == "at 2"


def test_an_environment_may_have_no_state_to_give_as_it_stands() -> None:
    class Restless(Counter):
        def get_state(self) -> None:  # type: ignore[override]
            return None

    one = started(Restless)
    assert one.get_state(b"") == (frames.DONE, frames.NO_STATE)
    assert step(one)[1]["observation"] == "at 1"


def test_closing_releases_and_the_next_reset_builds_anew() -> None:
    one = started()
    assert told(one.close()) == (frames.DONE, None)
    assert Counter.closed == 1
    assert told(one.close()) == (frames.DONE, None)
    assert Counter.closed == 1
    assert step(one)[0] == code("no_episode")
    assert reset(one)[0] == frames.DONE
