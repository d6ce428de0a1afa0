"""Snapshots of a hub with a state: the next one has them."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from envhub.session import CALLER, Caller, HubError, _points, _snapshots, await_saved, resume


async def taken_at(stage: Any, steps: int) -> str:
    """A snapshot of a session that is closed then."""
    session = (await stage.open(seeds=[3]))["id"]
    for index in range(steps):
        stage.step(session, f"{index}\n", index)
        stage.perform()
    taking = asyncio.ensure_future(stage.sessions.points.snapshot(session))
    await stage_done(stage, taking)
    stage.sessions.close(session)
    snapshot: str = json.loads(taking.result())["snapshot_id"]
    return snapshot


async def stage_done(stage: Any, task: asyncio.Future[Any]) -> None:
    while not task.done():
        await asyncio.sleep(0)
        stage.perform()


async def restored(stage: Any, snapshot: str) -> dict[str, Any]:
    session = (await stage.open())["id"]
    going = asyncio.ensure_future(stage.sessions.points.restore(session, snapshot))
    await stage_done(stage, going)
    point: dict[str, Any] = json.loads(going.result())
    stage.step(session, "on")
    stage.perform()
    point["trace"] = json.loads(stage.sessions.find(session).history.episode._steps[-1][1])["info"]["trace"]
    stage.sessions.close(session)
    return {name: point[name] for name in ("observation", "info", "step_index", "seed", "trace")}


@pytest.mark.parametrize("native", [False, True])
async def test_a_snapshot_outlives_the_hub(
    make_stage: Any, native_tally: Any, tmp_path: Path, native: bool
) -> None:
    stage = make_stage(state=tmp_path, **({"env": native_tally} if native else {}))
    snapshots = [await taken_at(stage, steps) for steps in (0, 3)]
    points = [await restored(stage, snapshot) for snapshot in snapshots]
    assert [point["step_index"] for point in points] == [0, 3]
    for _ in range(2):
        stage = await stage.killed()
        assert [await restored(stage, snapshot) for snapshot in snapshots] == points


async def test_a_compacted_log_keeps_the_newest_snapshots(
    make_stage: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = make_stage(state=tmp_path)
    old, new = [await taken_at(stage, 3) for _ in range(2)]
    stage = await stage.killed()
    lines = [len(line) for line in stage.sessions.points.lines()]
    monkeypatch.setattr(_points, "SAVED_BYTES", max(lines))
    stage = await (await stage.killed()).killed()
    assert (await restored(stage, new))["step_index"] == 3
    with pytest.raises(HubError, match="more in it than is kept"):
        await restored(stage, old)


async def test_a_snapshot_that_is_of_no_use_any_more_says_why(make_stage: Any, tmp_path: Path) -> None:
    stage = make_stage(state=tmp_path)
    snapshot = await taken_at(stage, 1)
    stage.sessions.recorder.close()
    changed = make_stage(state=tmp_path)
    changed.description["data"]["digest"] = "sha256:1"
    await_saved(changed.sessions)
    with pytest.raises(HubError) as waits:
        await restored(changed, snapshot)
    assert waits.value.code == "not_ready"
    await resume(changed.sessions, asyncio.sleep(0))
    with pytest.raises(HubError, match="data_digest was sha256:0 and is sha256:1") as gone:
        await restored(changed, snapshot)
    assert gone.value.code == "unknown_snapshot"


async def test_another_ones_snapshot_stays_another_ones(make_stage: Any, tmp_path: Path) -> None:
    ann = CALLER.set(Caller("ann"))
    stage = make_stage(state=tmp_path)
    snapshot = await taken_at(stage, 1)
    stage = await stage.killed()
    assert (await restored(stage, snapshot))["step_index"] == 1
    bob = CALLER.set(Caller("bob"))
    with pytest.raises(HubError, match="it never was"):
        await restored(stage, snapshot)
    CALLER.reset(bob)
    CALLER.reset(ann)


async def test_what_has_no_state_to_give_now_is_saved_as_its_record(
    make_stage: Any, native_tally: Any
) -> None:
    class Restless(native_tally):  # type: ignore[misc]
        def get_state(self) -> Any:
            return super().get_state() if self.count % 2 else None

    stage = make_stage(env=Restless)
    session = (await stage.open(seeds=[3]))["id"]
    for index, kind in enumerate(["replay", "native", "replay"]):
        taking = asyncio.ensure_future(stage.sessions.points.snapshot(session))
        await stage_done(stage, taking)
        told = json.loads(taking.result())
        assert (told["kind"], told["step_index"]) == (kind, index)
        resets = Restless.resets
        point = await restored(stage, told["snapshot_id"])
        assert point["observation"][1] == point["step_index"] == index
        assert Restless.resets == resets + 1 + (index == 0)  # one by opening the session; 2 goes on from 1
        stage.step(session, "on")
        stage.perform()


async def test_what_has_no_state_now_and_can_not_be_replayed_is_not_saved(
    make_stage: Any, native_tally: Any
) -> None:
    class Never(native_tally):  # type: ignore[misc]
        def get_state(self) -> Any:
            return None

    stage = make_stage(env=Never, replayable=False)
    session = (await stage.open(seeds=[3]))["id"]
    taking = asyncio.ensure_future(stage.sessions.points.snapshot(session))
    with pytest.raises(HubError, match="no state to give now") as refused:
        await stage_done(stage, taking)
        taking.result()
    assert refused.value.code == "not_implemented"
    answer = stage.step(session, "on")
    stage.perform()
    assert answer.good["observation"] == [3, 1, "on"]


@pytest.mark.parametrize("replayable", [True, False])
async def test_a_state_that_can_not_be_restored_is_replaced_by_a_replay_of_all_steps(
    make_stage: Any, native_tally: Any, replayable: bool
) -> None:
    class Forgetful(native_tally):  # type: ignore[misc]
        def set_state(self, state: Any) -> None:
            raise RuntimeError("it has gone")

    stage = make_stage(env=Forgetful, replayable=replayable)
    snapshot = await taken_at(stage, 3)
    if replayable:
        assert (await restored(stage, snapshot))["observation"] == [3, 3, "2\n"]
        return
    with pytest.raises(HubError, match="a native snapshot of its episode could not be restored") as failed:
        await restored(stage, snapshot)
    assert failed.value.code == "replay_diverged"
    assert "it has gone" in failed.value.details["replayed"]


async def test_large_states_displace_the_oldest(
    make_stage: Any, native_tally: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = make_stage(env=native_tally)
    old = await taken_at(stage, 3)
    size = next(stage.sessions.points.kept.newest_first()).size
    assert size > 0
    monkeypatch.setattr(_snapshots, "MAX_STATE_BYTES", 2 * size)
    new = [await taken_at(stage, 3) for _ in range(2)]
    for snapshot in new:
        assert (await restored(stage, snapshot))["step_index"] == 3
    with pytest.raises(HubError, match="newer ones took its place"):
        await restored(stage, old)


@pytest.mark.parametrize("dies", ["worker", "hub"])
async def test_the_session_itself_goes_on_from_its_last_native_snapshot(
    make_stage: Any, native_tally: Any, tmp_path: Path, dies: str
) -> None:
    stage = make_stage(env=native_tally, state=tmp_path)
    session = (await stage.open(seeds=[3]))["id"]
    for index in range(3):
        stage.step(session, f"{index}\n", index)
        stage.perform()
        if index == 1:
            await stage_done(stage, asyncio.ensure_future(stage.sessions.points.snapshot(session)))
    resets, steps = native_tally.resets, native_tally.steps
    if dies == "hub":
        stage = await stage.killed()
    else:
        for worker in stage.workers:
            worker.die()
            worker.come_back()
    answer = stage.step(session, "on")
    stage.perform()
    assert answer.good["observation"] == [3, 4, "on"]
    assert (native_tally.resets, native_tally.steps) == (resets, steps + 2)


async def test_a_point_is_taken_of_the_environment_once(make_stage: Any, native_tally: Any) -> None:
    class Counting(native_tally):  # type: ignore[misc]
        taken = 0

        def get_state(self) -> Any:
            Counting.taken += 1
            return super().get_state()

    stage = make_stage(env=Counting)
    session = (await stage.open(seeds=[3]))["id"]
    for taken in (1, 2):
        for _ in range(3):
            taking = asyncio.ensure_future(stage.sessions.points.snapshot(session))
            await stage_done(stage, taking)
            assert json.loads(taking.result())["kind"] == "native"
        assert Counting.taken == taken
        stage.step(session, "on")
        stage.perform()
