"""Whoever is cancelled, at any moment, can go on, and nobody keeps a session on the hub."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import httpx
import pytest

from envhub_sdk import AsyncEnv, AsyncHub, EnvHubError

GIVE_UP_S = 30.0
TURNS = 4
"""Turns of the event loop that a request takes to the hub, and an answer back."""


def moments() -> Iterator[int]:
    """After so many turns something is cancelled, until the test has seen it done, and returns."""
    yield from range(1, 200)
    pytest.fail("it was never done")


class MemoryHub:
    """A hub in this event loop, so that each run of a test takes the same turns.

    As behind a network, what has not reached it is never done, and what has is done although whoever asked
    is gone.
    """

    def __init__(self, scripts: Any) -> None:
        self._scripts = scripts
        self._named: dict[str, list[dict[str, Any]]] = {}
        self._doing: set[asyncio.Task[httpx.Response]] = set()
        self.open: dict[str, int] = {}
        """The next step of each session that is open."""
        self.steps = 0
        """Steps that were executed."""

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        await turns(TURNS)
        doing = asyncio.create_task(self._answer(request))
        self._doing.add(doing)
        doing.add_done_callback(self._doing.discard)
        answer = await asyncio.shield(doing)
        await turns(TURNS)
        return answer

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        await turns(1)
        body = json.loads(request.content or b"{}")
        match request.url.path.strip("/").split("/")[1:]:
            case ["envs", "echo"]:
                return httpx.Response(200, json=self._scripts.env(replicas={"total": 9, "free": 9}))
            case ["envs", "echo", "sessions"] | ["sessions", _, "fork"]:
                if body["request_id"] not in self._named:
                    self._named[body["request_id"]] = [self._opened() for _ in range(body["count"])]
                return httpx.Response(200, json={"sessions": self._named[body["request_id"]]})
            case ["sessions", session, "reset"]:
                self.open[session] = 0
                return httpx.Response(200, json=self._scripts.start(body["start_index"]))
            case ["sessions", session, "step"]:
                return httpx.Response(200, json=self._step(session, body["step_index"]))
            case ["step"]:
                results = [self._step(item["session_id"], item["step_index"]) for item in body["steps"]]
                return httpx.Response(200, json={"results": results})
            case ["sessions", session, "snapshot"]:
                point = {"snapshot_id": "p", "step_index": self.open[session], "kind": "replay"}
                return httpx.Response(200, json=point)
            case ["close"]:
                for session in body["session_ids"]:
                    self.open.pop(session, None)
                return httpx.Response(200, json={"results": []})
        raise AssertionError(f"nobody asks for {request.url}")

    def _opened(self) -> dict[str, Any]:
        name = f"s{len(self._named)}-{len(self.open)}"
        self.open[name] = 0
        opened: dict[str, Any] = self._scripts.start(
            0, id=name, env="echo", expires_at=0.0, idle_timeout_s=600.0
        )
        return opened

    def _step(self, session: str, index: int) -> dict[str, Any]:
        if index == self.open[session]:
            self.open[session] += 1
            self.steps += 1
        answer: dict[str, Any] = self._scripts.step(index)
        return answer


async def turns(count: int) -> None:
    for _ in range(count):
        await asyncio.sleep(0)


async def interrupted(work: Awaitable[Any], after: int) -> bool:
    """Cancel something after so many turns of the event loop; return whether it was done by then."""
    task = asyncio.ensure_future(work)
    await turns(after)
    if task.done():
        await task
        return True
    task.cancel()
    await asyncio.wait([task], timeout=GIVE_UP_S)
    assert task.cancelled(), task
    return False


async def reset(env: AsyncEnv) -> Any:
    return await env.reset(seed=1)


async def step(env: AsyncEnv) -> Any:
    return await env.step("a")


Call = Callable[[AsyncEnv], Awaitable[Any]]
CALLS: dict[str, Call] = {
    "reset": reset,
    "step": step,
    "snapshot": lambda env: env.snapshot(),
    "fork": lambda env: env.fork(2),
    "close": lambda env: env.close(),
}


@pytest.mark.parametrize("batch_steps", [False, True])
@pytest.mark.parametrize("call", CALLS)
async def test_after_a_call_that_was_cancelled_the_next_one_works_and_no_session_is_left(
    scripts: Any, call: str, batch_steps: bool
) -> None:
    for after in moments():
        hub = MemoryHub(scripts)
        network = httpx.MockTransport(hub)
        async with AsyncHub("http://hub.test", transport=network, batch_steps=batch_steps) as client:
            env, other = await client.make("echo"), await client.make("echo")
            await asyncio.gather(env.reset(), other.reset())
            beside = asyncio.create_task(other.step("b"))  # with `batch_steps` in one request with the other
            done = await interrupted(CALLS[call](env), after)
            assert (await asyncio.wait_for(beside, GIVE_UP_S))[0] == "o0"
            if call == "close":
                env = await client.make("echo")
            elif call == "step" and not done:
                await asyncio.wait_for(env.step("a"), GIVE_UP_S)
                assert hub.steps == 2
            await asyncio.wait_for(env.reset(), GIVE_UP_S)
            assert (await asyncio.wait_for(env.step("a"), GIVE_UP_S))[0] == "o0"
        assert not hub.open, f"after {after} turns"
        if done:
            assert after > 2 * TURNS
            return


async def test_an_opening_that_was_cancelled_leaves_no_session(scripts: Any) -> None:
    for after in moments():
        hub = MemoryHub(scripts)
        async with AsyncHub("http://hub.test", transport=httpx.MockTransport(hub)) as client:
            env = await client.make("echo")
            done = await interrupted(env.reset(), after)
            await asyncio.wait_for(env.reset(), GIVE_UP_S)
            while client._abandoned:
                await asyncio.wait(client._abandoned, timeout=GIVE_UP_S)
            assert list(hub.open) == [env.session_id], f"after {after} turns"
        assert not hub.open, f"after {after} turns"
        if done:
            return


async def test_a_hub_whose_closing_was_cancelled_can_be_closed_again(scripts: Any) -> None:
    for after in moments():
        hub = MemoryHub(scripts)
        client = AsyncHub("http://hub.test", transport=httpx.MockTransport(hub))
        envs = [await client.make("echo") for _ in range(3)]
        await asyncio.gather(*(env.reset() for env in envs))
        assert not await interrupted(envs[0].close(), 3)
        done = await interrupted(client.close(), after)
        await asyncio.wait_for(client.close(), GIVE_UP_S)
        assert not hub.open, f"after {after} turns"
        if done:
            assert after > 2 * TURNS
            return


async def test_a_block_that_runs_out_of_time_closes_what_it_opened(scripts: Any) -> None:
    for after in moments():
        hub = MemoryHub(scripts)

        async def play(hub: MemoryHub = hub) -> None:
            async with (
                AsyncHub("http://hub.test", transport=httpx.MockTransport(hub)) as client,
                await client.make("echo") as env,
            ):
                await env.reset()
                await env.step("a")
                await env.fork()

        done = await interrupted(play(), after)
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        if others:  # a close that was itself cancelled goes on
            await asyncio.wait(others, timeout=GIVE_UP_S)
        assert not hub.open, f"after {after} turns"
        if done:
            return


@pytest.mark.parametrize("ending", [RuntimeError("a defect"), asyncio.CancelledError()])
@pytest.mark.parametrize("count", [1, 2])
async def test_steps_in_a_request_that_ends_unheard_of_end_too(
    scripts: Any, ending: BaseException, count: int
) -> None:
    script = scripts.hub()
    async with script.async_client(batch_steps=True) as client:
        envs = [await client.make("echo") for _ in range(count)]
        await asyncio.gather(*(env.reset() for env in envs))
        script.script.append(ending)
        stepping = [asyncio.create_task(env.step("a")) for env in envs]
        await asyncio.wait(stepping, timeout=GIVE_UP_S)
        for step in stepping:
            assert step.done()
            assert step.cancelled() or not isinstance(step.exception(), EnvHubError)


@pytest.mark.parametrize("lost_in", ["an error", "an answer"])
async def test_a_cancellation_that_the_network_loses_is_not_lost(scripts: Any, lost_in: str) -> None:
    """A timeout of anyio that ends at the same moment takes it for its own."""
    script, asked = scripts.hub(), asyncio.Event()

    async def network(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/step"):
            asked.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                if lost_in == "an error":
                    raise httpx.ReadTimeout("slow") from None
                return httpx.Response(200, json=scripts.step(0))
        return script(request)  # type: ignore[no-any-return]

    async with AsyncHub("http://hub.test", transport=httpx.MockTransport(network)) as client:
        env = await client.make("echo")
        await env.reset()
        stepping = asyncio.create_task(env.step("a"))
        await asked.wait()
        stepping.cancel()
        await asyncio.wait([stepping], timeout=GIVE_UP_S)
        assert stepping.cancelled()
