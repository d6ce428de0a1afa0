"""The stream: one connection, many sessions, answers as they become ready."""

import json
import socket
import threading
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import ClientConnection

from envhub.server import _stream


def ask(ws: ClientConnection, number: int, op: str, *, binary: bool = False, **fields: Any) -> None:
    text = json.dumps({"id": number, "op": op, **fields})
    ws.send(text.encode() if binary else text)


def told(ws: ClientConnection) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(ws.recv(timeout=20))
    return answer


def opened(ws: ClientConnection, env: str = "echo", **fields: Any) -> list[str]:
    ask(ws, 0, "open", env=env, **fields)
    return [one["id"] for one in told(ws)["sessions"]]


def test_every_operation(server: Any, client: httpx.Client) -> None:
    with server.stream() as ws:
        (session,) = opened(ws, "frozenlake", seeds=[1])
        ask(ws, 1, "step", session_id=session, action="left", step_index=0)
        step = told(ws)
        assert (step["id"], step["step_index"]) == (1, 0)
        ask(ws, 2, "state", session_id=session)
        state = told(ws)
        assert (state["id"], state["session"]["id"], state["session"]["step_index"]) == (2, session, 1)
        ask(ws, 3, "trajectory", session_id=session)
        assert [one["action"] for one in told(ws)["steps"]] == ["left"]
        ask(ws, 4, "keepalive", session_id=session)
        assert told(ws)["expires_at"] > 0
        ask(ws, 5, "reset", session_id=session, seed=8)
        assert told(ws)["seed"] == 8
        ask(ws, 6, "snapshot", session_id=session)
        point = told(ws)
        assert (point["id"], point["step_index"]) == (6, 0)
        ask(ws, 7, "restore", session_id=session, snapshot_id=point["snapshot_id"])
        restored = told(ws)
        assert (restored["id"], restored["step_index"]) == (7, 0)
        ask(ws, 8, "fork", session_id=session, count=2)
        forked = told(ws)
        assert forked["id"] == 8 and len(forked["sessions"]) == 2
        ask(ws, 9, "close", session_id=session)
        assert told(ws) == {"id": 9, "session_id": session, "closed": True}
        ask(ws, 10, "step", session_id=session, action="left")
        assert told(ws)["error"]["code"] == "session_closed"


def test_answers_are_those_of_http(server: Any, client: httpx.Client) -> None:
    with server.stream() as ws:
        (session,) = opened(ws)
        ask(ws, 7, "step", session_id=session, action="a", step_index=0)
        streamed = told(ws)
    request = {"action": "a", "step_index": 0}
    assert {"id": 7, **client.post(f"/v1/sessions/{session}/step", json=request).json()} == streamed


def test_text_is_answered_in_text_and_binary_in_binary(server: Any, client: httpx.Client) -> None:
    with server.stream() as ws:
        (session,) = opened(ws)
        ask(ws, 1, "step", session_id=session, action="ü")
        assert isinstance(answer := ws.recv(timeout=20), str) and "ü" in answer
        ask(ws, 2, "step", session_id=session, action="ü", binary=True)
        assert isinstance(answer := ws.recv(timeout=20), bytes) and "ü".encode() in answer
        ws.send(b"{")
        assert isinstance(ws.recv(timeout=20), bytes)


def test_a_fast_session_does_not_wait_for_a_slow_one(make_server: Any, make_plan: Any) -> None:
    plan = make_plan("echo", 2, hang_on="hang", step_timeout_s=2.0)
    server = make_server(type(plan)(plan.served, 2, 2))
    with server.stream() as ws:
        slow, fast = opened(ws, count=2)
        ask(ws, 1, "step", session_id=slow, action="hang")
        for number in range(2, 12):
            ask(ws, number, "step", session_id=fast, action="quick")
        numbers = [told(ws)["id"] for _ in range(11)]
    assert numbers == [*range(2, 12), 1]


def test_hundreds_of_requests_in_flight_each_get_their_own_answer(server: Any, client: httpx.Client) -> None:
    with server.stream() as ws:
        sessions = opened(ws, count=8)
        wanted = {}
        for number in range(1, 801):
            session = sessions[number % 8]
            wanted[number] = f"{session}/{number}"
            ask(ws, number, "step", session_id=session, action=wanted[number])
        answers = [told(ws) for _ in wanted]
    assert {answer["id"]: answer["observation"] for answer in answers} == wanted


def test_sessions_outlive_the_connection_and_a_new_one_goes_on(server: Any, client: httpx.Client) -> None:
    with server.stream() as ws:
        (session,) = opened(ws)
        ask(ws, 1, "step", session_id=session, action="a", step_index=0)
        first = told(ws)
        ask(ws, 2, "step", session_id=session, action="b", step_index=1)  # leaves before the answer
    with server.stream() as ws:
        ask(ws, 1, "step", session_id=session, action="b", step_index=1)
        assert told(ws)["observation"] == "b"
        ask(ws, 2, "step", session_id=session, action="c", step_index=2)
        assert told(ws)["observation"] == "c"
        ask(ws, 3, "step", session_id=session, action="a", step_index=0)
        assert told(ws)["error"]["code"] == "step_index_conflict"
    assert first["step_index"] == 0


WRONG = {
    "not JSON": "{",
    "no op": '{"id": 4}',
    "unknown op": '{"id": 4, "op": "dance"}',
    "no session": '{"id": 4, "op": "step", "action": "a"}',
    "unknown field": '{"id": 4, "op": "close", "session_id": "s", "force": true}',
    "id of text": '{"id": "4", "op": "close", "session_id": "s"}',
    "huge id": '{"id": ' + "9" * 5000 + ', "op": "close", "session_id": "s"}',
    "deep": '{"id": 4, "op": "open", "env": "echo", "options": ' + "[" * 50_000 + "]" * 50_000 + "}",
    "list": "[]",
    "empty": "",
    "not UTF-8": b'{"id": 4, "op": "close", "session_id": "\xff"}',
    "surrogate": '{"id": 4, "op": "close", "session_id": "\\ud800"}',
}


@pytest.mark.parametrize("what", WRONG)
def test_a_malformed_message_is_answered_and_the_connection_goes_on(
    server: Any, client: httpx.Client, what: str
) -> None:
    with server.stream() as ws:
        ws.send(WRONG[what])
        answer = told(ws)
        assert answer["error"]["code"] == "malformed_request"
        assert answer["id"] in (4, None)
        assert len(opened(ws)) == 1


def test_refusals_carry_the_id(server: Any, client: httpx.Client) -> None:
    with server.stream() as ws:
        (session,) = opened(ws)
        for number, (op, fields, code) in enumerate(
            [
                ("open", {"env": "nope"}, "unknown_env"),
                ("open", {"env": "frozenlake", "tasks": ["nowhere"]}, "unknown_task"),
                ("open", {"env": "echo", "count": 8, "wait_s": 0}, "no_free_replica"),
                ("step", {"session_id": "s-x", "action": "a"}, "unknown_session"),
                ("state", {"session_id": "s-x"}, "unknown_session"),
                ("step", {"session_id": session, "action": 5}, "invalid_action"),
                ("step", {"session_id": session, "action": "fail"}, "environment_error"),
                ("step", {"session_id": session, "action": "a"}, "episode_failed"),
            ],
            1,
        ):
            ask(ws, number, op, **fields)
            answer = told(ws)
            assert (answer["id"], answer["error"]["code"]) == (number, code)


def test_a_hostile_repeat_does_not_end_the_connection(server: Any, client: httpx.Client) -> None:
    with server.stream() as ws:
        (session,) = opened(ws)
        ask(ws, 1, "step", session_id=session, action="a", step_index=0)
        told(ws)
        ws.send(f'{{"id":2,"op":"step","session_id":"{session}","step_index":0,"action":{"1" * 5000}}}')
        assert told(ws)["error"]["code"] == "step_index_conflict"


def test_a_message_over_the_limit_ends_the_connection_with_its_code(
    server: Any, client: httpx.Client
) -> None:
    with server.stream() as ws:
        (session,) = opened(ws)
        ws.send("x" * 200_001)
        with pytest.raises(ConnectionClosedError) as closed:
            ws.recv(timeout=20)
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 1009
    assert client.get(f"/v1/sessions/{session}").status_code == 200


def test_a_connection_that_vanishes_while_it_waits_for_replicas_leaves_nothing(
    server: Any, client: httpx.Client, wait_until: Any
) -> None:
    held = client.post("/v1/envs/echo/sessions", json={"count": 8}).json()["sessions"]
    ws = server.stream()
    for number in range(5):
        ask(ws, number, "open", env="echo", count=2)
    pool = server.hub.pools["echo"]
    wait_until(lambda: server.do(pool.status).queued == 5)
    cut(ws)
    wait_until(lambda: server.do(pool.status).queued == 0)
    client.post("/v1/close", json={"session_ids": [one["id"] for one in held]})
    wait_until(lambda: server.free("echo") == 8)


def cut(ws: ClientConnection) -> None:
    """End a connection without a goodbye."""
    ws.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    ws.socket.shutdown(socket.SHUT_RDWR)
    ws.socket.close()


def connections(server: Any) -> int:
    """How many streams the hub is serving."""
    import asyncio

    return int(
        server.do(
            lambda: sum("Connection" in repr(task.get_coro()) for task in asyncio.all_tasks(server.loop))
        )
    )


def test_a_slow_reader_delays_nobody_and_is_forgotten_when_it_vanishes(
    server: Any, client: httpx.Client, wait_until: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It sends and sends and never reads; then it is gone without a word."""
    monkeypatch.setattr(_stream, "MAX_UNDER_WAY", 64)
    before = connections(server)
    (session,) = (one["id"] for one in client.post("/v1/envs/echo/sessions").json()["sessions"])
    head = b"GET /v1/stream HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    head += b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    body = json.dumps({"id": 1, "op": "step", "session_id": session, "action": "x" * 60_000}).encode()
    frame = b"\x82\xfe" + len(body).to_bytes(2, "big") + b"\0\0\0\0" + body
    with server.raw() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(head)
        connection.settimeout(1.0)
        with pytest.raises(TimeoutError):
            for _ in range(2000):
                connection.sendall(frame)
        assert connections(server) > before
        with server.stream() as quick:
            (other,) = opened(quick)
            for number in range(20):
                ask(quick, number, "step", session_id=other, action="quick")
                assert told(quick)["observation"] == "quick"
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    wait_until(lambda: connections(server) == before)


def test_connections_that_come_and_go_leave_nothing(
    server: Any, client: httpx.Client, wait_until: Any
) -> None:
    before = connections(server)

    def visit(polite: bool) -> None:
        ws = server.stream()
        sessions = opened(ws)
        ask(ws, 1, "step", session_id=sessions[0], action="a")
        ask(ws, 2, "close", session_id=sessions[0])
        if polite:
            ws.close()
        else:
            cut(ws)

    threads = [threading.Thread(target=visit, args=(n % 2 == 0,)) for n in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_until(lambda: connections(server) == before)


def test_stopping_the_hub_ends_streams_and_steps_under_way(make_server: Any, make_plan: Any) -> None:
    server = make_server(make_plan("echo", 2, hang_on="hang", step_timeout_s=60.0))
    with server.stream() as ws:
        first, second = opened(ws, count=2)
        ask(ws, 1, "step", session_id=first, action="hang")
        ask(ws, 2, "step", session_id=second, action="behind it")
        ask(ws, 3, "open", env="echo", wait_s=60)
        ask(ws, 4, "state", session_id=first)
        assert told(ws)["id"] == 4
        server.stop()
