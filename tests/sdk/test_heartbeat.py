import asyncio
import gc
import subprocess
import sys
import threading
from typing import Any

import httpx
import pytest

from envhub_sdk import AsyncEnv, AsyncHub, Hub
from envhub_sdk._heartbeat import Beats, HeartbeatThread


class Owner:
    """Somebody who holds a session."""


def _nothing() -> None:
    """Nobody waits to hear of a collection."""


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_session_is_due_after_a_third_of_its_timeout_without_use() -> None:
    clock, owner = Clock(), Owner()
    beats = Beats(_nothing, clock)
    beats.add("a", 30.0, owner, beat=True)
    assert beats.wait_s() == 10.0
    clock.now = 9.0
    beats.used("a")
    assert (beats.wait_s(), beats.take_due()) == (10.0, ([], []))
    clock.now = 19.0
    assert beats.take_due() == (["a"], [])
    assert beats.wait_s() == 10.0
    clock.now = 100.0
    assert beats.wait_s() == 0.0


def test_only_sessions_that_want_it_are_kept_alive() -> None:
    clock, owner = Clock(), Owner()
    beats = Beats(_nothing, clock)
    beats.add("a", 3.0, owner, beat=False)
    beats.add("b", 3.0, owner, beat=True)
    clock.now = 1.0
    assert beats.take_due() == (["b"], [])


def test_a_session_nobody_holds_is_closed() -> None:
    told: list[str] = []
    owner, other = Owner(), Owner()
    beats = Beats(lambda: told.append("collected"), Clock())
    beats.add("a", 3.0, owner, beat=True)
    beats.add("b", 3.0, other, beat=True)
    assert (beats.wait_s(), told) == (1.0, [])
    del owner
    assert (beats.wait_s(), told) == (0.0, ["collected"])
    assert beats.take_due() == ([], ["a"])
    beats.drop("a")
    assert beats.wait_s() == 1.0


def test_nobody_is_told_of_the_owner_of_a_session_that_was_closed() -> None:
    told: list[str] = []
    owner = Owner()
    beats = Beats(lambda: told.append("collected"), Clock())
    beats.add("a", 3.0, owner, beat=True)
    beats.drop("a")
    del owner
    assert told == [] and beats.wait_s() is None


def test_an_owner_may_be_collected_while_the_heart_is_busy(scripts: Any) -> None:
    """Collection happens anywhere: here in a thread that holds the heartbeat's own lock."""
    closed = threading.Event()

    def handler(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/close":
            closed.set()
        return script(request)  # type: ignore[no-any-return]

    script = scripts.hub()
    with Hub("http://hub.test", transport=httpx.MockTransport(handler)) as client:
        env = client.make("echo")
        env.reset()
        with client._heartbeat._lock:
            del env
            gc.collect()
        assert closed.wait(30.0)
        assert script.bodies("/v1/close") == [{"session_ids": ["s0"]}]


@pytest.mark.parametrize("kind", ["Env", "VectorEnv"])
def test_what_is_collected_is_closed_at_once(
    scripts: Any, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """The idle timeout is 600 s: no beat comes within this test. The hub has no other holder either."""
    closed, waits = threading.Event(), threading.Semaphore(0)
    wait = HeartbeatThread._wait

    def told_wait(self: HeartbeatThread, seconds: float) -> None:
        waits.release()
        wait(self, seconds)

    monkeypatch.setattr(HeartbeatThread, "_wait", told_wait)

    def handler(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/close":
            closed.set()
        return script(request)  # type: ignore[no-any-return]

    script = scripts.hub()
    hub = Hub("http://hub.test", transport=httpx.MockTransport(handler))
    env: Any = hub.make("echo") if kind == "Env" else hub.make_vec("echo", 2)
    env.reset()
    thread = hub._heartbeat._thread
    assert thread is not None
    for _ in range(2):  # the first is over at once, with the word that a session was added
        assert waits.acquire(timeout=30.0)
    del hub, env
    gc.collect()
    assert closed.wait(30.0)
    thread.join(30.0)
    assert not thread.is_alive()
    assert script.bodies("/v1/close") == [{"session_ids": ["s0", "s1"][: 1 if kind == "Env" else 2]}]


async def test_what_is_collected_in_another_thread_is_closed_at_once_by_the_event_loop(scripts: Any) -> None:
    closed = asyncio.Event()

    def handler(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/close":
            closed.set()
        return script(request)  # type: ignore[no-any-return]

    script = scripts.hub()
    async with AsyncHub("http://hub.test", transport=httpx.MockTransport(handler)) as client:
        envs = [await client.make("echo")]
        await envs[0].reset()
        for _ in range(3):
            await asyncio.sleep(0)  # the heart gets to wait for the next beat, in 200 s
        await asyncio.to_thread(envs.clear)
        await asyncio.wait_for(closed.wait(), 30.0)
        assert script.bodies("/v1/close") == [{"session_ids": ["s0"]}]


def test_an_environment_may_outlive_its_event_loop(scripts: Any) -> None:
    async def play() -> AsyncEnv:
        client = scripts.hub().async_client()
        env: AsyncEnv = await client.make("echo")
        await env.reset()
        return env

    env = asyncio.run(play())
    del env  # a warning here would be an error
    gc.collect()


def test_a_program_that_is_pasted_twice_finds_its_replica_free_again(scripts: Any) -> None:
    paste = "env = Hub(url).make('echo', wait_s=120)\nprint(repr(env.reset(seed=0)[0]))\n"
    program = f"import sys\nfrom envhub_sdk import Hub\nurl = sys.argv[1]\n{paste * 2}"
    with scripts.serve("--env", "echo=1", "--idle-timeout", "3600") as url:
        command = [sys.executable, "-W", "error", "-c", program, url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("''\n''\n", "")


def test_a_dropped_session_is_forgotten() -> None:
    beats, owner = Beats(_nothing, Clock()), Owner()
    beats.add("a", 3.0, owner, beat=True)
    beats.drop("a", "never there")
    beats.used("a")
    assert "a" not in beats and beats.sessions() == []


class Counting:
    """Wraps a scripted hub; tells when so many keepalives have come."""

    def __init__(self, hub: Any, wanted: int) -> None:
        self.hub, self.wanted = hub, wanted
        self.reached = threading.Event()
        self.seen: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if not request.url.path.endswith("/keepalive"):
            return self.hub(request)  # type: ignore[no-any-return]
        self.seen.append(request.url.path.split("/")[3])
        if len(self.seen) >= self.wanted:
            self.reached.set()
        return httpx.Response(200, json={"expires_at": 0.0})


def test_one_thread_keeps_all_sessions_of_a_hub_alive_and_ends_with_them(scripts: Any) -> None:
    script = scripts.hub()
    script.idle_timeout_s = 0.03
    counting = Counting(script, wanted=9)
    with Hub("http://hub.test", transport=httpx.MockTransport(counting)) as client:
        before = threading.active_count()
        env, envs = client.make("echo"), client.make_vec("echo", 2)
        envs.reset()
        script.script.append(httpx.Response(200, json={"sessions": [_opened(scripts)]}))
        env.reset()
        assert threading.active_count() == before + 1
        assert counting.reached.wait(30.0)
        assert set(counting.seen) == {"s0", "s1", "other"}
        thread = client._heartbeat._thread
        assert thread is not None
        envs.close()
        env.close()
        thread.join(30.0)
        assert not client._heartbeat.running
        env = client.make("echo")
        env.reset()
        assert client._heartbeat.running


def _opened(scripts: Any) -> dict[str, object]:
    start: dict[str, object] = scripts.start(0, id="other", env="echo", expires_at=0.0, idle_timeout_s=0.03)
    return start


def test_a_session_the_hub_does_not_know_any_more_is_dropped(scripts: Any) -> None:
    script = scripts.hub()
    script.idle_timeout_s = 0.03
    asked = threading.Event()

    def handler(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/keepalive"):
            asked.set()
            response: httpx.Response = scripts.error(410, "session_expired")
            return response
        return script(request)  # type: ignore[no-any-return]

    with Hub("http://hub.test", transport=httpx.MockTransport(handler)) as client:
        env = client.make("echo")
        env.reset()
        thread = client._heartbeat._thread
        assert thread is not None and asked.wait(30.0)
        thread.join(30.0)
        assert not client._heartbeat.running


class Failing:
    """Wraps a scripted hub: the first keepalive finds no connection, and closes are told."""

    def __init__(self, hub: Any) -> None:
        self.hub, self.keepalives = hub, 0
        self.again, self.closed = threading.Event(), threading.Event()

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/keepalive"):
            self.keepalives += 1
            if self.keepalives == 1:
                raise httpx.ConnectError("no route")
            self.again.set()
            return httpx.Response(200, json={"expires_at": 0.0})
        if request.url.path == "/v1/close":
            self.closed.set()
        return self.hub(request)  # type: ignore[no-any-return]


def test_a_keepalive_that_fails_is_tried_again_and_an_abandoned_session_closed(scripts: Any) -> None:
    script = scripts.hub()
    script.idle_timeout_s = 0.03
    failing = Failing(script)
    with Hub("http://hub.test", transport=httpx.MockTransport(failing)) as client:
        env = client.make("echo")
        env.reset()
        assert failing.again.wait(30.0)
        del env
        gc.collect()
        assert failing.closed.wait(30.0)
        assert script.bodies("/v1/close") == [{"session_ids": ["s0"]}]


async def test_the_asynchronous_heart_does_the_same(scripts: Any) -> None:
    script = scripts.hub()
    script.idle_timeout_s = 0.03
    failing = Failing(script)
    async with AsyncHub("http://hub.test", transport=httpx.MockTransport(failing)) as client:
        env = await client.make("echo")
        await env.reset()
        assert await asyncio.to_thread(failing.again.wait, 30.0)
        del env
        gc.collect()
        assert await asyncio.to_thread(failing.closed.wait, 30.0)
        assert script.bodies("/v1/close") == [{"session_ids": ["s0"]}]


def test_a_real_session_outlives_its_idle_timeout(url: str) -> None:
    """With 6 s idle timeout and a beat each 2 s, four beats take longer than the timeout."""
    beats = threading.Semaphore(0)

    class Transport(httpx.HTTPTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            response = super().handle_request(request)
            if request.url.path.endswith("/keepalive"):
                beats.release()
            return response

    with Hub(url, transport=Transport()) as hub:
        env = hub.make("echo", idle_timeout_s=6.0)
        env.reset()
        session = env.session_id
        for _ in range(4):
            assert beats.acquire(timeout=30.0)
        assert env.step("still there")[0] == "still there"
        assert env.session_id == session


async def test_one_task_keeps_all_sessions_of_an_asynchronous_hub_alive(url: str) -> None:
    beats = asyncio.Semaphore(0)

    class Transport(httpx.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            response = await super().handle_async_request(request)
            if request.url.path.endswith("/keepalive"):
                beats.release()
            return response

    async with AsyncHub(url, transport=Transport()) as hub:
        envs = [await hub.make("echo", idle_timeout_s=6.0) for _ in range(3)]
        for env in envs:
            await env.reset()
        tasks = [task for task in asyncio.all_tasks() if task.get_name() == "envhub-heartbeat"]
        assert len(tasks) == 1
        for _ in range(12):
            await asyncio.wait_for(beats.acquire(), 30.0)
        for env in envs:
            assert (await env.step("still there"))[0] == "still there"
            await env.close()
        await asyncio.wait_for(tasks[0], 30.0)
        assert not hub._heartbeat.running


async def test_an_asynchronous_session_that_is_gone_is_dropped(scripts: Any) -> None:
    script = scripts.hub()
    script.idle_timeout_s = 0.03

    def handler(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/keepalive"):
            response: httpx.Response = scripts.error(404, "unknown_session")
            return response
        return script(request)  # type: ignore[no-any-return]

    async with AsyncHub("http://hub.test", transport=httpx.MockTransport(handler)) as client:
        env = await client.make("echo")
        await env.reset()
        task = client._heartbeat._task
        assert task is not None
        await asyncio.wait_for(task, 30.0)
        assert not client._heartbeat.running


@pytest.mark.parametrize("beat", [True, False])
def test_a_session_may_go_without_heartbeat(scripts: Any, beat: bool) -> None:
    script = scripts.hub()
    with script.client() as client:
        env = client.make("echo", heartbeat=beat)
        env.reset()
        assert client._heartbeat._beats._entries["s0"].beat is beat


@pytest.mark.parametrize("turns", range(4))
async def test_what_changes_just_before_a_hub_is_closed_does_not_keep_it_open(url: str, turns: int) -> None:
    hub = AsyncHub(url)
    env = await hub.make("echo")
    await env.reset()
    await asyncio.sleep(0)
    hub._heartbeat._changed.set()  # as when somebody who held a session is gone
    for _ in range(turns):
        await asyncio.sleep(0)
    async with asyncio.timeout(60.0):
        await hub.close()
