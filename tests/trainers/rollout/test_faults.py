"""Counting faults, stopping, and what a masked sample does to its group."""

import asyncio
import pickle

import pytest

from envhub_sdk import SessionLost, StepTimeout, Unauthorized, UnknownTask
from envhub_trainers._faults import FEWEST_SAMPLES, Faults, RunStopped
from envhub_trainers._groups import Groups
from envhub_trainers._rollout import EngineFailed


def test_faults_are_counted_by_code_and_reported():
    faults = Faults(max_masked_share=0.25, window=64)
    faults.happened(SessionLost("gone"), "http://one")
    faults.happened(SessionLost("gone"), "http://one")
    faults.happened(StepTimeout("slow"), "http://one")
    faults.happened(EngineFailed("dead"), "http://two")
    faults.happened(ZeroDivisionError("ours"), "http://two")
    faults.finished(masked=True)
    faults.finished(masked=False)
    report = faults.report()
    assert "samples 2, of these masked 1" in report
    assert "session_lost 2" in report and "engine_failed 1" in report and "ZeroDivisionError 1" in report
    assert report.count("http://one: session_lost: gone") == 1


@pytest.mark.parametrize("error", [Unauthorized("no token"), UnknownTask("no such task")])
def test_what_can_never_succeed_stops_the_run_at_once(error):
    faults = Faults(max_masked_share=1.0, window=64)
    with pytest.raises(RunStopped, match=str(error)):
        faults.happened(error, "http://one")


def masked_until_it_stops(faults, pattern):
    for number, masked in enumerate(pattern):
        try:
            faults.finished(masked=masked)
        except RunStopped as stop:
            return number + 1, str(stop)
    return None, ""


def test_too_many_masked_samples_stop_the_run_with_a_report():
    faults = Faults(max_masked_share=0.25, window=64)
    faults.happened(SessionLost("gone"), "http://one")
    stopped, report = masked_until_it_stops(faults, [True] * 100)
    assert stopped == FEWEST_SAMPLES // 4 + 1
    assert "session_lost 1" in report and "max_masked_share" in report and "resume" in report


def test_a_share_that_is_allowed_never_stops_it():
    faults = Faults(max_masked_share=0.25, window=64)
    assert masked_until_it_stops(faults, [False, False, False, True] * 100) == (None, "")
    assert faults.samples == 400 and faults.masked == 100


def test_only_the_latest_samples_count():
    faults = Faults(max_masked_share=0.5, window=40)
    good, bad = [False] * 1000, [True] * 40
    stopped, _ = masked_until_it_stops(faults, good + bad)
    assert stopped == 1021


def test_a_share_of_one_never_stops_it():
    faults = Faults(max_masked_share=1.0, window=64)
    assert masked_until_it_stops(faults, [True] * 1000) == (None, "")


def test_a_stop_can_be_sent_to_another_process():
    assert str(pickle.loads(pickle.dumps(RunStopped("report")))) == "report"


async def test_a_masked_sample_takes_the_mean_of_the_others_when_they_are_done():
    groups, shared = Groups(), object()
    members = [groups.join(shared, "task") for _ in range(3)]
    assert members[0] is members[1] is members[2]
    members[0].done(None)
    mean = asyncio.create_task(members[0].mean())
    members[1].done((1.0, 0.5))
    await asyncio.sleep(0)
    assert not mean.done()
    members[2].done((0.0, 0.0))
    assert await mean == (0.5, 0.25)
    rewards = [0.5, 1.0, 0.0]
    assert sum(rewards) / 3 == sum([1.0, 0.0]) / 2  # the mean of the group is that of the others


async def test_groups_are_told_apart_and_forgotten():
    groups, shared = Groups(), object()
    one, other, third = groups.join(shared, "a"), groups.join(shared, "b"), groups.join(object(), "a")
    assert len({id(one), id(other), id(third)}) == 3
    one.done(None)
    groups.leave(one, "a")
    assert await one.mean() == (0.0, 0.0)
    assert groups.join(shared, "a") is not one
    assert groups.join(shared, "b") is other
