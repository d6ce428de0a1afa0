"""Sessions over real processes that are killed, end themselves or hang: nothing of an episode is lost."""

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from envhub.pool import Pool, _keeper
from envhub.session import HubError, Sessions
from envhub.spec import Spec, find
from envhub_sdk._wire import BatchReset, BatchStep, ForkRequest, OpenRequest, ResetItem, StepItem

SLOW = """
import pathlib, time

MARK = pathlib.Path({mark!r})


class Env:
    \"\"\"Counts; what the mark names takes its time.\"\"\"

    def _linger(self, what):
        if MARK.exists() and MARK.read_text() == what:
            MARK.with_suffix(".begun").touch()
            time.sleep(0.4)

    def reset(self, *, seed=None, options=None):
        self._linger("reset")
        self.seen = [seed]
        return self.seen, {{}}

    def step(self, action):
        self._linger("step")
        self.seen = [*self.seen, action]
        return self.seen, 0.0, False, False, {{}}

    def render(self):
        self._linger("render")
        return str(self.seen)

    def get_state(self):
        self._linger("get_state")
        return self.seen

    def set_state(self, state):
        self._linger("set_state")
        self.seen = state
"""


class Hub:
    """A pool and the sessions over it."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool
        self.name = pool.served.spec.name
        self.sessions = Sessions({self.name: pool})

    async def open(self, count: int = 1, **request: Any) -> list[str]:
        reply = await self.sessions.openings.open(self.name, OpenRequest(count=count, **request))
        return [session["id"] for session in json.loads(reply)["sessions"]]

    async def step(self, ids: list[str], action: str, index: int | None = None) -> list[dict[str, Any]]:
        items = [StepItem(one, msgspec.Raw(json.dumps(action).encode()), index) for one in ids]
        reply = await self.sessions.step_batch(BatchStep(items))
        results: list[dict[str, Any]] = json.loads(reply)["results"]
        return results

    async def reset(self, session: str, seed: int) -> dict[str, Any]:
        reply = await self.sessions.reset_batch(BatchReset([ResetItem(session, seed)]))
        result: dict[str, Any] = json.loads(reply)["results"][0]
        return result

    def kill(self, session: str) -> None:
        os.kill(self.sessions.find(session)._lease._replica.worker.pid, signal.SIGKILL)


@contextlib.asynccontextmanager
async def serving(spec: Spec, replicas: int, workers: int = 1, **settings: Any) -> AsyncIterator[Hub]:
    pool = Pool(spec.resolve(settings), replicas, workers)
    await pool.start()
    hub = Hub(pool)
    try:
        yield hub
        hub.sessions.close_all()
        for _ in range(500):
            if pool.status().free == replicas:
                break
            await asyncio.sleep(0.01)
        assert pool.status().free == replicas, "a replica leaked"
    finally:
        await pool.stop()


def observed(results: list[dict[str, Any]]) -> list[Any]:
    return [result.get("observation", result.get("error")) for result in results]


# -- kill -9 ----------------------------------------------------------------------------------------


@pytest.fixture
def slow(write_spec: Callable[..., Spec], tmp_path: Path) -> tuple[Spec, Path]:
    mark = tmp_path / "mark"
    return write_spec(SLOW.format(mark=str(mark))), mark


@pytest.mark.parametrize("what", ["step", "reset", "render", "get_state"])
async def test_a_kill_in_the_middle_of_a_call_is_not_noticed(
    slow: tuple[Spec, Path], what: str, eventually: Any
) -> None:
    spec, mark = slow
    async with serving(spec, 2) as hub:
        one, other = await hub.open(2, seeds=[1, 2])
        await hub.step([one, other], "a", 0)
        mark.write_text(what)
        calls: dict[str, Callable[[], Any]] = {
            "step": lambda: hub.step([one], "b", 1),
            "reset": lambda: hub.reset(one, 5),
            "render": lambda: hub.sessions.find(one).render(),
            "get_state": lambda: hub.sessions.points.snapshot(one),
        }
        call = asyncio.ensure_future(calls[what]())
        await eventually(mark.with_suffix(".begun").exists)
        mark.unlink()
        hub.kill(one)
        answer = await call
        if what == "step":
            assert observed(answer) == [[1, "a", "b"]]
        elif what == "reset":
            assert answer["observation"] == [5]
        elif what == "render":
            assert answer[1] == b"[1, 'a']"
        else:
            assert json.loads(answer)["kind"] == "native"
        (after,) = observed(await hub.step([other], "c", 1))
        assert after == [2, "a", "c"]
        assert hub.pool.status().restarts == 1


async def test_kills_during_a_restore_and_a_fork_are_not_noticed(
    slow: tuple[Spec, Path], eventually: Any
) -> None:
    spec, mark = slow
    async with serving(spec, 4) as hub:
        (one,) = await hub.open(seeds=[1])
        await hub.step([one], "a", 0)
        snapshot = json.loads(await hub.sessions.points.snapshot(one))["snapshot_id"]
        await hub.step([one], "b", 1)
        calls: list[Callable[[], Any]] = [
            lambda: hub.sessions.points.fork(one, ForkRequest(count=3)),
            lambda: hub.sessions.points.restore(one, snapshot),
        ]
        answers = []
        for call in calls:
            mark.with_suffix(".begun").unlink(missing_ok=True)
            mark.write_text("set_state")
            asked = asyncio.ensure_future(call())
            await eventually(mark.with_suffix(".begun").exists)
            mark.unlink()
            hub.kill(one)
            answers.append(json.loads(await asked))
        forks = [fork["id"] for fork in answers[0]["sessions"]]
        assert observed(await hub.step(forks, "c", 2)) == [[1, "a", "b", "c"]] * 3
        assert answers[1]["observation"] == [1, "a"]
        assert observed(await hub.step([one], "d", 1)) == [[1, "a", "d"]]


async def test_a_kill_in_the_middle_of_a_replay_starts_another(
    slow: tuple[Spec, Path], eventually: Any
) -> None:
    spec, mark = slow
    async with serving(spec, 1) as hub:
        (one,) = await hub.open(seeds=[1])
        for index in range(3):
            await hub.step([one], "abc"[index], index)
        mark.write_text("step")
        hub.kill(one)
        await eventually(mark.with_suffix(".begun").exists)  # the first step of the replay
        mark.unlink()
        hub.kill(one)
        assert observed(await hub.step([one], "d", 3)) == [[1, "a", "b", "c", "d"]]
        assert hub.pool.replays >= 1 and hub.pool.status().restarts == 2


async def test_batches_of_64_with_kills_equal_those_without() -> None:
    moves = ["right", "down", "left", "down", "right"] * 8

    async def play(hub: Hub, kill: bool) -> list[Any]:
        ids = await hub.open(64, seeds=list(range(64)))
        seen = []
        for index, move in enumerate(moves):
            items = [StepItem(one, msgspec.Raw(json.dumps(move).encode())) for one in ids]
            batch = asyncio.ensure_future(hub.sessions.step_batch(BatchStep(items, True)))
            if kill and index % 8 == 4:
                await asyncio.sleep(0)
                hub.kill(ids[index])
            results = json.loads(await batch)["results"]
            for result in results:
                result.get("reset", {}).pop("episode_id", None)
            seen.append(results)
        for one in ids:
            hub.sessions.close(one)
        return seen

    async with serving(find("frozenlake"), 64, workers=2) as hub:
        calm = await play(hub, kill=False)
        assert await play(hub, kill=True) == calm
        assert hub.pool.status().restarts == 5
        assert any("reset" in result for step in calm for result in step)


# -- what ends itself, and what hangs ---------------------------------------------------------------


async def test_an_action_that_ends_its_process_fails_its_episode_and_nothing_else() -> None:
    async with serving(find("echo"), 8, exit_on="die") as hub:
        ids = await hub.open(8)
        poisoned, others = ids[3], ids[:3] + ids[4:]
        await hub.step(ids, "before")
        dying = asyncio.ensure_future(hub.step([poisoned], "die", 1))
        seen = []
        index = 1
        while not dying.done() or index < 10:
            seen.append(observed(await hub.step(others, f"word {index}", index)))
            index += 1
        assert seen == [[f"word {number}"] * 7 for number in range(1, index)]
        (error,) = observed(await dying)
        assert error["code"] == "environment_error" and error["details"]["deaths"] == 3
        assert hub.pool.status().restarts == 3
        assert (await hub.reset(poisoned, 1))["step_index"] == 0
        assert observed(await hub.step([poisoned], "after", 0)) == ["after"]


async def test_a_native_hang_is_tried_once_more_and_timed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_keeper, "KILL_GRACE_S", 0.1)
    async with serving(find("echo"), 2, stuck_on="stuck", step_timeout_s=1.0) as hub:
        stuck, other = await hub.open(2)
        await hub.step([stuck, other], "before")
        answers = await asyncio.gather(hub.step([stuck], "stuck", 1), hub.step([other], "fine", 1))
        assert observed(answers[0])[0]["code"] == "step_timeout"
        assert observed(answers[1]) == ["fine"]
        assert hub.pool.status().restarts >= 1
        await hub.reset(stuck, 1)
        assert observed(await hub.step([stuck], "after", 0)) == ["after"]


async def test_an_interruptible_hang_is_tried_once_more_and_timed_out() -> None:
    async with serving(find("echo"), 2, hang_on="hang", step_timeout_s=1.0) as hub:
        hung, other = await hub.open(2)
        await hub.step([hung], "before", 0)
        answers = await asyncio.gather(hub.step([hung], "hang", 1), hub.step([other], "fine", 0))
        assert observed(answers[0])[0]["code"] == "step_timeout"
        assert observed(answers[1]) == ["fine"]
        assert hub.pool.replays >= 1 and hub.pool.status().restarts == 0


async def test_an_environment_that_is_not_replayable_loses_its_sessions(
    write_spec: Callable[..., Spec], eventually: Any, tmp_path: Path
) -> None:
    source = SLOW.format(mark=str(tmp_path / "mark"))
    async with serving(write_spec(source, "replayable = false\n"), 2) as hub:
        one, _ = await hub.open(2)
        hub.kill(one)
        await eventually(lambda: not hub.sessions.all())
        with pytest.raises(HubError) as caught:
            hub.sessions.find(one)
        assert caught.value.code == "session_lost"


async def test_a_nondeterministic_environment_is_told_apart(write_spec: Callable[..., Spec]) -> None:
    source = (
        "import os\n"
        "class Env:\n"
        "    def reset(self, *, seed=None, options=None): return 'start', {}\n"
        "    def step(self, action): return str(os.getpid()), 0.0, False, False, {}\n"
    )
    async with serving(write_spec(source), 1) as hub:
        (one,) = await hub.open()
        (before,) = await hub.step([one], "a", 0)
        hub.kill(one)
        (error,) = observed(await hub.step([one], "b", 1))
        assert error["code"] == "replay_diverged"
        assert before["observation"] in error["details"]["recorded"]
        assert error["details"]["replayed"] != error["details"]["recorded"]
        assert error["details"]["step_index"] == 0
