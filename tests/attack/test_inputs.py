"""Inputs no client would send, to the calls that take a point of an episode, to the stream, and as names."""

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from envhub.server import Token, append_token
from envhub_sdk._wire import CODES

VALUES = {
    "null": b"null",
    "a list": b"[]",
    "a number": b"7",
    "a negative number": b"-1",
    "a fraction": b"0.5",
    "a huge number": b"9" * 5000,
    "beyond 64 bits": b"18446744073709551616",
    "NaN": b"NaN",
    "infinity": b"1e999",
    "not UTF-8": b'"\xff\xfe"',
    "a lone surrogate": b'"\\ud800"',
    "a NUL": b'"\\u0000"',
    "deep": b"[" * 50_000 + b"]" * 50_000,
    "long": b'"' + b"x" * 100_000 + b'"',
    "a path": b'"../../../../etc/passwd"',
    "an encoded path": b'"%2e%2e%2f%00"',
    "empty": b'""',
}
FIELDS = {
    "restore": ["snapshot_id", "start_index"],
    "fork": ["snapshot_id", "count", "wait_s", "request_id"],
}
NAMES = [
    *("%2e%2e", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "..%5c..%5c", "%00", "s-%00", "%ff%fe"),
    *("%252e%252e", "s-*", "%0d%0aX-Injected:%201", "%20", "a" * 3000, "%ED%A0%80", "file:%2f%2f%2fetc"),
]


def check(answer: httpx.Response, *good: int) -> None:
    """An answer is a good one, or an error in the one shape that is the client's own fault."""
    if answer.status_code in good:
        return
    assert 400 <= answer.status_code < 500 or answer.status_code == 503, answer.text
    error = answer.json()["error"]
    assert CODES[error["code"]].status == answer.status_code
    assert "x-injected" not in answer.headers


@pytest.fixture(scope="module", params=["open", "tokens"])
def client(request: Any, hub: Any, start_hub: Any, tmp_path_factory: Any) -> Iterator[httpx.Client]:
    """A client of a hub that lets everybody in, and one of a hub with tokens."""
    headers = {}
    if request.param == "tokens":
        file = tmp_path_factory.mktemp("tokens") / "tokens.toml"
        token, text = Token.make("trainer", "client")
        append_token(file, token)
        hub = start_hub("--env", "frozenlake=8", "--workers", "1", "--tokens", str(file))
        headers = {"Authorization": f"Bearer {text}"}
    with hub.client(headers=headers) as one:
        yield one


@pytest.fixture
def session(client: httpx.Client) -> Iterator[str]:
    opened = client.post("/v1/envs/frozenlake/sessions", json={"wait_s": 0, "seeds": [1]})
    yield opened.json()["sessions"][0]["id"]
    listed = client.get("/v1/sessions").json()["sessions"]
    client.post("/v1/close", json={"session_ids": [one["id"] for one in listed]})


@pytest.mark.parametrize("what", VALUES)
@pytest.mark.parametrize(
    "call, field", [(call, field) for call, fields in FIELDS.items() for field in fields]
)
def test_a_point_asked_for_with_a_wrong_value(
    client: httpx.Client, session: str, call: str, field: str, what: str
) -> None:
    point = client.post(f"/v1/sessions/{session}/snapshot").json()["snapshot_id"]
    fields = {"snapshot_id": json.dumps(point).encode(), "wait_s": b"0"}
    if call == "restore":
        del fields["wait_s"]
    fields[field] = VALUES[what]
    body = b"{" + b",".join(b'"%b":%b' % (name.encode(), value) for name, value in fields.items()) + b"}"
    check(client.post(f"/v1/sessions/{session}/{call}", content=body), 200)
    step = client.post(f"/v1/sessions/{session}/step", json={"action": "left"})
    assert step.status_code in (200, 409), "the session goes on"


@pytest.mark.parametrize("what", VALUES)
@pytest.mark.parametrize("call", ["snapshot", "restore", "fork", "keepalive"])
def test_a_whole_body_that_is_none(client: httpx.Client, session: str, call: str, what: str) -> None:
    answer = client.post(f"/v1/sessions/{session}/{call}", content=VALUES[what])
    if call in FIELDS:
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "malformed_request")
    else:  # takes no body and looks at none
        assert answer.status_code == 200


@pytest.mark.parametrize("name", NAMES)
def test_names_that_try_to_be_paths(client: httpx.Client, session: str, name: str) -> None:
    for method, path in (
        ("GET", "/v1/envs/{}"),
        ("GET", "/v1/envs/{}/tasks"),
        ("GET", "/v1/envs/frozenlake/tasks?split={}"),
        ("POST", "/v1/envs/{}/sessions"),
        *(("GET", f"/v1/sessions/{{}}{what}") for what in ("", "/trajectory", "/render")),
        *(("POST", f"/v1/sessions/{{}}/{what}") for what in ("reset", "snapshot", "fork", "keepalive")),
        ("POST", "/v1/sessions/{}/restore"),
        ("POST", "/v1/sessions/{}/step"),
    ):
        request = client.build_request(method, "/", json={} if method == "POST" else None)
        request.url = request.url.copy_with(raw_path=path.format(name).encode())
        answer = client.send(request)
        assert answer.status_code in (400, 404, 405), (path, answer.text)
        check(answer)
    assert client.delete(f"/v1/sessions/{'x' * 3000}").status_code == 204
    assert client.get(f"/v1/sessions/{session}").status_code == 200


@pytest.mark.parametrize(
    "path", ["/v1/envs/../../etc/passwd", "/../../etc/passwd", "//etc/passwd", "/docs/../x"]
)
def test_paths_are_taken_as_they_are(hub: Any, path: str) -> None:
    with hub.raw() as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        assert connection.recv(65536).startswith(b"HTTP/1.1 404 Not Found")


# -- the stream -------------------------------------------------------------------------------------

SCALAR = st.one_of(
    st.none(), st.booleans(), st.integers(), st.just(10**400), st.floats(), st.text(max_size=8), st.just([])
)
KEYS = (
    "env session_id action step_index episode_id seed task options start_index snapshot_id count"
    " request_id labels reset seeds tasks idle_timeout_s"
).split()
OPS = "open step reset close keepalive state trajectory snapshot restore fork dance".split()
MESSAGE = st.fixed_dictionaries(
    {"op": st.sampled_from(OPS) | SCALAR, "id": st.integers(0, 9) | SCALAR},
    optional=dict.fromkeys(KEYS, SCALAR),
)
SENT = st.one_of(
    st.text(alphabet=st.characters(codec="utf-8"), max_size=30),
    st.binary(max_size=60),
    MESSAGE.map(json.dumps),
    MESSAGE.map(lambda message: json.dumps(message).encode()),
)


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(sent=st.lists(SENT, min_size=1, max_size=12), aim=st.booleans())
def test_whatever_is_sent_on_a_stream_gets_one_answer_each(
    hub: Any, talk: ClientConnection, target: str, sent: list[str | bytes], aim: bool
) -> None:
    """Of the kind that was sent; the connection goes on."""
    for message in sent:
        if aim and isinstance(message, str) and '"session_id": "' in message:
            message = json.dumps({**json.loads(message), "session_id": target})
        talk.send(message)
    answers = [talk.recv(timeout=20) for _ in sent]
    kinds = sorted(isinstance(message, str) for message in sent)
    assert sorted(isinstance(answer, str) for answer in answers) == kinds
    for answer in map(json.loads, answers):
        assert "id" in answer
        if "error" in answer:
            assert answer["error"]["code"] in CODES
            assert CODES[answer["error"]["code"]].status != 500
    with hub.client() as client:
        listed = client.get("/v1/sessions").json()["sessions"]
        client.post("/v1/close", json={"session_ids": [s["id"] for s in listed if s["id"] != target]})


@pytest.fixture
def target(hub: Any) -> Iterator[str]:
    with hub.client() as client:
        session = client.post("/v1/envs/echo/sessions").json()["sessions"][0]["id"]
        yield session
        client.delete(f"/v1/sessions/{session}")


@pytest.fixture
def talk(hub: Any) -> Iterator[ClientConnection]:
    with hub.stream() as connection:
        yield connection


def test_a_flood_that_nobody_reads_is_held_back(hub: Any, wait_until: Any) -> None:
    """What is not read stays in the client's own socket; others go on, and memory does not grow with it."""
    before = hub.resident()
    message = json.dumps({"id": 1, "op": "state", "session_id": "s" * 1000})
    ws = hub.stream()
    ws.socket.settimeout(0.5)
    with pytest.raises((TimeoutError, ConnectionClosed)):
        for _ in range(200_000):
            ws.send(message)
    with hub.client() as client:
        assert client.get("/readyz").status_code == 200
    assert hub.resident() - before < 64 * 2**20
    ws.socket.close()
    wait_until(lambda: hub.descriptors() == hub.idle_descriptors)


@pytest.mark.parametrize(
    "frame",
    [
        b"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0",  # 2**64 - 1 bytes are announced
        b"\x82\xff\0\0\0\x01\0\0\0\0\0\0\0\0",  # 4 GB
        b"\x82\x05hello",  # not masked
        b"\xf1\x80\0\0\0\0",  # reserved bits
        b"\x8b\x80\0\0\0\0",  # an unknown control frame
        b"\x89\xfe\0\x7e\0\0\0\0" + b"x" * 126,  # a ping over 125 bytes
        b"\x80\x80\0\0\0\0",  # a continuation of nothing
        b"\x81\x82\0\0\0\0\xff\xfe",  # a text that is not UTF-8
        b"GET / HTTP/1.1\r\n\r\n",
    ],
)
def test_frames_that_are_none_end_their_connection_alone(hub: Any, frame: bytes, wait_until: Any) -> None:
    head = b"GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    head += b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    with hub.stream(), hub.raw() as connection:
        connection.sendall(head)
        said = connection.recv(65536)
        assert said.startswith(b"HTTP/1.1 101")
        connection.sendall(frame)
        while connection.recv(65536):
            pass  # until it is closed
    with hub.client() as client:
        assert client.get("/readyz").status_code == 200
    wait_until(lambda: hub.descriptors() == hub.idle_descriptors)
