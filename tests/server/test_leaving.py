"""Clients that leave in the middle: whatever they had asked for, nothing stays taken for nobody."""

import contextlib
import json
import secrets
import socket
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "open": ("/v1/envs/echo/sessions", {"count": 2, "seeds": [1, 2], "wait_s": 20}),
    "fork": ("/v1/sessions/{}/fork", {"count": 2, "wait_s": 20}),
    "reset": ("/v1/sessions/{}/reset", {"seed": 1}),
    "step": ("/v1/sessions/{}/step", {"action": "a", "step_index": 0}),
    "snapshot": ("/v1/sessions/{}/snapshot", {}),
    "steps": ("/v1/step", {"steps": [{"session_id": "{}", "action": "a", "step_index": 0}]}),
    "close": ("/v1/close", {"session_ids": ["{}"]}),
}
OPENING = ("open", "fork")


def message(call: str, session: str, **more: Any) -> bytes:
    path, fields = CALLS[call]
    body = json.dumps(fields | more).replace("{}", session)
    head = f"POST {path.format(session)} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n"
    return (head + body).encode()


@pytest.mark.parametrize("call", CALLS)
def test_a_client_may_leave_after_any_byte(
    server: Any, client: httpx.Client, open_one: Any, wait_until: Callable[..., None], call: str
) -> None:
    session = open_one()["id"]
    mine = {session}
    for sent in range(len(message(call, session))):
        with server.raw() as connection:
            connection.sendall(message(call, session)[:sent])
    wait_until(lambda: server.connections() <= 1)  # ours
    assert {one["id"] for one in client.get("/v1/sessions").json()["sessions"]} == mine
    assert client.get(f"/v1/sessions/{session}").json()["step_index"] == 0
    assert server.free("echo") == 7
    assert client.post(f"/v1/sessions/{session}/step", json=CALLS["step"][1]).status_code == 200


@pytest.mark.parametrize("heard", [0, 1])
@pytest.mark.parametrize("call", CALLS)
def test_a_client_may_leave_after_it_has_asked(
    server: Any, client: httpx.Client, open_one: Any, wait_until: Callable[..., None], call: str, heard: int
) -> None:
    """Before its answer begins, or after its first byte. A repeat of an opening gives the same sessions."""
    for _ in range(20):
        session = open_one()["id"]
        more = {"request_id": secrets.token_hex(8)} if call in OPENING else {}
        with server.raw() as connection:
            connection.sendall(message(call, session, **more))
            if heard:
                assert connection.recv(heard)
        if call == "close":
            wait_until(lambda session=session: client.get(f"/v1/sessions/{session}").status_code == 410)
        elif call in OPENING:
            path, fields = CALLS[call]
            again = client.post(path.format(session), json=fields | more)
            assert again.status_code == 200, again.text
            opened = {session} | {one["id"] for one in again.json()["sessions"]}
            wait_until(lambda opened=opened: ids(client) == opened)
        else:
            step = client.post(f"/v1/sessions/{session}/step", json=CALLS["step"][1])
            assert (step.status_code, step.json()["step_index"]) == (200, 0)
        client.post("/v1/close", json={"session_ids": list(ids(client))})
        wait_until(lambda: server.free("echo") == 8)


def test_whoever_leaves_the_queue_makes_room(
    server: Any, client: httpx.Client, open_one: Any, wait_until: Callable[..., None]
) -> None:
    """All replicas are taken; many wait and leave, one stays and is served."""
    held = client.post("/v1/envs/echo/sessions", json={"count": 8}).json()["sessions"]
    leaving = [socket.create_connection(server.address, timeout=20) for _ in range(20)]
    with contextlib.ExitStack() as stack:
        for connection in leaving:
            stack.enter_context(connection)
            connection.sendall(message("open", "", wait_s=600))
        wait_until(lambda: queued(server) == 20)
    wait_until(lambda: queued(server) == 0)
    with server.raw() as staying:
        staying.sendall(message("open", "", wait_s=600))
        wait_until(lambda: queued(server) == 1)
        client.post("/v1/close", json={"session_ids": [one["id"] for one in held]})
        assert staying.recv(12) == b"HTTP/1.1 200"
    assert len(ids(client)) == 2


@pytest.mark.parametrize("abrupt", [False, True])
def test_a_stream_may_end_with_anything_under_way(
    server: Any, client: httpx.Client, open_one: Any, wait_until: Callable[..., None], abrupt: bool
) -> None:
    for _ in range(10):
        session = open_one()["id"]
        stream = server.stream()
        for number, (op, fields) in enumerate(
            [("open", {"env": "echo", "count": 2}), ("fork", {}), ("step", {"action": "a"}), ("snapshot", {})]
        ):
            about = {} if op == "open" else {"session_id": session}
            stream.send(json.dumps({"id": number, "op": op, **about, **fields}))
        if abrupt:
            stream.socket.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(ConnectionClosed):
            stream.close()
        wait_until(lambda: server.connections() <= 1)
        assert client.post(f"/v1/sessions/{session}/reset", json={}).status_code == 200
        assert server.free("echo") == 8 - len(ids(client))
        client.post("/v1/close", json={"session_ids": list(ids(client))})
        wait_until(lambda: server.free("echo") == 8)


def ids(client: httpx.Client) -> set[str]:
    return {one["id"] for one in client.get("/v1/sessions").json()["sessions"]}


def queued(server: Any) -> int:
    return int(server.do(lambda: server.hub.pools["echo"].status().queued))
