"""A session goes on when its worker dies, wherever that catches it."""

import asyncio
import zlib
from typing import Any

import pytest

from envhub.pool import HUNG
from envhub.session import HubError, _lease, _session
from envhub.session._lease import CHECKPOINT_STEPS, MAX_REPLAY_DEATHS
from envhub.worker import frames

STEPS = ["a", "b", "c"]


async def played(stage: Any, steps: int = 3) -> str:
    """A session after some steps."""
    session: str = (await stage.open(seeds=[7]))["id"]
    for index in range(steps):
        stage.step(session, STEPS[index % 3], index)
        stage.perform()
    return session


def trace(*actions: str) -> int:
    value = 0
    for action in actions:
        value = zlib.crc32(f'"{action}"'.encode(), value)
    return value


def assert_goes_on(stage: Any, session: str) -> None:
    """The fourth step of `played`, as if nothing had happened."""
    step = stage.step(session, "d", 3)
    stage.perform()
    assert step.good["observation"] == [7, 4, "d"]
    assert step.good["info"]["trace"] == trace("a", "b", "c", "d")


@pytest.fixture(params=["replayed", "native"])
async def stage(request: Any, make_stage: Any, native_tally: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    if request.param == "replayed":
        return make_stage(4, slots=2, env=native_tally.__base__)
    for module in (_lease, _session):
        monkeypatch.setattr(module, "CHECKPOINT_STEPS", 2)
    return make_stage(4, slots=2, env=native_tally)


async def test_a_death_while_idle_is_not_noticed(stage: Any) -> None:
    session = await played(stage)
    worker = stage.sessions.find(session)._lease._replica.worker
    worker.die()
    step = stage.step(session, "d", 3)
    joined = stage.step(session, "d", 3)
    in_line = stage.step(session, "e", 4)
    worker.come_back()
    stage.perform()
    assert step.good["info"]["trace"] == trace("a", "b", "c", "d")
    assert joined.only == step.only
    assert in_line.good["observation"] == [7, 5, "e"]
    assert stage.replays == 1
    assert stage.sessions.find(session).state(0).worker_generation == 2


@pytest.mark.parametrize("performed", range(5))
async def test_a_death_at_any_point_of_a_replay_starts_another(stage: Any, performed: int) -> None:
    session = await played(stage)
    worker = stage.sessions.find(session)._lease._replica.worker
    worker.die()
    step = stage.step(session, "d", 3)
    worker.come_back()
    stage.perform(performed)
    worker.die()
    worker.come_back()
    stage.perform()
    assert step.good["info"]["trace"] == trace("a", "b", "c", "d")


async def test_a_death_in_a_reset_repeats_it_with_its_seed(stage: Any) -> None:
    session = await played(stage)
    worker = stage.sessions.find(session)._lease._replica.worker
    reset = stage.reset(session, seed=11)
    worker.die()
    worker.come_back()
    stage.perform()
    assert reset.good["observation"] == [11, 0, None]
    assert stage.replays == 0  # nobody needs the episode before


async def test_a_reset_that_is_refused_by_a_new_worker_keeps_the_episode(stage: Any) -> None:
    session = await played(stage)
    worker = stage.sessions.find(session)._lease._replica.worker
    refused = stage.reset(session, task="nowhere")
    worker.die()
    worker.come_back()
    stage.perform()
    assert refused.error.code == "unknown_task"
    assert_goes_on(stage, session)


async def test_a_death_in_an_autoreset_answers_with_both(stage: Any) -> None:
    session = await played(stage)
    worker = stage.sessions.find(session)._lease._replica.worker
    last = stage.step(session, "end", 3, autoreset=True)
    stage.perform(1)
    worker.die()
    worker.come_back()
    stage.perform()
    assert last.good["terminated"] and last.good["reset"]["observation"][1] == 0
    after = stage.step(session, "x", 0)
    stage.perform()
    assert after.good["observation"] == [last.good["reset"]["seed"], 1, "x"]


async def test_an_episode_that_is_over_stays_over(stage: Any) -> None:
    session = await played(stage)
    stage.step(session, "end", 3)
    stage.perform()
    worker = stage.sessions.find(session)._lease._replica.worker
    worker.die()
    worker.come_back()
    stage.perform()
    assert stage.step(session, "more", 4).error.code == "episode_over"


# -- what kills -------------------------------------------------------------------------------------


async def test_a_request_that_kills_workers_is_caught_alone(stage: Any) -> None:
    poisoned, other = (one["id"] for one in await stage.open_all(count=2, seeds=[7, 8]))
    replica = stage.sessions.find(poisoned)._lease._replica
    if stage.sessions.find(other)._lease._replica.worker is not replica.worker:
        pytest.fail("the two must share a worker")
    poison = stage.step(poisoned, "poison", 0)
    innocent = stage.step(other, "fine", 0)
    deaths = 0
    while not poison:
        stage.perform()
        deaths += 1
        replica.worker.come_back()
    stage.perform()
    assert deaths == 3
    assert poison.error.code == "environment_error" and poison.error.details["deaths"] == 3
    assert innocent.good["observation"] == [8, 1, "fine"]
    assert stage.step(poisoned, "go", 0).error.code == "episode_failed"
    stage.reset(poisoned, seed=9)
    stage.perform()
    after = stage.step(poisoned, "go", 0)
    stage.perform()
    assert after.good["observation"] == [9, 1, "go"]


async def test_new_requests_wait_until_the_suspect_is_cleared(stage: Any) -> None:
    poisoned, other = (one["id"] for one in await stage.open_all(count=2, seeds=[7, 8]))
    worker = stage.sessions.find(poisoned)._lease._replica.worker
    poison = stage.step(poisoned, "poison", 0)
    for _ in range(3):
        innocent = stage.step(other, "fine", 0)
        stage.perform()
        worker.come_back()
    stage.perform()
    assert poison.error.code == "environment_error"
    assert innocent.good["observation"] == [8, 1, "fine"]
    assert stage.sessions.find(other)._lease._asked is None


async def test_a_new_deadly_request_never_takes_a_suspect_with_it(stage: Any) -> None:
    poisoned, other = (one["id"] for one in await stage.open_all(count=2, seeds=[7, 8]))
    worker = stage.sessions.find(poisoned)._lease._replica.worker
    innocent = stage.step(other, "fine", 0)
    worker.die()
    worker.come_back()
    while stage.waiting[0][1] != frames.STEP:  # the replays; then the step is sent, alone
        stage.perform(1)
    worker.die()
    worker.come_back()
    assert stage.sessions.find(other)._lease._asked.deaths == 2
    poison = stage.step(poisoned, "poison", 0)
    while not poison:
        stage.perform()
        if not worker.ready:
            worker.come_back()
    assert innocent.good["observation"] == [8, 1, "fine"]
    assert poison.error.code == "environment_error"


async def test_a_hang_that_only_killing_ends_is_tried_once_more_and_timed_out(stage: Any) -> None:
    session = await played(stage)
    worker = stage.sessions.find(session)._lease._replica.worker
    stuck = stage.step(session, "stuck", 3)
    stage.perform()
    assert not stuck
    worker.come_back()
    stage.perform()
    assert stuck.error.code == "step_timeout" and stuck.error.details["session_survives"]
    worker.come_back()
    reset = stage.reset(session, seed=5)
    stage.perform()
    assert reset.good["observation"] == [5, 0, None]


async def test_a_hang_of_the_moment_costs_nothing(stage: Any) -> None:
    session = await played(stage)
    worker = stage.sessions.find(session)._lease._replica.worker
    step = stage.step(session, "d", 3)
    worker.die(HUNG)
    worker.come_back()
    stage.perform()
    assert step.good["info"]["trace"] == trace("a", "b", "c", "d")


async def test_a_picture_that_kills_workers_costs_no_episode(stage: Any) -> None:
    session = await played(stage)
    worker = stage.sessions.find(session)._lease._replica.worker
    drawing = asyncio.ensure_future(stage.sessions.find(session).render())
    await asyncio.sleep(0)
    for _ in range(3):
        while stage.waiting[0][1] != frames.RENDER:  # the replay
            stage.perform(1)
        worker.die()
        worker.come_back()
    with pytest.raises(HubError) as caught:
        await drawing
    assert caught.value.code == "environment_error"
    stage.perform()
    assert_goes_on(stage, session)


async def test_a_replay_that_kills_workers_ends_its_session_at_last(stage: Any) -> None:
    session = await played(stage)
    worker = stage.sessions.find(session)._lease._replica.worker
    worker.die()
    step = stage.step(session, "d", 3)
    for _ in range(MAX_REPLAY_DEATHS):
        assert not step
        worker.come_back()
        worker.die()
    assert step.error.code == "session_lost"
    worker.come_back()
    assert len(stage.free) == 4


# -- what can't go on -------------------------------------------------------------------------------


async def test_what_is_not_replayable_is_lost(make_stage: Any, native_tally: Any) -> None:
    stage = make_stage(2, slots=2, env=native_tally.__base__, replayable=False)
    session = await played(stage)
    fresh = (await stage.open(reset=False))["id"]
    under_way, joined = stage.step(session, "d", 3), stage.step(session, "d", 3)
    in_line = stage.step(session, "e", 4)
    stage.workers[0].die()
    for answer in (under_way, joined, in_line, stage.step(session, "f")):
        assert answer.error.code == "session_lost"
    stage.workers[0].come_back()
    assert len(stage.free) == 1
    reset = stage.reset(fresh, seed=3)  # it had nothing to lose
    stage.perform()
    assert reset.good["observation"] == [3, 0, None]


async def test_a_replay_that_differs_ends_the_session_with_both_observations(
    make_stage: Any, native_tally: Any
) -> None:
    class Moody(native_tally.__base__):  # type: ignore[misc, name-defined]
        lives = 0

        def reset(self, **given: Any) -> Any:
            Moody.lives += 1
            self.life = Moody.lives
            return super().reset(**given)

        def step(self, action: Any) -> Any:
            (seed, count, said), *rest = super().step(action)
            return [seed, count, f"{'x' * 3000}{said} in life {self.life}" if count == 2 else said], *rest

    stage = make_stage(2, slots=2, env=Moody)
    session = await played(stage)
    worker = stage.sessions.find(session)._lease._replica.worker
    step = stage.step(session, "d", 3)
    worker.die()
    worker.come_back()
    stage.perform()
    assert step.error.code == "replay_diverged"
    details = step.error.details
    assert details["step_index"] == 1
    assert "in life 1" in details["recorded"] and "in life 2" in details["replayed"]
    assert stage.step(session, "e").error.code == "replay_diverged"
    assert len(stage.free) == 2


async def test_a_worker_that_does_not_come_back_ends_the_session(
    stage: Any, monkeypatch: pytest.MonkeyPatch, eventually: Any
) -> None:
    monkeypatch.setattr(_lease, "RECOVERY_S", 0.01)
    session = await played(stage)
    worker = stage.sessions.find(session)._lease._replica.worker
    step = stage.step(session, "d", 3)
    worker.die()
    await eventually(lambda: step)
    assert step.error.code == "session_lost"
    worker.come_back()
    assert len(stage.free) == 4


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("when", ["dead", "replaying"])
async def test_a_close_during_a_recovery_gives_the_replica_back_once(
    stage: Any, asked: bool, when: str
) -> None:
    session = await played(stage)
    worker = stage.sessions.find(session)._lease._replica.worker
    worker.die()
    step = stage.step(session, "d", 3) if asked else None
    if when == "replaying":
        worker.come_back()
        stage.perform(1)
    stage.sessions.close(session)
    if when == "dead":
        worker.come_back()
    stage.perform()
    if step is not None:
        assert step.good["info"]["trace"] == trace("a", "b", "c", "d")
    assert len(stage.free) == 4


# -- long episodes ----------------------------------------------------------------------------------


async def test_a_long_episode_goes_on_from_a_native_snapshot(make_stage: Any, native_tally: Any) -> None:
    stage = make_stage(2, slots=2, env=native_tally)
    length = 4096 + CHECKPOINT_STEPS // 2
    session = await played(stage, length)
    found = stage.sessions.find(session)
    assert found.history.episode.distance < CHECKPOINT_STEPS
    worker = found._lease._replica.worker
    step = stage.step(session, "d", length)
    worker.die()
    worker.come_back()
    assert len(stage.waiting) < CHECKPOINT_STEPS
    stage.perform()
    said = [STEPS[index % 3] for index in range(length)]
    assert step.good["info"]["trace"] == trace(*said, "d")


async def test_a_long_episode_without_snapshots_is_lost_and_says_why(
    make_stage: Any, native_tally: Any
) -> None:
    stage = make_stage(2, slots=2, env=native_tally.__base__)
    session = await played(stage, 4097)
    worker = stage.sessions.find(session)._lease._replica.worker
    step = stage.step(session, "d", 4097)
    worker.die()
    worker.come_back()
    assert step.error.code == "session_lost"
    assert "longer than what is kept" in step.error.message
