"""A step is executed once however often it is asked for, and everybody hears the same."""

import json
from typing import Any

import pytest

from envhub.session._episode import MAX_RECORDED_STEPS

LONG_INTEGER = b"1" * 5000
DEEP = b"[" * 5000 + b"]" * 5000


async def test_a_repeat_after_the_answer_gets_the_recorded_bytes(stage: Any) -> None:
    session = (await stage.open())["id"]
    first = stage.step(session, "go", 0)
    stage.perform()
    again = stage.step(session, "go", 0)
    spaced = stage.step(session, None, 0, raw=b' "go" ')
    assert again.only == spaced.only == first.only
    assert first.good["observation"][1:] == [1, "go"]
    assert not stage.waiting


async def test_a_repeat_in_flight_joins(stage: Any) -> None:
    session = (await stage.open())["id"]
    first, again = stage.step(session, "go", 0), stage.step(session, "go", 0)
    assert len(stage.waiting) == 1
    assert not first and not again
    stage.perform()
    assert again.only == first.only


async def test_a_repeat_in_flight_written_differently_is_executed_once_too(stage: Any) -> None:
    session = (await stage.open())["id"]
    first, again = stage.step(session, "go", 0), stage.step(session, None, 0, raw=b'"\\u0067o"')
    stage.perform()
    assert again.only == first.only
    assert first.good["observation"][1] == 1


async def test_a_failure_in_flight_is_told_to_all_who_joined(stage: Any) -> None:
    session = (await stage.open())["id"]
    first, again = stage.step(session, "fail", 0), stage.step(session, "fail", 0)
    stage.perform()
    assert first.error.code == again.error.code == "environment_error"
    late = stage.step(session, "fail", 0)
    assert (late.error.code, late.error.details["cause"]) == ("episode_failed", "environment_error")


@pytest.mark.parametrize("index", [0, 2, 7])
async def test_any_other_index_is_a_conflict_that_names_both_numbers(stage: Any, index: int) -> None:
    session = (await stage.open())["id"]
    for step in range(2):
        stage.step(session, "go", step)
        stage.perform()
    wanted = 1 if index == 2 else index  # index 2 is the next one: ask for it with the last one's number
    answer = stage.step(session, "another", wanted)
    stage.perform()
    assert answer.error.code == "step_index_conflict"
    assert (answer.error.details["expected"], answer.error.details["received"]) == (2, wanted)
    for number in ("2", str(wanted)):
        assert number in answer.error.message
    assert stage.step(session, "go", 2) is not None
    stage.perform()


async def test_two_actions_for_one_index_race_and_one_conflicts(stage: Any) -> None:
    session = (await stage.open())["id"]
    first, second = stage.step(session, "left", 0), stage.step(session, "right", 0)
    stage.perform()
    assert first.good["observation"][2] == "left"
    assert second.error.code == "step_index_conflict"


@pytest.mark.parametrize("raw", [LONG_INTEGER, b'"\xff"', DEEP], ids=["long", "not UTF-8", "deep"])
async def test_a_repeat_with_an_unreadable_action_is_a_conflict(stage: Any, raw: bytes) -> None:
    session = (await stage.open())["id"]
    stage.step(session, "go", 0)
    in_flight = stage.step(session, None, 0, raw=raw)  # waits in line behind the first
    other = (await stage.open())["id"]
    stage.perform()
    assert in_flight.error.code == "step_index_conflict"
    assert stage.step(session, None, 0, raw=raw).error.code == "step_index_conflict"
    fine = stage.step(other, "go", 0)
    stage.perform()
    assert fine.good["step_index"] == 0


async def test_without_an_index_every_step_is_executed(stage: Any) -> None:
    session = (await stage.open())["id"]
    answers = [stage.step(session, "go") for _ in range(3)]
    stage.perform()
    assert [answer.good["step_index"] for answer in answers] == [0, 1, 2]


async def test_a_refused_step_leaves_the_index_where_it_was(stage: Any, monkeypatch: Any) -> None:
    session = (await stage.open())["id"]
    refused = stage.step(session, None, 0, raw=LONG_INTEGER)
    stage.perform()
    assert refused.error.code == "invalid_action"
    fine = stage.step(session, "go", 0)
    stage.perform()
    assert fine.good["step_index"] == 0


# -- episodes ---------------------------------------------------------------------------------------


async def test_the_end_and_the_reset(stage: Any) -> None:
    session = (await stage.open())["id"]
    last = stage.step(session, "end", 0)
    stage.perform()
    assert last.good["terminated"]
    assert stage.step(session, "go", 1).error.code == "episode_over"
    assert stage.step(session, "go").error.code == "episode_over"
    assert stage.step(session, "end", 0).only == last.only
    start = stage.reset(session)
    stage.perform()
    assert start.good["step_index"] == 0
    step = stage.step(session, "go", 0)
    stage.perform()
    assert step.good["observation"] == [start.good["observation"][0], 1, "go"]


async def test_autoreset_answers_with_the_next_start_and_repeats_tell_the_same(stage: Any) -> None:
    opened = await stage.open()
    session, episode = opened["id"], opened["episode_id"]
    last = stage.step(session, "end", 0, episode, autoreset=True)
    joined = stage.step(session, "end", 0, episode, autoreset=True)
    stage.perform()
    start = last.good["reset"]
    assert start["episode_id"] != episode and start["step_index"] == 0
    assert joined.only == last.only
    assert stage.step(session, "end", 0, episode, autoreset=True).only == last.only
    assert not stage.waiting
    state = stage.sessions.find(session).state(0)
    assert (state.status, state.episode_id, state.step_index) == ("running", start["episode_id"], 0)


async def test_one_step_episodes_are_told_apart_by_their_ids(stage: Any) -> None:
    opened = await stage.open(options={"length": 1})
    session, first = opened["id"], opened["episode_id"]
    one = stage.step(session, "go", 0, first, autoreset=True)
    stage.perform()
    second = one.good["reset"]["episode_id"]
    assert stage.step(session, "go", 0, first, autoreset=True).only == one.only
    two = stage.step(session, "go", 0, second, autoreset=True)
    late = stage.step(session, "go", 0, first, autoreset=True)  # while the second one's step is under way
    stage.perform()
    assert two.good["observation"][0] == one.good["reset"]["observation"][0]
    assert late.error.code == "step_index_conflict", "it must not get the second episode's answer"
    third = two.good["reset"]["episode_id"]
    assert stage.step(session, "go", 0, second, autoreset=True).only == two.only
    long_ago = stage.step(session, "go", 0, first, autoreset=True)
    assert long_ago.error.code == "step_index_conflict"
    assert long_ago.error.details["episode_id"] == third


async def test_an_autoreset_whose_reset_is_refused_still_answers_the_step(stage: Any) -> None:
    session = (await stage.open(options={"length": 1}))["id"]
    stage.sessions.find(session).history.episode.options["refuse"] = True
    last = stage.step(session, "go", 0, autoreset=True)
    stage.perform()
    assert last.good["terminated"] and "reset" not in last.good
    assert stage.step(session, "go", 1).error.code == "episode_over"


async def test_options_hold_over_an_autoreset_and_seeds_follow(stage: Any) -> None:
    opened = await stage.open(options={"length": 1, "mode": "x"}, seeds=[5])
    step = stage.step(opened["id"], "go", 0, autoreset=True)
    stage.perform()
    start = step.good["reset"]
    assert start["info"] == {"seed": start["seed"], "options": {"length": 1, "mode": "x"}}
    assert start["seed"] != 5


# -- the record -------------------------------------------------------------------------------------


async def test_the_trajectory_is_what_was_asked_and_answered(stage: Any) -> None:
    opened = await stage.open(seeds=[3])
    answers = [stage.step(opened["id"], {"move": n}, n) for n in range(3)]
    stage.perform()
    record = json.loads(__import__("msgspec").json.encode(stage.sessions.find(opened["id"]).trajectory()))
    assert (record["seed"], record["episode_id"]) == (3, opened["episode_id"])
    assert record["observation"] == opened["observation"]
    assert [step.pop("action") for step in record["steps"]] == [{"move": n} for n in range(3)]
    assert record["steps"] == [answer.good for answer in answers]


async def test_the_return_counts_steps_that_are_no_longer_recorded(stage: Any) -> None:
    total = MAX_RECORDED_STEPS + 10
    session = (await stage.open())["id"]
    for index in range(total):
        stage.step(session, "go", index)
        stage.perform()
    found = stage.sessions.find(session)
    assert found.history.episode.total_reward == total * (total + 1) / 2
    assert [step.step_index for step in found.trajectory().steps] == list(range(10, total))
