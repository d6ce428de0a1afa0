"""Requests that are wrong in every way: the answer says how, and never 500."""

import contextlib
import json
import threading
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

BODIES = {
    "not JSON": b"{",
    "trailing": b'{"action":"a"} x',
    "not UTF-8": b'{"action":"a","episode_id":"\xff\xfe"}',
    "UTF-16": '{"action":"a"}'.encode("utf-16"),
    "lone surrogate": b'{"action":"a","episode_id":"\\ud800"}',
    "deep": b'{"action":"a","episode_id":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "deep action": b'{"action":' + b"[" * 50_000 + b"]" * 50_000 + b"}",
    "NaN": b'{"action":"a","step_index":NaN}',
    "infinite": b'{"action":"a","step_index":1e999}',
    "huge": b'{"action":"a","step_index":' + b"9" * 5000 + b"}",
    "negative": b'{"action":"a","step_index":-1}',
    "fraction": b'{"action":"a","step_index":0.5}',
    "wrong type": b'{"action":"a","step_index":"0"}',
    "unknown field": b'{"action":"a","stepindex":0}',
    "no action": b"{}",
    "null": b"null",
    "list": b"[]",
    "text": b'"action"',
    "empty": b"",
    "BOM": b'\xef\xbb\xbf{"action":"a"}',
}


@pytest.mark.parametrize("what", BODIES)
def test_a_step_that_is_malformed(client: httpx.Client, open_one: Any, what: str) -> None:
    session = open_one()["id"]
    answer = client.post(f"/v1/sessions/{session}/step", content=BODIES[what])
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "malformed_request")
    assert client.get(f"/v1/sessions/{session}").json()["step_index"] == 0


@pytest.mark.parametrize("what", BODIES)
@pytest.mark.parametrize("path", ["/v1/step", "/v1/reset", "/v1/close", "/v1/envs/echo/sessions"])
def test_other_bodies_that_are_malformed(client: httpx.Client, path: str, what: str) -> None:
    if what in ("empty", "no action") and path.endswith("sessions"):
        return  # which opens one with the defaults
    answer = client.post(path, content=BODIES[what])
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "malformed_request")


@pytest.mark.parametrize("action", [b'"\xff"', b"1" * 5000, b"1e999", b"[" * 900 + b"]" * 900])
def test_an_action_that_only_the_worker_can_judge(client: httpx.Client, open_one: Any, action: bytes) -> None:
    session = open_one()["id"]
    for before in range(2):
        answer = client.post(f"/v1/sessions/{session}/step", content=b'{"action":%b}' % action)
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "invalid_action")
        repeat = b'{"action":%b,"step_index":0}' % action
        code = client.post(f"/v1/sessions/{session}/step", content=repeat).json()["error"]["code"]
        assert code == ("step_index_conflict" if before else "invalid_action")
        client.post(f"/v1/sessions/{session}/step", json={"action": "a"})


def test_an_index_beyond_64_bits_is_a_conflict(client: httpx.Client, open_one: Any) -> None:
    answer = client.post(
        f"/v1/sessions/{open_one()['id']}/step", content=b'{"action":"a","step_index":%d}' % 10**50
    )
    assert (answer.status_code, answer.json()["error"]["details"]["received"]) == (409, 10**50)


def test_options_at_every_depth_open_or_are_refused_and_wedge_nothing(
    server: Any, client: httpx.Client, open_one: Any
) -> None:
    """Somewhere below the decoder's limit lies the encoder's, and below that the worker's."""
    session = open_one()["id"]
    for depth in range(850, 1000, 3):
        nested = b"[" * depth + b"]" * depth
        url = f"{server.url}/v1/sessions/{session}/reset"
        answer = httpx.post(url, content=b'{"options":{"x":%b}}' % nested)
        assert answer.status_code in (200, 400, 502), answer.text
    assert client.post(f"/v1/sessions/{session}/reset").status_code == 200
    assert client.post(f"/v1/sessions/{session}/step", json={"action": "a"}).status_code == 200


def test_unknown_routes_and_methods(client: httpx.Client) -> None:
    slashes = ("/v1/envs/", "/healthz/", "/v1/sessions/s-x/", "/v1/sessions/")
    for path in ("/x", "/v2/envs", "/v1", "/v1/sessions/a/b/step", "/v1/sessions//step", *slashes):
        answer = client.get(path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found"), path
    for method, path, allowed in (
        ("PUT", "/v1/envs", "GET"),
        ("GET", "/v1/step", "POST"),
        ("DELETE", "/v1/sessions/s-x/step", "POST"),
        ("POST", "/healthz", "GET"),
        ("GET", "/v1/sessions/s-x/reset", "POST"),
    ):
        answer = client.request(method, path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed")
        assert answer.headers["allow"] == allowed


@pytest.mark.parametrize("name", ["%00", "%ff%fe", "a%2Fb", "%F0%9F%98%80", "a" * 3000, "%22%0a"])
def test_names_in_paths(client: httpx.Client, name: str) -> None:
    assert client.get(f"/v1/envs/{name}").status_code in (404, 200)
    assert client.get(f"/v1/sessions/{name}").status_code in (404, 200)
    assert client.post(f"/v1/sessions/{name}/step", json={"action": "a"}).status_code in (404, 405)


# -- any JSON at all --------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = (
    "action steps resets session_ids session_id step_index episode_id autoreset seed seeds task tasks options"
    " count reset idle_timeout_s wait_s labels snapshot_id"
).split()
BODY = st.dictionaries(
    st.sampled_from(FIELDS), JSON | st.lists(st.dictionaries(st.sampled_from(FIELDS), JSON))
)


@pytest.mark.parametrize(
    "path", ["/v1/envs/echo/sessions", "/v1/step", "/v1/reset", "/v1/close", "S/step", "S/reset"]
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(body=BODY)
def test_any_json_gets_an_answer_of_the_schema(
    client: httpx.Client, server: Any, path: str, body: dict[str, Any]
) -> None:
    body.pop("wait_s", None)
    session = client.post("/v1/envs/echo/sessions", json={"wait_s": 0}).json()["sessions"][0]["id"]
    where = path.replace("S", f"/v1/sessions/{session}")
    answer = client.post(where, content=json.dumps({"wait_s": 0, **body} if path.endswith("ns") else body))
    assert answer.status_code < 500 or answer.status_code == 503
    server.do(server.hub.sessions.close_all)


# -- size -------------------------------------------------------------------------------------------


def test_a_body_over_the_limit(client: httpx.Client, open_one: Any) -> None:
    session = open_one()["id"]
    large = json.dumps({"action": "x" * 200_000}).encode()

    def in_chunks() -> Any:
        for at in range(0, len(large), 50_000):
            yield large[at : at + 50_000]

    for path in (f"/v1/sessions/{session}/step", "/v1/step", "/v1/close", "/v1/envs/echo/sessions"):
        for content in (large, in_chunks()):
            answer = client.post(path, content=content)
            assert (answer.status_code, answer.json()["error"]["code"]) == (413, "body_too_large")
            assert answer.json()["error"]["details"] == {"limit": 200_000}
    chunked = client.post(f"/v1/sessions/{session}/step", content=iter([b'{"action":', b'"in pieces"}']))
    assert chunked.json()["observation"] == "in pieces"


def test_a_body_just_below_the_limit_arrives(client: httpx.Client, open_one: Any) -> None:
    action = "x" * (200_000 - len('{"action":""}'))
    answer = client.post(f"/v1/sessions/{open_one()['id']}/step", json={"action": action})
    body = f'{{"action":"{action}"}}'
    assert answer.status_code == (200 if len(answer.request.content) == len(body) else 413)
    content = client.post(f"/v1/sessions/{open_one()['id']}/step", content=body)
    assert content.json()["observation"] == action


# -- half a request ---------------------------------------------------------------------------------


def read_all(connection: Any) -> bytes:
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


@pytest.mark.parametrize("path", ["S/step", "/v1/step", "/v1/close", "/v1/envs/echo/sessions"])
def test_half_a_body_does_nothing(
    server: Any, client: httpx.Client, open_one: Any, wait_until: Any, path: str
) -> None:
    session = open_one()["id"]
    where = path.replace("S", f"/v1/sessions/{session}")
    whole = {
        "S/step": b'{"action":"half"}',
        "/v1/step": b'{"steps":[{"session_id":"%b","action":"half"}]}' % session.encode(),
        "/v1/close": b'{"session_ids":["%b"]}' % session.encode(),
        "/v1/envs/echo/sessions": b"{}",
    }[path]
    with server.raw() as connection:
        head = f"POST {where} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(whole) + 10}\r\n\r\n"
        connection.sendall(head.encode() + whole)
        client.get("/healthz")
    for _ in range(3):
        client.get("/healthz")
    state = client.get(f"/v1/sessions/{session}").json()
    assert (state["status"], state["step_index"]) == ("running", 0)
    assert len(client.get("/v1/sessions").json()["sessions"]) == 1


@pytest.mark.parametrize("length", [b"-1", b"1e3", b"+5", b"0x10", b"9" * 30, b"", b"5, 5"])
def test_lengths_that_are_none(server: Any, length: bytes) -> None:
    with server.raw() as connection:
        connection.sendall(
            b"POST /v1/step HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: "
            + length
            + b"\r\n\r\n"
        )
        connection.shutdown(1)
        status = read_all(connection).split(b" ", 2)[1:2]
    assert status in ([b"400"], [b"413"], [])


def flood(server: Any, pieces: Any) -> bytes:
    """Send until the hub has had enough; give what it said."""
    with server.raw() as connection:
        with contextlib.suppress(ConnectionError):
            for piece in pieces:
                connection.sendall(piece)
        with contextlib.suppress(ConnectionError):
            return read_all(connection)
    return b""


@pytest.mark.parametrize("kind", ["one header", "many headers", "a long path"])
def test_a_head_without_end_is_cut_short(server: Any, kind: str) -> None:
    first, more = {
        "one header": (b"POST /v1/step HTTP/1.1\r\nHost: localhost\r\nX-A: ", b"a" * 10_000),
        "many headers": (b"POST /v1/step HTTP/1.1\r\nHost: localhost\r\n", b"X-A: a\r\n" * 1000),
        "a long path": (b"GET /", b"a" * 10_000),
    }[kind]
    sent = 0

    def pieces() -> Any:
        nonlocal sent
        yield first
        for _ in range(10_000):
            sent += len(more)
            yield more

    said = flood(server, pieces())
    assert sent < 100_000_000, "the hub must not read on for ever"
    assert not said or b"400 Bad Request" in said


def test_large_bodies_one_after_another_are_no_large_head(client: httpx.Client, open_one: Any) -> None:
    session = open_one()["id"]
    for index in range(5):
        request = {"action": "x" * 150_000, "step_index": index}
        assert client.post(f"/v1/sessions/{session}/step", json=request).status_code == 200


@pytest.mark.parametrize(
    "said", [b"hello\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00", b"GET /\xff HTTP/1.1\r\n\r\n"]
)
def test_what_is_no_http_is_told_in_the_one_shape(server: Any, said: bytes) -> None:
    with server.raw() as connection:
        connection.sendall(said)
        head, _, body = read_all(connection).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request")
    assert json.loads(body)["error"]["code"] == "malformed_request"


def test_a_client_that_leaves_in_the_queue_leaves_nothing(
    server: Any, client: httpx.Client, wait_until: Any
) -> None:
    held = client.post("/v1/envs/echo/sessions", json={"count": 8}).json()["sessions"]
    pool = server.hub.pools["echo"]
    with server.raw() as connection:
        connection.sendall(
            b"POST /v1/envs/echo/sessions HTTP/1.1\r\nHost: localhost\r\n"
            b'Content-Length: 11\r\n\r\n{"count":8}'
        )
        wait_until(lambda: server.do(pool.status).queued == 1)
    wait_until(lambda: server.do(pool.status).queued == 0)
    client.post("/v1/close", json={"session_ids": [one["id"] for one in held]})
    wait_until(lambda: server.free("echo") == 8)
    assert client.get("/v1/sessions").json()["sessions"] == []


def test_a_client_that_leaves_in_mid_step_finds_the_step_recorded(
    server: Any, client: httpx.Client, open_one: Any, wait_until: Any
) -> None:
    session = open_one()["id"]
    body = b'{"action":"hang","step_index":0}'
    with server.raw() as connection:
        head = f"POST /v1/sessions/{session}/step HTTP/1.1\r\nHost: localhost\r\n"
        head += f"Content-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        wait_until(lambda: server.do(lambda: server.hub.sessions.find(session).busy))
    wait_until(lambda: client.get(f"/v1/sessions/{session}").json()["status"] == "failed")
    assert client.post(f"/v1/sessions/{session}/reset").status_code == 200


def test_many_clients_at_once(server: Any, client: httpx.Client) -> None:
    failures: list[str] = []

    def play(name: int) -> None:
        with server.client() as one:
            for _ in range(5):
                session = one.post("/v1/envs/echo/sessions").json()["sessions"][0]["id"]
                for index in range(10):
                    request = {"action": f"{name}/{index}", "step_index": index}
                    answer = one.post(f"/v1/sessions/{session}/step", json=request)
                    if answer.json().get("observation") != request["action"]:
                        failures.append(answer.text)
                one.delete(f"/v1/sessions/{session}")

    threads = [threading.Thread(target=play, args=(name,)) for name in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
