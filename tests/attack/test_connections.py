"""Connections that are opened and left, and requests that never end: they hold up nobody else."""

import contextlib
import resource
import socket
from collections.abc import Iterator
from typing import Any

import pytest

MANY = 10_000
SPARE = 500
"""Descriptors that the test and the hub need besides the connections."""
KB = 1024


@pytest.fixture
def room(hub: Any) -> Iterator[int]:
    """How many connections the system lets one process have; the limits of both ends are raised for it."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    _, hard = resource.prlimit(hub.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(hub.pid, resource.RLIMIT_NOFILE, (hard, hard))
    most = [limit for limit in (before[1], hard) if limit != resource.RLIM_INFINITY]
    yield min([MANY, *(limit - SPARE for limit in most)])
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def play(hub: Any) -> None:
    """Play an episode of echo, as somebody else does meanwhile."""
    with hub.client() as client:
        session = client.post("/v1/envs/echo/sessions", json={"wait_s": 0}).json()["sessions"][0]["id"]
        for index in range(20):
            step = client.post(f"/v1/sessions/{session}/step", json={"action": f"a{index}"})
            assert step.json()["observation"] == f"a{index}"
        client.delete(f"/v1/sessions/{session}")


STEP = b"POST /v1/step HTTP/1.1\r\nHost: localhost\r\n"
STREAM = (
    b"GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
LEFT = {
    "silent": b"",
    "in the request line": b"POST /v1/st",
    "in a header": STEP + b"X-Slow: a",
    "in a body": STEP + b"Content-Length: 1000\r\n\r\n" + b'{"steps":',
    "in a chunk": STEP + b"Transfer-Encoding: chunked\r\n\r\n8\r\n{",
    "after an answer": b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "in a stream": STREAM,
    "in a frame of a stream": STREAM + b"\x82\xfe\xff\xff\0\0\0\0{",
}


def test_ten_thousand_connections_opened_and_left(hub: Any, room: int, wait_until: Any) -> None:
    """As many as the machine allows, in every state a client can leave one in."""
    play(hub)
    memory = hub.resident()
    with contextlib.ExitStack() as left:
        said = list(LEFT.values())
        for number in range(room):
            connection = left.enter_context(hub.raw())
            connection.sendall(said[number % len(said)])
        wait_until(lambda: hub.descriptors() == hub.idle_descriptors + room)
        play(hub)
        held = (hub.resident() - memory) / room
        assert held < 64 * KB, f"each of {room} connections holds {held / KB:.0f} KB"
    wait_until(lambda: hub.descriptors() == hub.idle_descriptors)
    play(hub)


def test_connections_reset_at_once_leave_nothing(hub: Any, wait_until: Any) -> None:
    play(hub)
    for number in range(1000):
        with hub.raw() as connection:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            connection.sendall(list(LEFT.values())[number % len(LEFT)])
    wait_until(lambda: hub.descriptors() == hub.idle_descriptors)
    play(hub)


@pytest.mark.parametrize("where", ["in a header", "in a body", "in a chunk"])
def test_requests_that_come_byte_by_byte_delay_nobody(hub: Any, where: str, wait_until: Any) -> None:
    with contextlib.ExitStack() as slow:
        connections = [slow.enter_context(hub.raw()) for _ in range(200)]
        for connection in connections:
            connection.sendall(LEFT[where])
        for _ in range(5):
            for connection in connections:
                connection.sendall(b"1")
            play(hub)
    wait_until(lambda: hub.descriptors() == hub.idle_descriptors)


def test_clients_that_ask_on_and_never_read_are_cut_off(hub: Any, wait_until: Any) -> None:
    """Thousands of requests fit into one read, and each would wait in the hub's memory."""
    play(hub)
    memory = hub.resident()
    request = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with contextlib.ExitStack() as deaf:
        for _ in range(20):
            connection = deaf.enter_context(hub.raw())
            connection.setblocking(False)
            with contextlib.suppress(BlockingIOError, ConnectionError):
                for _ in range(200):
                    connection.sendall(request * 100)
        play(hub)
        assert hub.resident() - memory < 64 * KB * KB
    wait_until(lambda: hub.descriptors() == hub.idle_descriptors)
    play(hub)
