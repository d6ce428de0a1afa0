"""Opening, queueing, ending, expiring."""

import asyncio
import json
import traceback
from pathlib import Path
from typing import Any

import pytest

from envhub.record import Log, Recorder
from envhub.session import HubError, _manager, _register
from envhub_sdk._wire import BatchReset, BatchStep, OpenRequest, ResetItem, StepItem


async def refused(opening: Any) -> HubError:
    with pytest.raises(HubError) as caught:
        await opening
    return caught.value


# -- opening ----------------------------------------------------------------------------------------


async def test_opening_resets_with_seeds_and_tasks_in_order(stage: Any) -> None:
    opened = await stage.open_all(count=3, seeds=[7, 8, 9], tasks=["a", {"id": "b"}, "c"])
    assert [one["seed"] for one in opened] == [7, 8, 9]
    assert [one["info"]["options"]["task"]["id"] for one in opened] == ["a", "b", "c"]
    assert [one["step_index"] for one in opened] == [0, 0, 0]
    assert len({one["id"] for one in opened}) == 3


async def test_a_refused_reset_opens_nothing(stage: Any) -> None:
    opening = stage.open_all(count=3, tasks=["a", "nowhere", "c"])
    assert (await refused(opening)).code == "unknown_task"
    assert len(stage.free) == 4
    assert stage.sessions.all() == []


async def test_an_opener_who_leaves_in_mid_reset_leaves_nothing(stage: Any) -> None:
    opening = asyncio.ensure_future(stage.sessions.openings.open("tally", OpenRequest(count=2)))
    while not stage.waiting:
        await asyncio.sleep(0)
    opening.cancel()
    with pytest.raises(asyncio.CancelledError):
        await opening
    assert stage.sessions.all() == []
    assert len(stage.free) == 2, "a replica under way is given back when it is done"
    stage.perform()
    assert len(stage.free) == 4


async def test_opening_without_a_reset(stage: Any) -> None:
    opened = await stage.open(reset=False)
    assert "observation" not in opened and opened["step_index"] == 0
    assert stage.step(opened["id"], "go").error.code == "no_episode"
    with pytest.raises(HubError) as caught:
        stage.sessions.find(opened["id"]).trajectory()
    assert caught.value.code == "no_episode"
    assert (await refused(stage.sessions.find(opened["id"]).render())).code == "no_episode"


@pytest.mark.parametrize("wrong", [{"count": 2, "seeds": [1]}, {"count": 1, "tasks": ["a", "b"]}])
async def test_lists_of_another_length_are_malformed(stage: Any, wrong: dict[str, Any]) -> None:
    assert (await refused(stage.open_all(**wrong))).code == "malformed_request"


async def test_no_replica_and_no_environment(stage: Any) -> None:
    await stage.open_all(count=3)
    assert (await refused(stage.open_all(count=2))).code == "no_free_replica"
    assert (await refused(stage.open_all(count=9))).code == "invalid_options"
    unknown = await refused(stage.sessions.openings.open("tall", OpenRequest()))
    assert unknown.code == "unknown_env" and "tally" in unknown.message


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


async def test_options_too_deep_to_pass_on_are_refused_and_hold_nothing(stage: Any) -> None:
    deep = {"x": nested(3000)}
    assert (await refused(stage.open_all(options=deep))).code == "malformed_request"
    assert len(stage.free) == 4
    session = (await stage.open())["id"]
    assert stage.reset(session, options=deep).error.code == "malformed_request"
    step = stage.step(session, "go", 0)
    stage.perform()
    assert step.good["step_index"] == 0


# -- seeds ------------------------------------------------------------------------------------------


async def seeds_of(stage: Any, episodes: int, **request: Any) -> list[int]:
    opened = await stage.open(options={"length": 1}, **request)
    seeds = [opened["seed"]]
    for _ in range(episodes):
        reset = stage.reset(opened["id"], options={"length": 1})
        stage.perform()
        seeds.append(reset.good["seed"])
    stage.sessions.close(opened["id"])
    return seeds


async def test_one_seed_decides_all_that_follow(stage: Any) -> None:
    first, second = await seeds_of(stage, 5, seeds=[42]), await seeds_of(stage, 5, seeds=[42])
    assert first == second
    assert len(set(first)) == 6
    assert all(0 <= seed < 2**31 for seed in first)
    assert await seeds_of(stage, 5, seeds=[43]) != first


async def test_autoreset_and_reset_derive_the_same_seed(stage: Any) -> None:
    opened = await stage.open(options={"length": 1}, seeds=[42])
    step = stage.step(opened["id"], "go", 0, autoreset=True)
    stage.perform()
    assert step.good["reset"]["seed"] == (await seeds_of(stage, 1, seeds=[42]))[1]


async def test_without_a_seed_sessions_differ(stage: Any) -> None:
    opened = await stage.open_all(count=4)
    assert len({one["seed"] for one in opened}) == 4


# -- the line ---------------------------------------------------------------------------------------


async def test_what_is_asked_while_busy_is_done_in_order(stage: Any) -> None:
    session = (await stage.open())["id"]
    first = stage.step(session, "one")
    drawing = asyncio.ensure_future(stage.sessions.find(session).render())
    await asyncio.sleep(0)
    second, reset, third = stage.step(session, "two"), stage.reset(session), stage.step(session, "three")
    assert len(stage.waiting) == 1, "one operation of a session at a time"
    stage.perform()
    assert (await drawing)[1] == b"drawn 1"
    assert [one.good["step_index"] for one in (first, second, third)] == [0, 1, 0]
    assert third.good["observation"][0] == reset.good["observation"][0]


async def test_closing_under_way_answers_the_step_and_refuses_the_line(stage: Any) -> None:
    session = (await stage.open())["id"]
    under_way, in_line, resetting = stage.step(session, "a"), stage.step(session, "b"), stage.reset(session)
    stage.sessions.close(session)
    assert len(stage.free) == 3, "the replica is not given back while it works"
    assert stage.step(session, "c").error.code == "session_closed"
    stage.perform()
    assert under_way.good["step_index"] == 0
    assert in_line.error.code == resetting.error.code == "session_closed"
    assert len(stage.free) == 4
    (other,) = {one["id"] for one in await stage.open_all(count=1)}
    assert stage.step(session, "late").error.code == "session_closed"
    assert other != session


async def test_closing_while_an_autoreset_is_under_way_starts_nothing_new(stage: Any) -> None:
    session = (await stage.open())["id"]
    last = stage.step(session, "end", 0, autoreset=True)
    stage.sessions.close(session)
    stage.perform()
    assert last.good["terminated"] and "reset" not in last.good
    assert len(stage.free) == 4


async def test_a_failed_episode_needs_a_reset_and_says_why(stage: Any) -> None:
    session = (await stage.open())["id"]
    failed = stage.step(session, "fail", 0)
    stage.perform()
    assert failed.error.code == "environment_error"
    assert failed.error.details["session_survives"] is True
    assert "asked to fail" in failed.error.message
    assert stage.sessions.find(session).state(0).status == "failed"
    assert stage.step(session, "go", 0).error.code == "episode_failed"
    assert (await refused(stage.sessions.find(session).render())).code == "episode_failed"
    stage.reset(session)
    stage.perform()
    step = stage.step(session, "go", 0)
    stage.perform()
    assert step.good["step_index"] == 0


# -- batches ----------------------------------------------------------------------------------------


async def test_one_bad_session_never_spoils_the_others_of_a_batch(stage: Any) -> None:
    from msgspec import Raw

    first, second = (one["id"] for one in await stage.open_all(count=2))
    items = [
        StepItem(first, Raw(b'"go"'), 0),
        StepItem("s-nobody", Raw(b'"go"'), 0),
        StepItem(second, Raw(b'"fail"'), 0),
        StepItem(first, Raw(b'"go"'), 5),
        StepItem(first, Raw(b"1" * 5000), 0),
    ]
    batch = asyncio.ensure_future(stage.sessions.step_batch(BatchStep(items)))
    await asyncio.sleep(0)
    stage.perform()
    results = json.loads(await batch)["results"]
    codes = [result.get("error", {}).get("code") for result in results]
    assert codes == [
        None,
        "unknown_session",
        "environment_error",
        "step_index_conflict",
        "step_index_conflict",
    ]
    again = asyncio.ensure_future(
        stage.sessions.reset_batch(BatchReset([ResetItem(second), ResetItem("s-nobody")]))
    )
    await asyncio.sleep(0)
    stage.perform()
    resets = json.loads(await again)["results"]
    assert resets[0]["step_index"] == 0 and resets[1]["error"]["code"] == "unknown_session"


async def test_an_empty_batch_is_empty(stage: Any) -> None:
    assert json.loads(await stage.sessions.step_batch(BatchStep([]))) == {"results": []}


# -- ends -------------------------------------------------------------------------------------------


async def test_an_idle_session_expires_and_a_busy_or_renewed_one_does_not(
    make_stage: Any, eventually: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_manager, "SWEEP_S", 0.01)
    stage = make_stage(4)
    idle, busy, kept = (one["id"] for one in await stage.open_all(count=3, idle_timeout_s=0.2))
    patient = (await stage.open(idle_timeout_s=1000))["id"]
    sweeping = asyncio.ensure_future(stage.sessions.expire_idle())
    step = stage.step(busy, "slow")

    def idle_is_gone() -> bool:
        stage.sessions.find(kept)
        return all(one.id != idle for one in stage.sessions.all())

    await eventually(idle_is_gone)
    assert stage.step(idle, "go").error.code == "session_expired"
    assert "0.2 s" in stage.step(idle, "go").error.message
    stage.perform()
    assert step.good["step_index"] == 0
    for _ in range(3):  # sweeps: the end of a slow step counts as use
        await asyncio.sleep(0.01)
    assert {one.id for one in stage.sessions.all()} == {busy, kept, patient}
    await eventually(lambda: {one.id for one in stage.sessions.all()} == {patient})
    assert len(stage.free) == 3
    sweeping.cancel()


async def test_time_in_which_the_hub_stood_still_is_not_idle_time(
    stage: Any, eventually: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_manager, "SWEEP_S", 0.01)
    loop, stood_s = asyncio.get_running_loop(), 0.0
    monkeypatch.setattr(stage.sessions, "_clock", lambda: loop.time() + stood_s)
    session = stage.sessions.get((await stage.open(idle_timeout_s=100))["id"])
    used = session.last_used
    sweeping = asyncio.ensure_future(stage.sessions.expire_idle())
    await asyncio.sleep(0)  # it has begun
    stood_s = 1000.0
    await eventually(lambda: session.last_used > used)
    assert session.last_used - used <= loop.time() + stood_s - used
    assert stage.sessions.all() == [session]
    assert session.expires_at > loop.time() + stood_s
    sweeping.cancel()


async def test_ends_are_remembered_for_a_while(stage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_register, "REMEMBERED_ENDS", 2)
    ids = []
    for _ in range(3):
        ids.append((await stage.open())["id"])
        stage.sessions.close(ids[-1])
        stage.sessions.close(ids[-1])  # fine when it is gone already
    assert stage.step(ids[0], "go").error.code == "unknown_session"
    assert [stage.step(one, "go").error.code for one in ids[1:]] == ["session_closed"] * 2
    assert stage.sessions.counts.ended["tally", "session_closed"] == 3


async def test_hearing_of_an_end_a_thousand_times_keeps_nothing(stage: Any) -> None:
    session = (await stage.open())["id"]
    stage.sessions.close(session)
    for _ in range(1000):
        with pytest.raises(HubError) as caught:
            stage.sessions.find(session)
    assert len(traceback.extract_tb(caught.value.__traceback__)) < 5
    assert stage.sessions._ended[session][1].__traceback__ is None


async def test_two_thousand_sessions_leave_only_what_is_remembered(stage: Any) -> None:
    for _ in range(500):
        for opened in await stage.open_all(count=4):
            stage.sessions.close(opened["id"])
    assert stage.sessions.all() == []
    assert len(stage.free) == 4
    assert len(stage.sessions._ended) == 2000


async def test_when_the_hub_stops_every_session_ends(stage: Any) -> None:
    ids = [one["id"] for one in await stage.open_all(count=2)]
    stage.sessions.close_all()
    assert {stage.step(one, "go").error.code for one in ids} == {"session_closed"}
    assert "hub stopped" in stage.step(ids[0], "go").error.message


async def test_a_close_that_a_stopped_hub_would_forget_is_not_taken(stage: Any, tmp_path: Path) -> None:
    """The next hub goes on with the session, so that one must be told."""
    stage.sessions.recorder = Recorder(state=Log(tmp_path))
    session = (await stage.open())["id"]
    stage.sessions.close_all()
    with pytest.raises(HubError) as caught:
        stage.sessions.close(session)
    assert caught.value.code == "not_ready"
    stage.sessions.close("s-unknown")


async def test_a_session_that_goes_on_has_the_quarter_that_may_be_unnoted(
    make_stage: Any, tmp_path: Path
) -> None:
    stage = make_stage(2, state=tmp_path)
    session = (await stage.open(idle_timeout_s=1000))["id"]
    after = await stage.killed()
    resumed = after.sessions.get(session)
    assert resumed.expires_at - resumed.last_used == pytest.approx(1250), "its last use may be later"
    after.sessions.find(session)
    assert resumed.expires_at - resumed.last_used == pytest.approx(1000)
