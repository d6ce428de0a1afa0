"""A stage: sessions over real worker code in this process, which answers only when it is told to."""

import asyncio
import dataclasses
import json
import signal
import zlib
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from envhub.pool import HUNG, NoFreeReplica
from envhub.pool._worker import Suspects
from envhub.record import Log, Recorder
from envhub.session import HubError, Sessions, SessionSettings, await_saved, resume
from envhub.spec import find
from envhub.worker import frames
from envhub.worker.alarm import alarm
from envhub.worker.replica import Replica as WorkerReplica
from envhub_sdk._wire import OpenRequest, ResetRequest, StepItem, StepRequest

LIMITS = {"max_episode_steps": 0, "step_timeout_s": 60.0, "reset_timeout_s": 60.0, "load_timeout_s": 60.0}


DEADLY = {b'"poison"': b'{"message":"the worker died"}', b'"stuck"': HUNG}
"""Actions that take the worker with them, and what is heard of it."""
LOST = frames.ERROR_CODES["session_lost"]


class Tally:
    """Observes its seed, which step this is and what was asked; "end" ends the episode.

    `info["trace"]` tells all actions so far. The option `length` ends an episode after that many steps, the
    option `refuse` refuses the reset. The class counts what was executed, whatever became of it.
    """

    resets = 0
    steps = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        options = options or {}
        if options.get("refuse") or options.get("task", {}).get("id") == "nowhere":
            refusal = ValueError("there is no such task")
            refusal.envhub_code = "unknown_task"  # type: ignore[attr-defined]
            raise refusal
        Tally.resets += 1
        self.seed, self.count, self.length, self.trace = seed, 0, options.get("length", 0), 0
        return [self.seed, 0, None], {"seed": seed, "options": options}

    def step(self, action: Any) -> Any:
        if action == "fail":
            raise RuntimeError("asked to fail")
        Tally.steps += 1
        self.count += 1
        self.trace = zlib.crc32(json.dumps(action).encode(), self.trace)
        ended = action == "end" or self.count == self.length
        return [self.seed, self.count, action], float(self.count), ended, False, {"trace": self.trace}

    def render(self) -> str:
        return f"drawn {self.count}"


class NativeTally(Tally):
    """The same with a native snapshot."""

    def get_state(self) -> Any:
        return [self.seed, self.count, self.length, self.trace]

    def set_state(self, state: Any) -> None:
        self.seed, self.count, self.length, self.trace = state


class StageReplica:
    """One slot of a stage worker; its operations wait until the stage performs them."""

    def __init__(self, worker: "StageWorker") -> None:
        self.worker = worker
        self.stage = worker.stage
        self.leased = False
        self.death = None
        self.on_lost: Callable[[], None] | None = None
        self.on_back: Callable[[], None] | None = None
        self.may_move: Callable[[], bool] | None = None

    def build(self) -> None:
        real = WorkerReplica(self.stage.env, None, LIMITS)
        self.operations = {
            frames.STEP: real.step,
            frames.REPLAY: real.step,
            frames.RESET: real.reset,
            frames.RENDER: real.render,
            frames.GET_STATE: real.get_state,
            frames.SET_STATE: real.set_state,
        }

    def send(self, operation: int, payload: bytes, sink: Callable[[int, bytes], None]) -> None:
        assert self.worker.ready, "something was sent to a dead worker"
        self.stage.waiting.append((self, operation, payload, sink))

    def in_turn(self, turn: Callable[[Callable[[], None]], None]) -> None:
        self.worker.suspects.wait(turn)

    def die(self) -> None:
        self.worker.die()


class StageWorker:
    """A worker that dies and comes back when it is told to."""

    def __init__(self, stage: "Stage", number: int, slots: int) -> None:
        self.stage, self.number, self.generation = stage, number, 0
        self.ready = False
        self.replicas = [StageReplica(self) for _ in range(slots)]

    def die(self, body: bytes = b'{"message":"the worker died"}') -> None:
        """As a worker does: whoever waits hears of it first, then the leaseholders."""
        mine = [entry for entry in self.stage.waiting if entry[0].worker is self]
        self.stage.waiting = deque(entry for entry in self.stage.waiting if entry[0].worker is not self)
        self.stage.free = [replica for replica in self.stage.free if replica.worker is not self]
        self.ready = False
        for _, _, _, sink in mine:
            sink(LOST, body)
        for replica in self.replicas:
            if replica.on_lost is not None:
                replica.on_lost()

    def come_back(self) -> None:
        """As the next process of a worker does."""
        self.generation += 1
        self.ready, self.suspects = True, Suspects()
        for replica in self.replicas:
            replica.build()
        self.stage.free += [replica for replica in self.replicas if not replica.leased]
        for replica in self.replicas:
            if replica.on_back is not None:
                replica.on_back()
        self.suspects.open()


class Stage:
    """A pool of such replicas, and the sessions over it."""

    def __init__(
        self,
        replicas: int = 4,
        slots: int = 1,
        env: type[Tally] = Tally,
        replayable: bool = True,
        state: Path | None = None,
        **settings: float,
    ) -> None:
        served = find("echo").resolve()
        self.served = dataclasses.replace(
            served, spec=dataclasses.replace(served.spec, name="tally", replayable=replayable)
        )
        self.env = env
        self.described = asyncio.Event()
        self.described.set()
        self.description = {
            "data": {"name": "none", "digest": "sha256:0"},
            "native_snapshot": issubclass(env, NativeTally),
        }
        self.free: list[StageReplica] = []
        self.total = replicas
        self.replays = self.divergences = self.repeats = 0
        self.waiting: deque[Any] = deque()
        self.workers = [StageWorker(self, number, slots) for number in range(replicas // slots)]
        for worker in self.workers:
            worker.come_back()
        pools: Any = {"tally": self}
        recorder = None if state is None else Recorder(state=Log(state))
        self.sessions = Sessions(pools, SessionSettings(**settings), recorder)

    async def killed(self) -> "Stage":
        """The hub dies; the next one goes on with its state."""
        recorder = self.sessions.recorder
        assert recorder is not None and recorder.state is not None
        recorder.close()
        after = Stage(len(self.workers), env=self.env, state=recorder.state.folder)
        await_saved(after.sessions)
        loaded = asyncio.get_running_loop().create_future()
        loaded.set_result(None)
        await resume(after.sessions, loaded)
        after.perform()
        return after

    # -- what sessions ask of a pool ----------------------------------------------------------------

    def status(self) -> Any:
        return self

    async def acquire(self, count: int, wait_s: float) -> list[StageReplica]:
        if count > len(self.free):
            raise NoFreeReplica("none is free")
        taken = [self.free.pop() for _ in range(count)]
        for replica in taken:
            replica.leased = True
        return taken

    def release(self, replica: StageReplica) -> None:
        assert replica.leased, "given back twice"
        replica.leased, replica.on_lost, replica.on_back = False, None, None
        if replica.worker.ready:
            self.free.append(replica)

    # -- what tests ask -----------------------------------------------------------------------------

    def perform(self, count: int = 1_000_000) -> None:
        """Let the environments do what waits, at most `count` operations."""
        while self.waiting and count:
            count -= 1
            if self.waiting[0][1] == frames.STEP and self.waiting[0][2] in DEADLY:
                self.waiting[0][0].worker.die(DEADLY[self.waiting[0][2]])
                continue
            replica, operation, payload, sink = self.waiting.popleft()
            sink(*replica.operations[operation](payload))

    async def open(self, **request: Any) -> dict[str, Any]:
        """Open one session and give what its opener is told."""
        reply = await self.open_all(**request)
        return reply[0]

    async def open_all(self, **request: Any) -> list[dict[str, Any]]:
        opening = asyncio.ensure_future(self.sessions.openings.open("tally", OpenRequest(**request)))
        while not opening.done():
            await asyncio.sleep(0)
            self.perform()
        opened: list[dict[str, Any]] = json.loads(opening.result())["sessions"]
        return opened

    def step(
        self,
        session_id: str,
        action: Any,
        index: int | None = None,
        episode_id: str | None = None,
        autoreset: bool = False,
        raw: bytes | None = None,
    ) -> "Answers":
        """Ask for a step; the answer comes when it is performed."""
        payload = msgspec.Raw(json.dumps(action).encode() if raw is None else raw)
        answers = Answers()
        if autoreset:
            item = StepItem(session_id, payload, index, episode_id)
            self.sessions.step(session_id, item, True, answers.append)
        else:
            self.sessions.step(session_id, StepRequest(payload, index, episode_id), False, answers.append)
        return answers

    def reset(self, session_id: str, **request: Any) -> "Answers":
        answers = Answers()
        self.sessions.reset(session_id, ResetRequest(**request), answers.append)
        return answers


class Answers(list[bytes | HubError]):
    """What one request was answered: nothing yet, or one thing."""

    @property
    def only(self) -> bytes | HubError:
        assert len(self) == 1, f"{len(self)} answers to one request"
        return self[0]

    @property
    def good(self) -> dict[str, Any]:
        assert isinstance(self.only, bytes), self.only
        decoded: dict[str, Any] = json.loads(self.only)
        return decoded

    @property
    def error(self) -> HubError:
        assert isinstance(self.only, HubError), self.only
        return self.only


@pytest.fixture(autouse=True)
def the_alarm() -> Iterator[None]:
    """The worker's code sets timers in this process: none may outlive its test."""
    before = signal.getsignal(signal.SIGALRM)
    alarm.install()
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
async def stage() -> Stage:
    return Stage()


@pytest.fixture
def make_stage() -> type[Stage]:
    return Stage


@pytest.fixture
def native_tally() -> type[Tally]:
    return NativeTally
