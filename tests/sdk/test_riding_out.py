"""A hub that goes away and comes back: killed and started again, or behind a network that is down."""

import asyncio
import contextlib
import json
import logging
import socket
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

import envhub_sdk
from envhub_sdk import AsyncHub, Hub, _retry
from envhub_sdk._calls import CLOSE_AWAY_S
from envhub_sdk._heartbeat import Beats

AWAY = {
    "refused": httpx.ConnectError("refused"),
    "cut": httpx.RemoteProtocolError("cut"),
    "starting": (503, "not_ready"),
    "gateway": httpx.Response(502, text="<html>bad gateway"),
}


class Clock:
    """A clock that a sleep puts forward."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    async def asleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of every retry, with the real pauses."""
    made = Clock()
    monkeypatch.setattr(_retry, "FIRST_PAUSE_S", 0.2)
    monkeypatch.setattr(_retry, "time", made)
    monkeypatch.setattr("envhub_sdk._hub.time", made)
    monkeypatch.setattr(
        "envhub_sdk._async_hub.asyncio", types.SimpleNamespace(**{**vars(asyncio), "sleep": made.asleep})
    )
    return made


def no_envs() -> httpx.Response:
    return httpx.Response(200, json={"envs": []})


class Absent:
    """A hub that answers at first, then is away until a moment of the clock.

    Attributes:
        asked: How often it was asked while it was away.
    """

    def __init__(self, clock: Clock, scripts: Any, how: str, until: float, reached: bool = True) -> None:
        self._clock, self._scripts, self._until = clock, scripts, until
        self._how = AWAY[how]
        self._fresh = reached
        self.asked = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if self._fresh or self._clock.now >= self._until:
            self._fresh = False
            return no_envs()
        self.asked += 1
        if isinstance(self._how, Exception):
            raise self._how
        return self._how if isinstance(self._how, httpx.Response) else self._scripts.error(*self._how)  # type: ignore[no-any-return]

    def client(self, **options: Any) -> Hub:
        return Hub("http://hub.test", transport=httpx.MockTransport(self), **options)


@pytest.mark.parametrize("how", AWAY)
def test_a_hub_that_was_there_before_is_waited_for(clock: Clock, scripts: Any, how: str) -> None:
    absent = Absent(clock, scripts, how, clock.now + 50.0)
    with absent.client() as client:
        client.envs()
        assert client.envs() == []
    assert absent.asked > 10


@pytest.mark.parametrize("how", AWAY)
def test_patience_ends_and_is_not_had_again_before_the_hub_is_back(
    clock: Clock, scripts: Any, how: str
) -> None:
    absent = Absent(clock, scripts, how, clock.now + 70.0)
    with absent.client(patience_s=30.0) as client:
        client.envs()
        before = clock.now
        with pytest.raises(envhub_sdk.EnvHubError):
            client.envs()
        assert 24.0 <= clock.now - before < 30.0
        if how != "starting":  # a hub that says so is there
            before, asked = clock.now, absent.asked
            with pytest.raises(envhub_sdk.EnvHubError):
                client.envs()
            assert clock.now - before < 10.0 and absent.asked == asked + 6
        clock.now += 70.0
        assert client.envs() == []
        absent._until = clock.now + 25.0
        assert client.envs() == []


@pytest.mark.parametrize("how", ["refused", "cut", "gateway"])
def test_a_hub_that_never_answered_is_soon_given_up(clock: Clock, scripts: Any, how: str) -> None:
    absent = Absent(clock, scripts, how, clock.now + 50.0, reached=False)
    before = clock.now
    with absent.client() as client, pytest.raises(envhub_sdk.EnvHubError):
        client.envs()
    assert absent.asked == 6 and clock.now - before < 10.0


def test_a_hub_that_is_starting_has_answered(clock: Clock, scripts: Any) -> None:
    absent = Absent(clock, scripts, "starting", clock.now + 50.0, reached=False)
    with absent.client() as client:
        assert client.envs() == []


def test_an_open_waits_for_a_hub_that_starts_again_beyond_what_it_waits_for_a_replica(
    clock: Clock, scripts: Any
) -> None:
    hub = scripts.hub(scripts.error(503, "not_ready", retry_after="20"), httpx.ConnectError("refused"))
    with hub.client() as client:
        env = client.make("echo", wait_s=1.0)
        assert env.reset()[0] == "start"


@pytest.mark.parametrize("options", [{"retries": 0}, {"patience_s": 0.0, "retries": 2}])
def test_whoever_wants_to_know_at_once_does(clock: Clock, scripts: Any, options: dict[str, Any]) -> None:
    absent = Absent(clock, scripts, "refused", clock.now + 50.0)
    with absent.client(**options) as client:
        client.envs()
        with pytest.raises(envhub_sdk.ConnectFailed):
            client.envs()
    assert absent.asked == 1 + options["retries"]


class Restarting:
    """A hub with sessions that can be away; `closed` is what it was told to close."""

    def __init__(self, hub: Any) -> None:
        self._hub = hub
        self.back = 0.0
        self.closed: list[str] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if _retry.time.monotonic() < self.back:
            raise httpx.ConnectError("refused")
        if request.url.path == "/v1/close":
            self.closed += json.loads(request.content)["session_ids"]
        return self._hub(request)  # type: ignore[no-any-return]


def test_a_close_reaches_a_hub_that_is_being_started_again(clock: Clock, scripts: Any) -> None:
    hub = Restarting(scripts.hub())
    with Hub("http://hub.test", transport=httpx.MockTransport(hub)) as client:
        env = client.make("echo")
        env.reset()
        session, hub.back = env.session_id, clock.now + 10.0
        env.close()
        assert hub.closed == [session]


async def test_an_asynchronous_close_does_too(clock: Clock, scripts: Any) -> None:
    hub = Restarting(scripts.hub())
    client = AsyncHub("http://hub.test", transport=httpx.MockTransport(hub))
    env = await client.make("echo")
    await env.reset()
    session, hub.back = env.session_id, clock.now + 10.0
    await client.close()
    assert hub.closed == [session]


def test_closing_waits_a_bounded_time_in_all_for_a_hub_that_is_gone(
    clock: Clock, scripts: Any, caplog: pytest.LogCaptureFixture
) -> None:
    hub = Restarting(scripts.hub())
    with Hub("http://hub.test", transport=httpx.MockTransport(hub)) as client:
        envs = [client.make("echo") for _ in range(5)]
        for env in envs:
            env.reset()
        before, hub.back = clock.now, clock.now + 1e9
        sessions = [env.session_id for env in envs]
        for env in envs:
            env.close()
        assert 5.0 < clock.now - before < CLOSE_AWAY_S
    assert hub.closed == []
    given_up = [message for message in caplog.messages if "expire there" in message]
    assert len(given_up) == len(sessions)
    for session, message in zip(sessions, given_up, strict=True):
        assert f"that {session} is closed (" in message


async def test_an_asynchronous_close_that_is_given_up_says_when_the_sessions_expire(
    clock: Clock, scripts: Any, caplog: pytest.LogCaptureFixture
) -> None:
    hub = Restarting(scripts.hub())
    client = AsyncHub("http://hub.test", transport=httpx.MockTransport(hub))
    env = await client.make("echo")
    await env.reset()
    session, hub.back = env.session_id, clock.now + 1e9
    await client.close()
    (given_up,) = [message for message in caplog.messages if "expire there" in message]
    assert session in given_up and "after 600 s without use, by " in given_up


async def test_the_asynchronous_twin_is_as_patient(clock: Clock, scripts: Any) -> None:
    absent = Absent(clock, scripts, "refused", clock.now + 50.0)
    client = AsyncHub("http://hub.test", transport=httpx.MockTransport(absent))
    await client.envs()
    assert await client.envs() == []
    await client._client.aclose()


def test_a_keepalive_that_did_not_get_through_is_repeated_sooner() -> None:
    now = [0.0]
    owner = threading.Event()
    beats = Beats(lambda: None, clock=lambda: now[0])
    beats.add("s", 90.0, owner, beat=True)
    now[0] = 30.0
    assert beats.take_due() == (["s"], [])
    beats.failed("s")
    assert beats.wait_s() == 10.0
    beats.failed("gone")
    beats.used("s")
    assert beats.wait_s() == 30.0


# -- a real hub behind a network that fails -----------------------------------------------------------


class Cable:
    """A TCP relay to a hub that can be pulled out and plugged in again, at one address."""

    def __init__(self, hub_url: str) -> None:
        self._hub = httpx.URL(hub_url)
        self._port = 0
        self._ends: list[socket.socket] = []
        self._lock = threading.Lock()
        self.plug_in()
        self.url = f"http://127.0.0.1:{self._port}"

    def plug_in(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", self._port))
        self._port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def pull(self) -> None:
        """New connections are refused, those that exist break."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        with self._lock:
            ends, self._ends = self._ends, []
        _shut(*ends)

    def _accept(self, listener: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self._serve, args=(listener.accept()[0],), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with client, socket.create_connection((self._hub.host, self._hub.port or 80)) as hub:
            with self._lock:
                self._ends += [client, hub]
            back = threading.Thread(target=_relay, args=(hub, client), daemon=True)
            back.start()
            _relay(client, hub)
            back.join()


def _relay(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    _shut(source, target)


def _shut(*ends: socket.socket) -> None:
    for end in ends:
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


class After(logging.Handler):
    """Does something once the client has asked again so many times."""

    def __init__(self, retries: int, action: Callable[[], object]) -> None:
        super().__init__()
        self._left, self._action = retries, action

    def emit(self, record: logging.LogRecord) -> None:
        self._left -= 1
        if self._left == 0:
            self._action()


@contextlib.contextmanager
def after_retries(count: int, action: Callable[[], object]) -> Iterator[None]:
    handler = After(count, action)
    logger = logging.getLogger("envhub_sdk")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
    assert handler._left <= 0, "the client never noticed that the hub was away"


@pytest.fixture
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_retry, "FIRST_PAUSE_S", 0.002)
    monkeypatch.setattr(_retry, "LONGEST_PAUSE_S", 0.05)


@pytest.mark.usefixtures("short_pauses")
def test_a_run_through_outages_is_the_run_without(url: str, hub: Hub) -> None:
    cable = Cable(url)
    runs = []
    with Hub(cable.url) as client:
        for where in (hub, client):
            seen: list[Any] = []
            with where.make("CartPole-v1") as env:
                for episode in range(3):
                    with contextlib.ExitStack() as outage:
                        if where is client and episode:
                            cable.pull()
                            outage.enter_context(after_retries(8, cable.plug_in))
                        seen.append(env.reset(seed=episode))
                    for action in (0, 1, 1):
                        with contextlib.ExitStack() as outage:
                            if where is client:
                                cable.pull()
                                outage.enter_context(after_retries(8, cable.plug_in))
                            seen.append(env.step(action))
            runs.append(str(seen))
    cable.pull()
    assert runs[0] == runs[1]


@pytest.mark.usefixtures("short_pauses")
async def test_many_episodes_at_once_survive_an_outage(url: str) -> None:
    def policy(observation: Any, info: Any) -> str:
        played.append(observation)
        if len(played) == 100:
            cable.pull()
        return "on"

    cable, played = Cable(url), []
    async with AsyncHub(cable.url) as client:
        with after_retries(60, cable.plug_in):
            episodes = await client.collect("echo", policy, episodes=100, concurrency=16)
    cable.pull()
    assert [episode.error for episode in episodes] == [None] * 100
    assert {episode.steps for episode in episodes} == {3}


# -- a real hub that is killed and started again ------------------------------------------------------


@pytest.mark.usefixtures("short_pauses")
def test_a_hub_that_was_killed_is_waited_for_and_says_that_it_lost_its_sessions(
    mortal: Callable[..., Any],
) -> None:
    hub = mortal("--env", "frozenlake=2")
    with Hub(hub.url) as client, client.make("frozenlake") as env:
        start = env.reset(seed=1)
        hub.restart()
        with pytest.raises(envhub_sdk.UnknownSession):
            env.step("left")
        hub.restart()
        assert env.reset(seed=1) == start
        hub.restart()
        assert client.env("frozenlake").name == "frozenlake"


def test_the_asynchronous_twin_waits_for_a_hub_that_was_killed(
    mortal: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_retry, "FIRST_PAUSE_S", 0.05)
    hub = mortal("--env", "echo=2")

    async def run() -> None:
        async with AsyncHub(hub.url) as client, await client.make("echo") as env:
            await env.reset()
            hub.restart()
            with pytest.raises(envhub_sdk.UnknownSession):
                await env.step("x")
            await env.reset()

    asyncio.run(run())


@pytest.mark.usefixtures("short_pauses")
@pytest.mark.parametrize(
    ("name", "actions"), [("webshop", ["search[tea]", "click[back to search]"]), ("CartPole-v1", [0, 1])]
)
def test_a_run_on_a_hub_that_keeps_its_state_survives_its_deaths(
    mortal: Callable[..., Any], tmp_path: Path, name: str, actions: list[Any]
) -> None:
    source = name if name == "webshop" else f"gymnasium:{name}"
    hub = mortal("--env", f"{source}=2", "--state-dir", str(tmp_path / "state"))
    runs = []
    with Hub(hub.url) as client:
        for deadly in (False, True):
            seen: list[Any] = []
            with client.make(name) as env:
                seen.append(env.reset(seed=5))
                seen.append(env.step(actions[0]))
                if deadly:
                    hub.restart()
                seen.append(env.step(actions[1]))
                (fork,) = env.fork()
                seen.append(fork.step(actions[0]))
                if deadly:
                    hub.restart()
                seen += [fork.step(actions[1]), env.step(actions[0]), env.trajectory().observations]
                if deadly:
                    hub.restart()
                seen.append(env.reset(seed=6))
                fork.close()
            runs.append(str(seen))
        assert client.sessions() == []
    assert runs[0] == runs[1]


@pytest.mark.usefixtures("short_pauses")
def test_what_was_opened_just_before_a_death_is_found_by_the_repeat(
    mortal: Callable[..., Any], tmp_path: Path
) -> None:
    hub = mortal("--env", "echo=1", "--state-dir", str(tmp_path / "state"))
    with Hub(hub.url) as client:
        call = client.make("echo")._session.open_call(0, None)
        first = client._send(call)
        hub.restart()
        assert client._send(call).sessions[0].id == first.sessions[0].id
