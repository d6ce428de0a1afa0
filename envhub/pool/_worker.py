"""A worker as the hub sees it: a process behind a channel, and the replicas it hosts."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from envhub.pool._channel import LOST, Channel
from envhub.pool._death import Death, from_status
from envhub.pool._errors import LoadFailed
from envhub.pool._replica import Replica
from envhub.pool._template import LAST_WORDS_S, Template
from envhub.worker import frames
from envhub.worker.times import Times

HEALTHY_S = 1.0
"""A worker that dies younger than this may be in a crash loop."""
FREE_DEATHS = 3
"""Quick deaths in a row after each of which a worker is started again at once; then ever more slowly."""
SILENT_S = 1.0
"""An idle worker that has not answered for so long does not count as up."""

Turn = Callable[[Callable[[], None]], None]
"""Does something alone and calls what it was given at the end of it; not if the worker died meanwhile."""


class Worker:
    """One worker process and its slots; the same object over all its generations.

    Args:
        number: The worker's number within its pool.
        slots: How many replicas it hosts.
        times: Where to count how long its steps took.
        on_lost: Called when the process is gone without having been closed.
    """

    def __init__(self, number: int, slots: int, times: Times, on_lost: Callable[[Worker], None]) -> None:
        self.number = number
        self.generation = 0
        self.pid = 0
        self.ready = False
        self.channel: Channel
        self.suspects: Suspects
        self.started_at = 0.0
        self.quick_deaths = 0
        """How many times in a row it died soon after its start."""
        self.death: Death | None = None
        """How its last process ended."""
        self.failure: str | None = None
        """Why it is not up, or only just."""
        self.moving = False
        """Whether it is being replaced by plan."""
        self.episodes = 0
        """Episodes its process has begun, as of its last report."""
        self.memory: int | None = None
        """Bytes its process shared with nobody when it was last weighed."""
        self.first_memory: int | None = None
        self.overdue_looks = 0
        """How many looks in a row found it beyond the limit of what it does."""
        """The same when it was first weighed."""
        self._times = times
        self._template: Template
        self._process = 0
        self._doom: Death | None = None
        self._pinged_at = 0.0
        self._pinging = False
        self._on_lost = on_lost
        self._closing = False
        self.replicas = [Replica(self, slot) for slot in range(slots)]

    async def start(self, template: Template, fork: bool) -> None:
        """Starts the process and builds the environment object of every slot.

        Raises:
            LoadFailed: The template is gone, or an environment object could not be built.
        """
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        ours.setblocking(False)
        self._template, self._doom, self._pinging = template, None, False
        self.episodes, self.memory, self.first_memory, self.overdue_looks = 0, None, None, 0
        try:
            with theirs:
                self.pid = self._process = (
                    await template.fork(self.number, theirs) if fork else template.serve(self.number, theirs)
                )
        except BaseException:
            ours.close()
            raise
        _, channel = await asyncio.get_running_loop().create_unix_connection(
            lambda: Channel(self._lost, self._times), sock=ours
        )
        self.channel = channel
        self.generation += 1
        for code, payload in await asyncio.gather(
            *(self.channel.call(frames.MAKE, replica.slot) for replica in self.replicas)
        ):
            if code == LOST:
                self._drop(channel)
                raise LoadFailed(f"{template.name}: {await self._why_not_built()}")
            if code >= frames.FIRST_ERROR:
                self._drop(channel)
                raise LoadFailed(f"{template.name}: {_explain(json.loads(payload))}")
        if channel.closed:  # it died since it answered
            self._drop(channel)
            raise LoadFailed(f"{template.name}: {await self._why_not_built()}")
        self.suspects = Suspects()
        self.ready, self.started_at = True, asyncio.get_running_loop().time()
        self._pinged_at = self.started_at

    def _drop(self, channel: Channel) -> None:
        """Gives up a process that did not start, for good: nothing it still says may touch the next one."""
        channel.closed = True
        channel.abort()
        self.kill()
        self.pid = 0

    def _lost(self) -> None:
        if self._closing:  # it closes its environments and ends by itself
            return
        if self.channel.malformed:
            self.kill(Death("protocol", "was killed by the hub: it sent what is no frame or no answer"))
        self.kill()  # a worker that broke the conversation may still run
        was_ready, self.ready, self.pid = self.ready, False, 0
        if was_ready:
            self._on_lost(self)

    async def learn_death(self) -> Death:
        """Waits a moment for how the process ended, and keeps it in `death`."""
        status = await self._template.end_of(self._process)
        self.death = self._doom or from_status(status)
        return self.death

    async def _why_not_built(self) -> str:
        death = await self.learn_death()
        await asyncio.sleep(LAST_WORDS_S)  # what it wrote last may still be on its way
        words = self._template.last_words() or "(nothing)"
        return f"worker {self.number} {death.words} while it built its environments; it wrote last:\n{words}"

    # -- health -------------------------------------------------------------------------------------

    @property
    def about(self) -> dict[str, object]:
        """What a log entry says of it besides its words."""
        return {"env": self._template.name, "worker": self.number, "pid": self._process}

    @property
    def answering(self) -> bool:
        """Whether it is up and has, unless something else keeps it busy, lately answered."""
        busy = self.channel.oldest() if self.ready else None
        return self.ready and not (busy is not None and busy[0] == frames.PING and busy[1] > SILENT_S)

    @property
    def sick(self) -> bool:
        """Whether it died young several times in a row and has not lived for long since."""
        if self.quick_deaths <= FREE_DEATHS:
            return False
        return not self.ready or asyncio.get_running_loop().time() - self.started_at < HEALTHY_S

    def ping(self, every_s: float, heard: Callable[[list[int], float], None]) -> None:
        """Asks whether it is there, unless it was asked less than `every_s` seconds ago.

        Args:
            every_s: Seconds between two questions.
            heard: Takes how long steps took since the last answer: counts by bucket, seconds in all.
        """
        now = asyncio.get_running_loop().time()
        if self._pinging or now - self._pinged_at < every_s:
            return
        self._pinging, self._pinged_at = True, now
        channel = self.channel

        def answered(code: int, body: bytes) -> None:
            if code == frames.DONE and channel is self.channel:
                self._pinging = False
                report = json.loads(body)
                self.episodes += report["resets"]
                heard(report["steps"], report["seconds"])

        channel.send(frames.PING, 0, b"", answered)

    # -- the end ------------------------------------------------------------------------------------

    def close(self) -> None:
        """Asks the process to end; it closes its environments first."""
        self.ready, self._closing = False, True
        if self.generation:
            self.channel.close()

    def retire(self) -> Callable[[float], Coroutine[Any, Any, None]]:
        """Lets go of the process, which closes its environments; the worker can be started again at once.

        Returns:
            What makes sure that the process ends within so many seconds.
        """
        self.ready = False
        template, process, alive, self.pid = self._template, self._process, self.pid != 0, 0
        self.channel.leave()

        async def bury(grace_s: float) -> None:
            if await template.end_of(process, grace_s) is None and alive:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)

        return bury

    def kill(self, death: Death | None = None) -> None:
        """Ends the process at once; `death` is why."""
        self._doom = self._doom or death
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)


class Suspects:
    """What was under way when a worker died, done on the next one in turns, before anything new.

    So a request or a replay that kills workers is caught alone, and no innocent one is blamed for its
    deaths. A worker's death ends the line: whoever waited in it asks the next worker.
    """

    def __init__(self) -> None:
        self.busy = True
        """Whether something is done alone, or may be (see `open`), so that new requests `hold`."""
        self._line: deque[Turn] = deque()
        self._held: list[Callable[[], None]] = []

    def open(self) -> None:
        """Begins, when every suspect of the last worker has its place in the line."""
        self._over()

    def wait(self, turn: Turn) -> None:
        """Takes a place in the line; `turn` is called when it comes, with what to call at its end."""
        self._line.append(turn)
        self._next()

    def hold(self, send: Callable[[], None]) -> None:
        """Sends something new when the line has come to its end."""
        self._held.append(send)

    def _next(self) -> None:
        while self._line and not self.busy:
            self.busy = True
            self._line.popleft()(self._over)
        if not self.busy:
            held, self._held = self._held, []
            for send in held:
                send()

    def _over(self) -> None:
        self.busy = False
        self._next()


def _explain(failure: dict[str, Any]) -> str:
    trace = failure.get("details", {}).get("traceback", "")
    return f"{failure['message']}\n{trace}".rstrip()
