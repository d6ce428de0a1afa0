"""Whatever happens to requests, answers and workers on the way, a run is the run without it."""

import collections
import contextlib
import os
import random
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import envhub_sdk
from envhub_sdk import Env, Hub, Snapshot, _retry

ACTIONS = {
    "echo": ["a", "b", "ü" * 50],
    "frozenlake": ["left", "down", "right", "up"],
    "webshop": ["search[red shoes]", "click[next >]", "click[back to search]", "search[tea]"],
}
FATES = ["request lost", "answer lost", "taken twice", "taken at once twice", "taken late"]
"""What the network does to a request and its answer; "taken late": after the client asked again."""


class Weather:
    """A relay to a hub that treats each request as it was told, in order.

    Attributes:
        fates: What happens to the next requests; afterwards nothing does.
        happened: How often each thing happened.
    """

    def __init__(self, hub_url: str) -> None:
        self._hub = httpx.URL(hub_url)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.fates: collections.deque[str] = collections.deque()
        self.happened: collections.Counter[str] = collections.Counter()
        self._late: list[bytes] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._relay, args=(connection,), daemon=True).start()

    def _relay(self, client: socket.socket) -> None:
        with client:
            while request := _message(client):
                fate = self.fates.popleft() if self.fates else ""
                self.happened[fate] += 1
                if fate == "taken late":
                    self._late.append(request)
                if fate in ("request lost", "taken late"):
                    return
                if fate == "taken at once twice":
                    twin = threading.Thread(target=self._ask, args=(request,))
                    twin.start()
                    answer = self._ask(request)
                    twin.join()
                else:
                    answer = self._ask(request)
                if fate == "taken twice":
                    answer = self._ask(request)
                while self._late:
                    self._ask(self._late.pop())
                if fate == "answer lost":
                    return
                client.sendall(answer)

    def _ask(self, request: bytes) -> bytes:
        with socket.create_connection((self._hub.host, self._hub.port or 80)) as hub:
            hub.sendall(request)
            return _message(hub)


def _message(source: socket.socket) -> bytes:
    """Read one HTTP message with a Content-Length, or nothing at the end."""
    with source.makefile("rb") as lines:
        head, length = b"", 0
        for line in lines:
            head += line
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
            if line == b"\r\n":
                return head + lines.read(length)
    return b""


class Run:
    """Plays a script on one environment and its forks, and notes what it sees."""

    def __init__(self, hub: Hub, name: str) -> None:
        self.name = name
        self.envs: list[Env] = [hub.make(name)]
        self.snapshots: list[Snapshot] = []
        self.seen: list[Any] = [self.envs[0].reset(seed=0)]

    def do(self, what: str, number: int) -> None:
        env = self.envs[number % len(self.envs)]
        try:
            self.seen.append(self._result(env, what, number))
        except envhub_sdk.EpisodeOver as over:
            self.seen.append(over.code)

    def _result(self, env: Env, what: str, number: int) -> Any:
        if what == "step":
            return env.step(ACTIONS[self.name][number % len(ACTIONS[self.name])])
        if what == "reset":
            return env.reset(seed=number)
        if what == "snapshot":
            self.snapshots.append(env.snapshot())
            return self.snapshots[-1].step_index
        if what == "restore" and self.snapshots:
            return env.restore(self.snapshots[number % len(self.snapshots)])
        if what == "fork" and len(self.envs) < 3:
            self.envs += env.fork()
        return None

    def end(self) -> list[Any]:
        """What was seen, and the hub's own record of each last episode."""
        records = [env.trajectory() for env in self.envs]
        for env in self.envs:
            env.close()
        return [*self.seen, *((r.actions, r.observations, r.rewards, r.infos, r.seed) for r in records)]


STEPS = st.tuples(
    st.sampled_from(["step"] * 6 + ["reset", "snapshot", "restore", "fork"]),
    st.integers(0, 11),
    st.lists(st.sampled_from(FATES), max_size=2),
    st.integers(0, 9).map(lambda kill: kill == 0),
)
"""What to do, a number that chooses how, what happens to its requests, whether a worker is killed before."""


@pytest.fixture
def storm(mortal: Callable[..., Any]) -> Iterator[tuple[Any, Weather]]:
    """A hub, and a relay to it."""
    served = mortal("--env", "echo=40", "--env", "frozenlake=40", "--env", "webshop=40")
    between = Weather(served.url)
    yield served, between
    between.close()


class Killer:
    """Kills a worker of a hub now and then, each time another one."""

    def __init__(self, hub: Any, processes: Any) -> None:
        self._hub, self._processes = hub, processes
        self._choice = random.Random(0)
        self.kills = 0

    def __call__(self) -> None:
        workers = self._processes.descendants(self._hub.pid) - self._processes.children(self._hub.pid)
        if workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._choice.choice(sorted(workers)), signal.SIGKILL)
            self.kills += 1


def test_any_interleaving_of_losses_repeats_and_deaths_gives_the_clean_run(
    storm: tuple[Any, Weather], processes: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    served, weather = storm
    monkeypatch.setattr(_retry, "FIRST_PAUSE_S", 0.001)
    kill_a_worker = Killer(served, processes)

    @settings(max_examples=50, deadline=None)
    @given(name=st.sampled_from(sorted(ACTIONS)), script=st.lists(STEPS, min_size=4, max_size=14))
    def check(name: str, script: list[Any]) -> None:
        with Hub(served.url) as hub, Hub(weather.url) as client:
            clean = Run(hub, name)
            for what, number, _, _ in script:
                clean.do(what, number)
            expected = clean.end()
            stormy = Run(client, name)
            for what, number, fates, death in script:
                if death:
                    kill_a_worker()
                weather.fates.extend(fates)
                stormy.do(what, number)
            weather.fates.clear()
            held = sorted(state.id for state in hub.sessions())
            assert held == sorted(env.session_id or "" for env in stormy.envs), "a replica is held for nobody"
            assert stormy.end() == expected

    check()
    assert kill_a_worker.kills > 10 and all(weather.happened[fate] > 10 for fate in FATES)


VECTOR_STEPS = st.tuples(
    st.sampled_from(["step"] * 7 + ["reset"]),
    st.tuples(*[st.sampled_from(ACTIONS["frozenlake"])] * 3),
    st.lists(st.sampled_from(FATES), max_size=2),
    st.integers(0, 9).map(lambda kill: kill == 0),
)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep"])
def test_any_interleaving_leaves_a_vector_environment_its_clean_run(
    storm: tuple[Any, Weather], processes: Any, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    served, weather = storm
    monkeypatch.setattr(_retry, "FIRST_PAUSE_S", 0.001)
    kill_a_worker = Killer(served, processes)

    @settings(max_examples=12, deadline=None)
    @given(script=st.lists(VECTOR_STEPS, min_size=8, max_size=20))
    def check(script: list[Any]) -> None:
        runs = []
        for where in (served.url, weather.url):
            with Hub(where) as hub:
                envs = hub.make_vec("frozenlake", 3, autoreset_mode=mode)
                seen: list[Any] = [envs.reset(seed=1)]
                for what, actions, fates, death in script:
                    if where == weather.url:
                        if death:
                            kill_a_worker()
                        weather.fates.extend(fates)
                    seen.append(envs.reset() if what == "reset" else envs.step(actions))
                weather.fates.clear()
                envs.close()
                runs.append(str(seen))
        assert runs[0] == runs[1]

    check()
    assert kill_a_worker.kills > 3
