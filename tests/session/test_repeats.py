"""Resets, restores, opens and forks that are asked for again, late or at the same time."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from envhub.session import HubError
from envhub_sdk._wire import ForkRequest, OpenRequest

NAME = "a-random-name-of-a-request"


async def finished(stage: Any, *asked: Any) -> list[Any]:
    """The outcomes of coroutines, with the stage performing what they wait for."""
    tasks = [asyncio.ensure_future(one) for one in asked]
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0)
        stage.perform()
    return [task.exception() or json.loads(task.result()) for task in tasks]


def facts(opened: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in opened.items() if name != "expires_at"}


# -- starts -----------------------------------------------------------------------------------------


async def test_a_numbered_reset_is_executed_once(stage: Any) -> None:
    session = (await stage.open())["id"]
    first = stage.reset(session, seed=7, start_index=1)
    twin = stage.reset(session, seed=7, start_index=1)
    stage.perform()
    late = stage.reset(session, seed=7, start_index=1)
    assert first.only == twin.only == late.only
    assert not stage.waiting
    step = stage.step(session, "go", 0, first.good["episode_id"])
    stage.perform()
    assert stage.reset(session, seed=7, start_index=1).only == first.only
    assert stage.sessions.find(session).history.episode.next_index == 1
    assert step.good["observation"] == [first.good["observation"][0], 1, "go"]


async def test_an_overtaken_reset_is_refused_and_changes_nothing(stage: Any) -> None:
    session = (await stage.open())["id"]
    for number in (1, 5):  # numbers may be left out
        stage.reset(session, seed=number, start_index=number)
        stage.perform()
    episode = stage.sessions.find(session).history.episode
    for seed, number in ((1, 1), (9, 5)):
        error = stage.reset(session, seed=seed, start_index=number).error
        assert error.code == "step_index_conflict"
        assert (error.details["last"], error.details["received"]) == (5, number)
    assert stage.sessions.find(session).history.episode is episode
    stage.reset(session, seed=9)
    stage.perform()
    assert stage.sessions.find(session).history.episode is not episode


async def test_a_refused_reset_may_be_asked_for_again_under_its_number(stage: Any) -> None:
    session = (await stage.open())["id"]
    for options in ({"refuse": True}, {"refuse": True}, {}):
        answers = stage.reset(session, seed=1, options=options, start_index=1)
        stage.perform()
        assert isinstance(answers.only, HubError) == bool(options)


async def test_a_numbered_reset_is_executed_once_whichever_hub_is_asked(
    make_stage: Any, tmp_path: Path
) -> None:
    stage = make_stage(state=tmp_path)
    session = (await stage.open())["id"]
    first = stage.reset(session, seed=7, options={"length": 1}, start_index=2)
    stage.perform()
    for _ in range(3):  # by its event, and by what is left of it in a compacted log
        stage = await stage.killed()
        assert stage.reset(session, seed=7, options={"length": 1}, start_index=2).only == first.only
        assert stage.reset(session, seed=8, start_index=2).error.code == "step_index_conflict"
        assert stage.reset(session, seed=7, start_index=1).error.code == "step_index_conflict"
        stage.step(session, "go", 0, autoreset=True)  # starts episodes that have no number
        stage.perform()
    assert stage.sessions.find(session).history.episode.next_index == 0


async def test_a_numbered_restore_is_executed_once_whichever_hub_is_asked(
    make_stage: Any, tmp_path: Path
) -> None:
    stage = make_stage(state=tmp_path)
    session = (await stage.open(seeds=[3]))["id"]
    stage.step(session, "one", 0)
    stage.perform()
    snapshot = json.loads(await stage.sessions.points.snapshot(session))["snapshot_id"]
    (first,) = await finished(stage, stage.sessions.points.restore(session, snapshot, 1))
    stage.step(session, "two", 1)
    stage.perform()
    for _ in range(2):
        stage = await stage.killed()
        (again,) = await finished(stage, stage.sessions.points.restore(session, snapshot, 1))
        assert again == first
        assert stage.sessions.find(session).history.episode.next_index == 2


# -- opens ------------------------------------------------------------------------------------------


async def test_an_open_that_is_sent_again_gets_the_same_sessions(stage: Any) -> None:
    request = OpenRequest(count=2, seeds=[1, 2], request_id=NAME)
    first, second = await finished(stage, *(stage.sessions.openings.open("tally", request) for _ in range(2)))
    (third,) = await finished(stage, stage.sessions.openings.open("tally", request))
    assert len(stage.free) == 2
    for other in (second, third):
        assert list(map(facts, other["sessions"])) == list(map(facts, first["sessions"]))
    (other,) = await finished(
        stage, stage.sessions.openings.open("tally", OpenRequest(count=2, request_id=NAME[::-1]))
    )
    assert not stage.free
    assert not {one["id"] for one in other["sessions"]} & {one["id"] for one in first["sessions"]}


async def test_an_open_without_a_reset_is_found_again_too(stage: Any) -> None:
    request = OpenRequest(reset=False, request_id=NAME)
    first, second = [
        (await finished(stage, stage.sessions.openings.open("tally", request)))[0] for _ in range(2)
    ]
    assert list(map(facts, first["sessions"])) == list(map(facts, second["sessions"]))
    assert len(stage.free) == 3


async def test_an_open_that_failed_is_tried_anew_and_one_that_was_closed_is_not(stage: Any) -> None:
    refused = OpenRequest(options={"refuse": True}, request_id=NAME)
    for _ in range(2):
        (error,) = await finished(stage, stage.sessions.openings.open("tally", refused))
        assert error.code == "unknown_task" and len(stage.free) == 4
    (opened,) = await finished(stage, stage.sessions.openings.open("tally", OpenRequest(request_id=NAME)))
    stage.sessions.close(opened["sessions"][0]["id"])
    (error,) = await finished(stage, stage.sessions.openings.open("tally", OpenRequest(request_id=NAME)))
    assert error.code == "session_closed" and len(stage.free) == 4


async def test_an_open_whose_sender_has_left_does_not_keep_the_next_one(stage: Any) -> None:
    request = OpenRequest(request_id=NAME)
    left = asyncio.ensure_future(stage.sessions.openings.open("tally", request))
    again = asyncio.ensure_future(stage.sessions.openings.open("tally", request))
    await asyncio.sleep(0)
    assert stage.waiting
    left.cancel()
    with pytest.raises(asyncio.CancelledError):
        await left
    (opened,) = await finished(stage, again)
    stage.perform()
    assert [one.id for one in stage.sessions.all()] == [opened["sessions"][0]["id"]]
    assert len(stage.free) == 3


async def test_a_fork_that_is_sent_again_gets_the_same_sessions(stage: Any) -> None:
    opened = await stage.open(seeds=[1])
    request = ForkRequest(count=2, request_id=NAME)
    replies = await finished(stage, *(stage.sessions.points.fork(opened["id"], request) for _ in range(2)))
    assert list(map(facts, replies[0]["sessions"])) == list(map(facts, replies[1]["sessions"]))
    assert len(stage.sessions.all()) == 3
