"""Who waits, waits in order; a slow client costs nobody else anything; a pool that can't start says why."""

import asyncio
import os
import signal
import socket
import threading
from pathlib import Path
from typing import Any

import httpx

BIG = "x" * 150_000
STALLED = 40


def test_openers_are_served_in_the_order_in_which_they_came(
    make_server: Any, make_plan: Any, wait_until: Any
) -> None:
    server = make_server(make_plan("echo", 1))
    served: list[int] = []

    def wait(number: int) -> None:
        with server.client() as patient:
            answer = patient.post("/v1/envs/echo/sessions", json={"wait_s": 60, "seeds": [number]})
            served.append(number)
            patient.delete(f"/v1/sessions/{answer.json()['sessions'][0]['id']}")

    with server.client() as client:
        first = client.post("/v1/envs/echo/sessions").json()["sessions"][0]["id"]
        threads = []
        for number in range(8):
            threads.append(threading.Thread(target=wait, args=(number,)))
            threads[-1].start()
            wait_until(lambda n=number: server.do(server.hub.pools["echo"].status).queued == n + 1)
        late = client.post("/v1/envs/echo/sessions", json={"wait_s": 0})
        assert late.status_code == 503, "nobody goes past those who wait"
        assert int(late.headers["retry-after"]) >= 1
        client.delete(f"/v1/sessions/{first}")
    for thread in threads:
        thread.join(20)
    assert served == list(range(8))


def test_a_session_left_idle_frees_its_replica_for_the_one_who_waits(
    make_server: Any, make_plan: Any
) -> None:
    server = make_server(make_plan("echo", 1))
    with server.client() as client:
        left = client.post("/v1/envs/echo/sessions", json={"idle_timeout_s": 0.05}).json()["sessions"][0]
        answer = client.post("/v1/envs/echo/sessions", json={"wait_s": 20})
        assert answer.status_code == 200
        gone = client.get(f"/v1/sessions/{left['id']}").json()["error"]
        assert gone["code"] == "session_expired"


def _stall(server: Any, session: str) -> list[socket.socket]:
    """Connections that stop in the middle of everything a client can stop in the middle of."""
    host = b"Host: localhost\r\n"
    body = b'{"action":"%b"}' % BIG.encode()
    step = b"POST /v1/sessions/%b/step HTTP/1.1\r\n%bContent-Length: %d\r\n\r\n"
    whole = step % (session.encode(), host, len(body)) + body
    halves = [
        b"POST /v1/st",
        b"POST /v1/step HTTP/1.1\r\n" + host,
        step % (session.encode(), host, 1000) + b'{"action":',
        whole * 4,  # asks for far more than it will ever read
    ]
    connections = []
    for number in range(STALLED):
        connection = socket.socket()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect(server.address)
        connection.setblocking(False)
        connections.append(connection)
        rest = halves[number % len(halves)]
        try:
            while rest:
                rest = rest[connection.send(rest) :]
        except BlockingIOError:
            pass  # the hub reads no more of it, since its own answers are not read
    return connections


def test_stalled_clients_delay_nobody(make_server: Any, make_plan: Any, wait_until: Any) -> None:
    """With ten connections stuck at each point, everybody else plays on as if they were not there."""
    server = make_server(make_plan("echo", 2))
    with server.client() as client:
        theirs, mine = (
            one["id"] for one in client.post("/v1/envs/echo/sessions", json={"count": 2}).json()["sessions"]
        )
        stalled = _stall(server, theirs)
        try:
            wait_until(lambda: client.get(f"/v1/sessions/{theirs}").json()["step_index"] >= STALLED // 4)
            for index in range(200):
                answer = client.post(
                    f"/v1/sessions/{mine}/step", json={"action": "a", "step_index": index}, timeout=60
                )
                assert answer.status_code == 200
            assert client.post(f"/v1/sessions/{theirs}/step", json={"action": "b"}).status_code == 200
        finally:
            for connection in stalled:
                connection.close()
        assert client.get("/readyz").status_code == 200


FRAGILE = """
import pathlib, sys
BROKEN = pathlib.Path({broken!r})

class Env:
    def __init__(self):
        if BROKEN.exists():
            print("the licence server is gone", file=sys.stderr, flush=True)
            raise RuntimeError("no licence for this environment")

    def reset(self, *, seed=None, options=None):
        return "", {{}}

    def step(self, action):
        return "", 0.0, False, False, {{}}
"""


def test_a_pool_in_a_crash_loop_is_not_ready_and_says_why(
    make_server: Any, write_spec: Any, wait_until: Any, tmp_path: Path
) -> None:
    from envhub.pool import PoolPlan

    broken = tmp_path / "broken"
    spec = write_spec(FRAGILE.format(broken=str(broken)))
    server = make_server(PoolPlan(spec.resolve(), 2, 2))
    with server.client() as client:
        assert client.get("/readyz").status_code == 200
        broken.touch()
        for pid in server.do(server.hub.pools["probe"].processes):
            os.kill(pid, signal.SIGKILL)

        def reason() -> str:
            answer = client.get("/readyz")
            return "" if answer.status_code == 200 else str(answer.json()["error"]["message"])

        wait_until(lambda: "no licence for this environment" in reason())
        assert "probe: 0 of 2 workers are up" in reason()
        answer = client.get("/readyz")
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "not_ready")
        assert set(answer.json()["error"]["details"]["missing"]) == {"probe"}
        assert int(answer.headers["retry-after"]) >= 1
        assert client.get("/healthz").status_code == 200, "the hub itself is well"
        nobody = client.post("/v1/envs/probe/sessions", json={"wait_s": 0})
        assert nobody.status_code == 503
        broken.unlink()
        wait_until(lambda: client.get("/readyz").status_code == 200)
        assert client.post("/v1/envs/probe/sessions").status_code == 200


def test_openers_who_wait_when_the_hub_drains_are_sent_away(
    make_server: Any, make_plan: Any, wait_until: Any
) -> None:
    server = make_server(make_plan("echo", 1))
    answers: list[httpx.Response] = []

    def wait() -> None:
        with server.client() as patient:
            answers.append(patient.post("/v1/envs/echo/sessions", json={"wait_s": 60}))

    with server.client() as client:
        session = client.post("/v1/envs/echo/sessions").json()["sessions"][0]["id"]
        waiting = threading.Thread(target=wait)
        waiting.start()
        wait_until(lambda: server.do(server.hub.pools["echo"].status).queued == 1)
        asyncio.run_coroutine_threadsafe(server.hub.sessions.drain(10.0), server.loop).result(20)
        waiting.join(20)
        answers.append(client.post("/v1/envs/echo/sessions", json={"wait_s": 60}))
        for path, body in (
            ("step", {"action": "a"}),
            ("reset", {}),
            ("fork", {}),
            ("restore", {"snapshot_id": ""}),
        ):
            answers.append(client.post(f"/v1/sessions/{session}/{path}", json=body))
        answers.append(client.get("/readyz"))
        for answer in answers:
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "not_ready")
            assert "draining" in answer.json()["error"]["message"]
            assert int(answer.headers["retry-after"]) >= 1
        batch = client.post("/v1/step", json={"steps": [{"session_id": session, "action": "a"}]}).json()
        assert batch["results"][0]["error"]["code"] == "not_ready"
        assert client.get(f"/v1/sessions/{session}/trajectory").status_code == 200, "what was is still told"
        assert client.delete(f"/v1/sessions/{session}").status_code == 204
