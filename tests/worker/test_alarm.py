import signal
import time
from collections.abc import Iterator

import pytest

from envhub.worker.alarm import StepTimeout, alarm

LONG_S = 30.0
SHORT_S = 0.05


@pytest.fixture(autouse=True)
def the_alarm() -> Iterator[None]:
    before = signal.getsignal(signal.SIGALRM)
    alarm.install()
    yield
    alarm.stop()
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def work_until(deadline: float) -> None:
    while time.monotonic() < deadline:
        pass


def test_a_call_that_takes_too_long_is_interrupted():
    with pytest.raises(StepTimeout), alarm.limit(SHORT_S):
        work_until(time.monotonic() + LONG_S)


def test_an_ordinary_except_does_not_swallow_it():
    with pytest.raises(StepTimeout), alarm.limit(SHORT_S):
        try:
            work_until(time.monotonic() + LONG_S)
        except Exception:
            pytest.fail("the environment swallowed its timeout")


def test_the_timer_of_a_call_that_returned_does_not_interrupt_the_next():
    with alarm.limit(SHORT_S):
        pass
    with alarm.limit(LONG_S):
        work_until(time.monotonic() + 2 * SHORT_S)


def test_after_firing_early_the_timer_is_set_for_the_call_under_way():
    with alarm.limit(SHORT_S):
        pass
    with pytest.raises(StepTimeout), alarm.limit(3 * SHORT_S):
        work_until(time.monotonic() + LONG_S)


def test_a_shorter_limit_is_not_held_back_by_a_longer_timer():
    with alarm.limit(LONG_S):
        pass
    with pytest.raises(StepTimeout), alarm.limit(SHORT_S):
        work_until(time.monotonic() + LONG_S)


def test_between_calls_a_ring_does_nothing():
    with alarm.limit(LONG_S):
        pass
    signal.raise_signal(signal.SIGALRM)


def test_a_timer_that_the_environment_took_away_is_set_again():
    with alarm.limit(SHORT_S):
        signal.alarm(1)  # as code does that limits its own time, and then takes that back
        signal.alarm(0)
    with alarm.limit(LONG_S):
        work_until(time.monotonic() + 2 * SHORT_S)
    with pytest.raises(StepTimeout), alarm.limit(SHORT_S):
        work_until(time.monotonic() + LONG_S)
