"""The echo environment: what it says back, how episodes end, and its faults in a real process."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from envhub_echo import EchoEnv
from envhub_echo.env import EchoFault
from hypothesis import given, settings
from hypothesis import strategies as st

from envhub.spec import find

FOLDER = Path(__file__).resolve().parents[3] / "env_specs" / "echo"


@given(actions=st.lists(st.text(), min_size=1, max_size=20))
@settings(derandomize=True, deadline=None)
def test_every_action_is_said_back_and_the_last_step_is_rewarded(actions: list[str]) -> None:
    env = EchoEnv(length=len(actions))
    assert env.reset(seed=1) == ("", {})
    steps = [env.step(action) for action in actions]
    assert [step[0] for step in steps] == actions
    assert [step[2] for step in steps] == [False] * (len(actions) - 1) + [True]
    assert sum(step[1] for step in steps) == steps[-1][1] == 1.0
    assert env.render() == actions[-1]


def test_length_0_never_ends() -> None:
    env = EchoEnv()
    env.reset()
    assert not any(env.step("x")[2] for _ in range(1000))


def test_a_reset_starts_over() -> None:
    env = EchoEnv(length=2)
    env.reset()
    env.step("a")
    env.reset()
    assert env.render() == ""
    assert [env.step("b")[2], env.step("b")[2]] == [False, True]


def test_a_state_continues_in_another_replica() -> None:
    first, second = EchoEnv(length=3), EchoEnv(length=3)
    first.reset()
    second.reset()
    first.step("a")
    second.set_state(first.get_state())
    assert second.render() == "a"
    assert [second.step("b"), second.step("c")] == [first.step("b"), first.step("c")]


def test_fail_on_raises_on_that_action_only() -> None:
    env = EchoEnv(fail_on="boom")
    env.reset()
    assert env.step("")[0] == ""
    assert env.step("boo")[0] == "boo"
    with pytest.raises(EchoFault, match="'boom'"):
        env.step("boom")


def run_step(setting: str) -> subprocess.Popen[str]:
    code = (
        "from envhub_echo import EchoEnv\n"
        f"env = EchoEnv({setting}='now')\n"
        "env.reset()\n"
        "env.step('ready')\n"
        "print('ready', flush=True)\n"
        "env.step('now')\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=FOLDER, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_exit_on_ends_the_process() -> None:
    with run_step("exit_on") as process:
        assert process.wait(timeout=30) == 70


def test_hang_on_never_returns_but_is_interrupted() -> None:
    with run_step("hang_on") as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.2)
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == -signal.SIGTERM


def test_stuck_on_ignores_all_but_sigkill() -> None:
    with run_step("stuck_on") as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.2)
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=0.2)
        process.kill()
        assert process.wait(timeout=30) == -signal.SIGKILL


@pytest.mark.parametrize("wrong", [{"length": -1}, {"delay_s": -0.1}])
def test_negative_settings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="must not be negative"):
        EchoEnv(**wrong)  # type: ignore[arg-type]


def test_the_spec_declares_exactly_the_settings_the_class_takes() -> None:
    EchoEnv(**find("echo").resolve().config)
    assert set(find("echo").config) == set(EchoEnv.__init__.__kwdefaults__)
