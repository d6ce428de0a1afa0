"""Requests that never end: they are ended, while slow environments and open streams are left alone."""

import gc
import json
import socket
from typing import Any

import pytest

from envhub.server._protocol import HttpProtocol
from envhub.session import HubError

STEP = b"POST /v1/step HTTP/1.1\r\nHost: localhost\r\n"
HEALTH = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
PARTS = {
    "in the request line": b"POST /v1/st",
    "in a header": STEP + b"X-Slow: a",
    "in a body": STEP + b"Content-Length: 100000\r\n\r\n" + b'{"steps":',
    "in a body of unknown length": STEP + b"Transfer-Encoding: chunked\r\n\r\n8\r\n{",
}


def rest(connection: socket.socket) -> bytes:
    """Everything that comes until the hub closes the connection."""
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def read_until(connection: socket.socket, end: bytes) -> bytes:
    """What comes until this is among it."""
    answer = b""
    while end not in answer:
        part = connection.recv(65536)
        assert part, f"closed after {answer!r}"
        answer += part
    return answer


def check_408(answer: bytes) -> None:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408 Request Timeout\r\n"), answer
    assert b"connection: close" in head
    error = json.loads(body)["error"]
    assert error["code"] == "request_timeout" and "was not whole within" in error["message"]


def limited(hub: Any) -> list[HttpProtocol]:
    """The hub's connections whose time is limited now; to be asked for in the hub's own thread."""
    found = [one for one in gc.get_objects() if isinstance(one, HttpProtocol) and one.loop is hub.loop]
    return [one for one in found if one._deadline is not None]


def time_is_over(hub: Any) -> None:
    """Does to every connection what the end of its time does."""
    hub.do(lambda: [one._too_late() for one in limited(hub)])


def arriving(hub: Any) -> int:
    """How many connections have a request that is not whole yet."""
    return int(hub.do(lambda: sum(one._arriving for one in limited(hub))))


# -- by the clock -----------------------------------------------------------------------------------


@pytest.mark.parametrize("where", PARTS)
def test_a_request_that_is_left_unfinished_is_answered_408(
    make_server: Any, where: str, wait_until: Any
) -> None:
    hub = make_server(request_timeout_s=0.3)
    answer = b""

    def answered() -> bool:  # not where the machine stood still before the first byte was there
        nonlocal answer
        with hub.raw() as connection:
            connection.sendall(PARTS[where])
            answer = rest(connection)
        return bool(answer)

    wait_until(answered)
    check_408(answer)


@pytest.mark.parametrize("where", ["in a header", "in a body"])
def test_a_request_that_comes_byte_by_byte_gets_no_more_time(
    make_server: Any, where: str, wait_until: Any
) -> None:
    hub = make_server(request_timeout_s=0.3)
    with hub.raw() as connection:
        connection.sendall(PARTS[where])
        connection.settimeout(0.02)

        def ended() -> bool:
            try:
                connection.sendall(b"1")
                connection.recv(65536)
            except TimeoutError:
                return False
            except OSError:  # the hub has closed it
                pass
            return True

        wait_until(ended)


def test_a_connection_that_brings_nothing_is_closed(make_server: Any) -> None:
    with make_server(request_timeout_s=0.3).raw() as connection:
        assert rest(connection) == b""


# -- by hand ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", PARTS)
def test_the_second_request_of_a_connection_has_its_limit_too(
    make_server: Any, where: str, wait_until: Any
) -> None:
    hub = make_server()
    with hub.raw() as connection:
        connection.sendall(HEALTH)
        read_until(connection, b'{"status":"alive"}')
        connection.sendall(PARTS[where])
        wait_until(lambda: arriving(hub))
        time_is_over(hub)
        check_408(rest(connection))


def test_the_rest_of_a_request_that_was_refused_is_cut_off_without_another_answer(
    make_server: Any, wait_until: Any
) -> None:
    hub = make_server()
    with hub.raw() as connection:
        connection.sendall(STEP + b"Content-Length: 99999999\r\n\r\n{")
        assert read_until(connection, b'"body_too_large"').startswith(b"HTTP/1.1 413 ")
        wait_until(lambda: arriving(hub))
        time_is_over(hub)
        assert b"HTTP/1.1" not in rest(connection)


def test_an_answer_that_is_owed_comes_first(make_server: Any, make_plan: Any, wait_until: Any) -> None:
    """A step may take longer than its request, whatever else arrives meanwhile."""
    hub = make_server(make_plan("echo", 1, delay_s=0.5))
    with hub.client() as client, hub.raw() as connection:
        (session,) = client.post("/v1/envs/echo/sessions", json={}).json()["sessions"]
        body = json.dumps({"action": "slow"}).encode()
        head = f"POST /v1/sessions/{session['id']}/step HTTP/1.1\r\nHost: localhost\r\n"
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        connection.sendall(PARTS["in a header"])
        wait_until(lambda: arriving(hub))
        time_is_over(hub)
        assert read_until(connection, b'"step_index":0}').startswith(b"HTTP/1.1 200 OK")
        time_is_over(hub)
        check_408(rest(connection))


def test_a_stream_may_stay_open_and_an_idle_connection_is_left_to_its_own_limit(
    make_server: Any, wait_until: Any
) -> None:
    hub = make_server()

    with hub.stream() as stream, hub.client() as client:
        client.get("/healthz")
        wait_until(lambda: not hub.do(lambda: limited(hub)))
        stream.send(json.dumps({"id": 1, "op": "close", "session_id": "s-none"}))
        assert json.loads(stream.recv())["id"] == 1


def test_garbage_after_pipelined_requests_is_no_defect(server: Any, caplog: pytest.LogCaptureFixture) -> None:
    defects = HubError.told["internal_error"]
    with server.client() as client:
        session = client.post("/v1/envs/echo/sessions", json={}).json()["sessions"][0]["id"]
        reset = b"POST /v1/sessions/%b/reset HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}"
        with server.raw() as connection:
            connection.sendall(reset % session.encode() * 3 + b"gar\r\n\r\n")
            assert b"400 Bad Request" in rest(connection)
        assert client.post(f"/v1/sessions/{session}/reset", json={}).status_code == 200  # after those above
        client.delete(f"/v1/sessions/{session}")
    assert HubError.told["internal_error"] == defects
    assert not [record for record in caplog.records if record.exc_info]
