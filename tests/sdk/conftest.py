"""Hubs for the tests of the SDK: real ones in their own process, and scripted ones without a network."""

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator

import httpx
import pytest

from envhub_sdk import AsyncHub, Hub, _retry

from ..hubs import serving

REPLICAS = 64


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_retry, "FIRST_PAUSE_S", 0.0)


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """A hub that serves echo (episodes of 3 steps), frozenlake, webshop and CartPole-v1."""
    envs = (f"echo={REPLICAS}", "frozenlake=4", "webshop=4", "gymnasium:CartPole-v1=4")
    arguments = [part for env in envs for part in ("--env", env)]
    faults = ("echo.length=3", "echo.fail_on=fail", "echo.exit_on=exit")
    settings = [part for fault in faults for part in ("--set", fault)]
    with serving(*arguments, *settings) as where:
        yield where


@pytest.fixture(scope="session")
def guarded_url() -> Iterator[str]:
    """A hub with one replica of echo that asks for the token "secret"."""
    with serving("--env", "echo=1", "--token", "secret") as where:
        yield where


@pytest.fixture
def hub(url: str) -> Iterator[Hub]:
    with Hub(url) as client:
        yield client


# -- scripted hubs ----------------------------------------------------------------------------------

Handler = Callable[[httpx.Request], httpx.Response]

TEXT = {"type": "Text", "min_length": 0, "max_length": 100, "charset": None}


def env_json(**changes: object) -> dict[str, object]:
    """What a hub says of an environment."""
    return {
        "name": "echo",
        "version": "1.0.0",
        "summary": "",
        "action": {"description": "", "space": TEXT},
        "observation": {"description": "", "space": TEXT},
        "splits": {},
        "limits": {"step_timeout_s": 10.0, "reset_timeout_s": 30.0},
        "config": {},
        "data": {"name": "none", "digest": "sha256:00"},
        "replicas": {"total": 4, "free": 4, "queued": 0},
        "workers": 1,
        "isolation": "host",
        "lock_digest": None,
        "native_snapshot": False,
        "render": False,
    } | changes


def error_response(status: int, code: str, **headers: str) -> httpx.Response:
    body = {"error": {"code": code, "message": f"about {code}", "details": {"fact": 1}}}
    return httpx.Response(status, json=body, headers={k.replace("_", "-"): v for k, v in headers.items()})


class ScriptedHub:
    """Answers `GET /v1/envs/echo` and opens; everything else comes from the script, in order.

    Attributes:
        requests: What was asked, apart from the environment's description.
    """

    def __init__(self, *script: httpx.Response | Exception, env: dict[str, object] | None = None) -> None:
        self.script = list(script)
        self.env = env or env_json()
        self.idle_timeout_s = 600.0
        self.requests: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        if request.url.path == "/v1/envs/echo":
            return httpx.Response(200, json=self.env)
        self.requests.append(request)
        if request.url.path == "/v1/envs/echo/sessions" and not self.script:
            return self._open(json.loads(request.content))
        if request.url.path == "/v1/close":
            return httpx.Response(200, json={"results": []})
        answer = self.script.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def _open(self, request: dict[str, object]) -> httpx.Response:
        assert isinstance(request["count"], int)
        sessions = [
            start_json(0, id=f"s{i}", env="echo", expires_at=0.0, idle_timeout_s=self.idle_timeout_s)
            for i in range(request["count"])
        ]
        return httpx.Response(200, json={"sessions": sessions})

    def bodies(self, path: str) -> list[dict[str, object]]:
        """The JSON of every request to a path."""
        return [json.loads(request.content) for request in self.requests if request.url.path == path]

    def client(self, **options: object) -> Hub:
        return Hub("http://hub.test", transport=httpx.MockTransport(self), **options)  # type: ignore[arg-type]

    def async_client(self, **options: object) -> AsyncHub:
        return AsyncHub("http://hub.test", transport=httpx.MockTransport(self), **options)  # type: ignore[arg-type]


def start_json(episode: int, **more: object) -> dict[str, object]:
    start = {
        "observation": "start",
        "info": {},
        "step_index": 0,
        "episode_id": f"e{episode}",
        "seed": episode,
    }
    return start | more


def step_json(index: int, *, ended: bool = False, **more: object) -> dict[str, object]:
    step = {"observation": f"o{index}", "reward": 1.0, "terminated": ended, "truncated": False, "info": {}}
    return step | {"step_index": index} | more


class Scripts:
    """What the tests of scripted hubs, and of hubs of their own, need, in one fixture."""

    serve = staticmethod(serving)
    hub = staticmethod(ScriptedHub)
    env = staticmethod(env_json)
    start = staticmethod(start_json)
    step = staticmethod(step_json)
    error = staticmethod(error_response)


@pytest.fixture
def scripts() -> type[Scripts]:
    return Scripts


# -- broken connections -----------------------------------------------------------------------------


class CuttingProxy:
    """A TCP proxy before a hub that can swallow answers: the request arrives, its answer does not.

    Attributes:
        cut: Answers still to be swallowed.
        only: Only requests that hold these bytes are affected.
    """

    def __init__(self, hub_url: str) -> None:
        self._hub = httpx.URL(hub_url)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.cut = 0
        self.only = b""
        self.swallowed = 0
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
        with client, socket.create_connection((self._hub.host, self._hub.port or 80)) as hub:
            while request := _message(client):
                hub.sendall(request)
                answer = _message(hub)
                if self.cut and self.only in request:
                    self.cut -= 1
                    self.swallowed += 1
                    return
                client.sendall(answer)


def _message(source: socket.socket) -> bytes:
    """Read one HTTP message with a Content-Length, or nothing at the end."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = source.recv(65536)
        if not part:
            return b""
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.split(b":")[1])
    while len(body) < length:
        body += source.recv(65536)
    return head + b"\r\n\r\n" + body


@pytest.fixture
def proxy(url: str) -> Iterator[CuttingProxy]:
    """A proxy before the hub of `url`."""
    between = CuttingProxy(url)
    yield between
    between.close()
