"""Real hubs behind real uvicorn, and clients whose every answer is checked against the schema."""

import asyncio
import contextlib
import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import jsonschema
import pytest
import referencing
import uvicorn
import uvloop
from websockets.sync.client import ClientConnection, connect

from envhub.pool import PoolPlan
from envhub.server import Hub, HubSettings, create_app, http_protocol
from envhub.server._schema import CALLS, build_schema
from envhub.session import SessionSettings
from envhub.spec import Spec, find

SCHEMA = build_schema("EnvHub", "0")
PATTERNS = {call.path: re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(call.path))) for call in CALLS}


class Server:
    """A hub that serves in a thread of its own, with the event loop of the real command."""

    def __init__(self, plans: list[PoolPlan], settings: HubSettings) -> None:
        self.settings = settings
        self._plans = plans
        self._up = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._up.wait()
        if self._failure:
            raise self._failure

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            try:
                runner.run(self._serve())
            except BaseException as failure:
                self._failure = failure
                self._up.set()

    async def _serve(self) -> None:
        self.hub = Hub(self._plans, self.settings)
        server = uvicorn.Server(
            uvicorn.Config(
                create_app(self.hub),
                loop="none",
                http=http_protocol(self.settings.request_timeout_s),
                ws="websockets-sansio",
                ws_max_size=self.settings.max_body_bytes,
                ws_per_message_deflate=False,
                lifespan="off",
                log_config=None,
                timeout_graceful_shutdown=1,
            )
        )
        self._connections = server.server_state.connections
        listener = socket.create_server(("127.0.0.1", 0))
        self.address: tuple[str, int] = listener.getsockname()
        self.url = f"http://127.0.0.1:{self.address[1]}"
        self.loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        await self.hub.start()
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        while not server.started:
            await asyncio.sleep(0.01)
        self._up.set()
        await self._stop.wait()
        server.should_exit = True
        await asyncio.gather(self.hub.stop(), serving)

    def stop(self) -> None:
        if not self._thread.is_alive():
            return
        self.loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(20)
        assert not self._thread.is_alive()

    def do(self, work: Callable[[], Any]) -> Any:
        """Do something in the hub's own thread."""

        async def inside() -> Any:
            return work()

        return asyncio.run_coroutine_threadsafe(inside(), self.loop).result(20)

    def client(self, **options: Any) -> httpx.Client:
        """A client that holds every answer against the schema."""
        return httpx.Client(
            base_url=self.url, timeout=20, event_hooks={"response": [check_response]}, **options
        )

    def stream(self, **options: Any) -> ClientConnection:
        return connect(
            self.url.replace("http", "ws") + "/v1/stream", compression=None, legacy=True, **options
        )

    @contextlib.contextmanager
    def raw(self) -> Iterator[socket.socket]:
        """A plain connection to write half-truths into."""
        with socket.create_connection(self.address, timeout=20) as connection:
            yield connection

    def connections(self) -> int:
        """How many clients are connected."""
        return int(self.do(lambda: len(self._connections)))

    def free(self, env: str) -> int:
        return int(self.do(lambda: self.hub.pools[env].status().free))


# -- the schema -------------------------------------------------------------------------------------

_registry = referencing.Registry().with_resource(
    "urn:api", referencing.Resource(SCHEMA, referencing.jsonschema.DRAFT202012)
)


def validate(value: Any, schema: dict[str, Any]) -> None:
    absolute = json.loads(json.dumps(schema).replace('"#/', '"urn:api#/'))
    jsonschema.Draft202012Validator(absolute, registry=_registry).validate(value)


def operation(method: str, path: str) -> dict[str, Any] | None:
    """What the schema says of a call."""
    for template, pattern in sorted(PATTERNS.items(), key=lambda item: item[0].count("{")):
        if pattern.fullmatch(path):
            found: dict[str, Any] | None = SCHEMA["paths"][template].get(method.lower())
            return found
    return None


def check_response(response: httpx.Response) -> None:
    """Fail when an answer is not what the schema says of its call and status."""
    response.read()
    assert response.headers["x-request-id"]
    call = operation(response.request.method, response.request.url.path)
    if response.status_code >= 400:
        check_error(response)
    if call is None:
        return
    described = call["responses"].get(str(response.status_code))
    assert described is not None, f"{response.request!r} answered {response.status_code}: {response.text}"
    if "content" not in described:
        assert response.content == b""
        return
    media_type = response.headers["content-type"].partition(";")[0]
    schema = described["content"][media_type]["schema"]
    if media_type == "application/json":
        validate(response.json(), schema)
    if response.status_code >= 400:
        assert f"`{response.json()['error']['code']}`" in described["description"], response.text
    elif "requestBody" in call and hasattr(response.request, "_content") and response.request.content:
        accepted = call["requestBody"]["content"]["application/json"]["schema"]
        validate(json.loads(response.request.content), accepted)


def check_error(response: httpx.Response) -> None:
    """Every error has one shape, and its code belongs to its status."""
    from envhub_sdk._wire import CODES

    body = response.json()
    assert set(body) == {"error"}
    assert {"code", "message"} <= set(body["error"]) <= {"code", "message", "details"}
    assert CODES[body["error"]["code"]].status == response.status_code
    assert response.status_code != 500, response.text
    assert body["error"]["message"]


# -- fixtures ---------------------------------------------------------------------------------------

PAINTER = """
import numpy as np
from gymnasium import spaces

class Env:
    action_space = spaces.Box(-1.0, 1.0, (2,), np.float32)
    observation_space = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    metadata = {"render_modes": ["rgb_array"]}

    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32), {"big": np.int64(7)}

    def step(self, action):
        return action * np.float32("nan"), np.float32(0.5), False, False, {}

    def render(self):
        return np.full((2, 3, 3), 9, np.uint8)

    def data_info(self):
        return {"name": "colours", "digest": "sha256:00"}
"""


def plan(spec: str | Spec, replicas: int = 4, **settings: object) -> PoolPlan:
    found = find(spec) if isinstance(spec, str) else spec
    return PoolPlan(found.resolve(settings), replicas, 1)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A hub of echo with its faults, frozenlake and an environment of arrays and pictures."""
    folder = tmp_path_factory.mktemp("painter")
    (folder / "painter_env.py").write_text(PAINTER)
    (folder / "envhub.toml").write_text(
        'name = "painter"\nversion = "1"\nsummary = "arrays"\nentry_point = "painter_env:Env"\n'
        '[action]\ndescription = "a point"\n[observation]\ndescription = "a point"\n'
    )
    faults = {"fail_on": "fail", "hang_on": "hang", "exit_on": "exit", "step_timeout_s": 0.3}
    running = Server(
        [plan("echo", 8, **faults), plan("frozenlake"), plan(find(str(folder)))],
        HubSettings(max_body_bytes=200_000, sessions=SessionSettings(wait_s=600.0)),
    )
    yield running
    running.stop()


@pytest.fixture
def client(server: Server, wait_until: Any) -> Iterator[httpx.Client]:
    """A client of the shared hub; whatever it leaves open is closed, and every replica must come back."""
    with server.client() as one:
        yield one
    server.do(server.hub.sessions.close_all)
    for name, pool in server.hub.pools.items():
        wait_until(lambda name=name, pool=pool: server.free(name) == pool.status().total)


@pytest.fixture
def make_server() -> Iterator[Callable[..., Server]]:
    """Start a hub of its own for one test."""
    running: list[Server] = []

    def make(*plans: PoolPlan, **settings: Any) -> Server:
        running.append(Server(list(plans) or [plan("echo")], HubSettings(**settings)))
        return running[-1]

    yield make
    for one in running:
        one.stop()


@pytest.fixture(scope="session")
def make_plan() -> Callable[..., PoolPlan]:
    return plan


@pytest.fixture
def open_one(client: httpx.Client) -> Callable[..., dict[str, Any]]:
    """Open one session over HTTP."""

    def open_it(env: str = "echo", **request: Any) -> dict[str, Any]:
        answer = client.post(f"/v1/envs/{env}/sessions", json=request)
        assert answer.status_code == 200, answer.text
        opened: dict[str, Any] = answer.json()["sessions"][0]
        return opened

    return open_it
