"""Requests that never end: they are ended, while slow environments and open streams are left alone."""

import json
import socket
from typing import Any

import pytest

LIMIT_S = 0.4
STEP = b"POST /v1/step HTTP/1.1\r\nHost: localhost\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
PARTS = {
    "in the request line": b"POST /v1/st",
    "in a header": STEP + b"X-Slow: a",
    "in a body": STEP + b"Content-Length: 100000\r\n\r\n" + b'{"steps":',
    "in a body of unknown length": STEP + b"Transfer-Encoding: chunked\r\n\r\n8\r\n{",
}


@pytest.fixture
def hub(make_server: Any) -> Any:
    """A hub that waits shortly for requests to arrive."""
    return make_server(request_timeout_s=LIMIT_S)


def rest(connection: socket.socket) -> bytes:
    """Everything that comes until the hub closes the connection."""
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def check_408(answer: bytes) -> None:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 Request Timeout\r\n")
    assert b"connection: close" in head
    error = json.loads(body)["error"]
    assert error["code"] == "request_timeout" and f"{LIMIT_S:g} s" in error["message"]


@pytest.mark.parametrize("where", PARTS)
def test_a_request_that_is_left_unfinished_is_answered_408(hub: Any, where: str) -> None:
    with hub.raw() as connection:
        connection.sendall(PARTS[where])
        check_408(rest(connection))


@pytest.mark.parametrize("where", ["in a header", "in a body"])
def test_a_request_that_comes_byte_by_byte_gets_no_more_time(hub: Any, where: str, wait_until: Any) -> None:
    with hub.raw() as connection:
        connection.sendall(PARTS[where])
        connection.settimeout(0.02)
        answer = b""

        def answered() -> bool:
            nonlocal answer
            try:
                connection.sendall(b"1")
                answer += connection.recv(65536)
            except TimeoutError:
                return False
            except OSError:  # what was sent into the closed connection
                return True
            return bool(answer)

        wait_until(answered)
        if answer:
            check_408(answer)


def test_the_second_request_of_a_connection_has_its_limit_too(hub: Any) -> None:
    with hub.raw() as connection:
        connection.sendall(HEALTH)
        assert b"200 OK" in connection.recv(65536)
        connection.sendall(PARTS["in a header"])
        check_408(rest(connection))


def test_a_body_that_nobody_waits_for_is_cut_off(hub: Any) -> None:
    """The request was refused by its head, so an answer is there already."""
    with hub.raw() as connection:
        connection.sendall(STEP + b"Content-Length: 99999999\r\n\r\n{")
        answer = rest(connection)
    assert answer.startswith(b"HTTP/1.1 413 ") and b" 408 " not in answer


def test_a_connection_that_brings_nothing_is_closed(hub: Any) -> None:
    with hub.raw() as connection:
        assert rest(connection) == b""


def test_nothing_that_the_hub_owes_is_cut_off(make_server: Any, make_plan: Any) -> None:
    """Neither a slow step, nor one behind which the next request has begun, nor a stream."""
    hub = make_server(make_plan("echo", 2, delay_s=3 * LIMIT_S), request_timeout_s=LIMIT_S)
    with hub.stream() as stream, hub.client() as client, hub.raw() as connection:
        first, second = client.post("/v1/envs/echo/sessions", json={"count": 2}).json()["sessions"]
        body = json.dumps({"action": "slow"}).encode()
        head = f"POST /v1/sessions/{first['id']}/step HTTP/1.1\r\nHost: localhost\r\n"
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body + PARTS["in a header"])
        answer = rest(connection)
        assert answer.startswith(b"HTTP/1.1 200 OK") and b'"slow"' in answer
        check_408(answer[answer.index(b"HTTP/1.1 408") :])
        message = {"id": 1, "op": "step", "session_id": second["id"], "action": "late"}
        stream.send(json.dumps(message))
        assert json.loads(stream.recv())["observation"] == "late"
