"""A stage: sessions over real worker code in this process, which answers only when it is told to."""

import asyncio
import json
import signal
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest

from envhub.pool import NoFreeReplica
from envhub.session import HubError, Sessions, SessionSettings
from envhub.spec import find
from envhub.worker import frames
from envhub.worker.alarm import alarm
from envhub.worker.replica import Replica as WorkerReplica
from envhub_sdk._wire import OpenRequest, ResetRequest, StepItem, StepRequest

LIMITS = {"max_episode_steps": 0, "step_timeout_s": 60.0, "reset_timeout_s": 60.0, "load_timeout_s": 60.0}


class Tally:
    """Observes which reset this is, which step of it and what was asked; "end" ends the episode.

    The option `length` ends an episode after that many steps, the option `refuse` refuses the reset.
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
        self.serial, self.count, self.length = Tally.resets, 0, options.get("length", 0)
        return [self.serial, 0, None], {"seed": seed, "options": options}

    def step(self, action: Any) -> Any:
        if action == "fail":
            raise RuntimeError("asked to fail")
        Tally.steps += 1
        self.count += 1
        ended = action == "end" or self.count == self.length
        return [self.serial, self.count, action], float(self.count), ended, False, {}

    def render(self) -> str:
        return f"drawn {self.count}"


class StageReplica:
    """One replica whose operations wait until the stage performs them."""

    def __init__(self, stage: "Stage") -> None:
        self.stage = stage
        self.generation = 1
        self.on_lost: Callable[[], None] | None = None
        self._start()

    def _start(self) -> None:
        real = WorkerReplica(Tally, None, LIMITS)
        self.operations = {frames.STEP: real.step, frames.RESET: real.reset, frames.RENDER: real.render}

    def send(self, operation: int, payload: bytes, sink: Callable[[int, bytes], None]) -> None:
        self.stage.waiting.append((self, operation, payload, sink))

    def die(self) -> None:
        """As a worker does: whoever waits hears of it first, then the leaseholder."""
        mine = [entry for entry in self.stage.waiting if entry[0] is self]
        self.stage.waiting = deque(entry for entry in self.stage.waiting if entry[0] is not self)
        for _, _, _, sink in mine:
            sink(frames.ERROR_CODES["session_lost"], b'{"message":"the worker died"}')
        self.generation += 1
        self._start()
        lost, self.on_lost = self.on_lost, None
        if lost is None:
            return
        lost()
        self.stage.free.append(self)


class Stage:
    """A pool of such replicas, and the sessions over it."""

    def __init__(self, replicas: int = 4, **settings: float) -> None:
        self.served = find("echo").resolve()
        self.description = {"data": {"name": "none", "digest": "sha256:0"}}
        self.free = [StageReplica(self) for _ in range(replicas)]
        self.repeats = 0
        self.total = replicas
        self.waiting: deque[Any] = deque()
        self.sessions = Sessions({"tally": self}, SessionSettings(**settings))  # type: ignore[dict-item]

    # -- what sessions ask of a pool ----------------------------------------------------------------

    def status(self) -> Any:
        return self

    async def acquire(self, count: int, wait_s: float) -> list[StageReplica]:
        if count > len(self.free):
            raise NoFreeReplica("none is free")
        return [self.free.pop() for _ in range(count)]

    def release(self, replica: StageReplica) -> None:
        assert replica not in self.free, "given back twice"
        replica.on_lost = None
        self.free.append(replica)

    # -- what tests ask -----------------------------------------------------------------------------

    def perform(self, count: int = 1_000_000) -> None:
        """Let the environments do what waits, at most `count` operations."""
        while self.waiting and count:
            replica, operation, payload, sink = self.waiting.popleft()
            sink(*replica.operations[operation](payload))
            count -= 1

    async def open(self, **request: Any) -> dict[str, Any]:
        """Open one session and give what its opener is told."""
        reply = await self.open_all(**request)
        return reply[0]

    async def open_all(self, **request: Any) -> list[dict[str, Any]]:
        opening = asyncio.ensure_future(self.sessions.open("tally", OpenRequest(**request)))
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
