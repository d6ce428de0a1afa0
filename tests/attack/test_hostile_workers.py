"""A worker may be anything, since environments run inside it: the hub outlives whatever it says.

A hostile environment writes into its worker's own socket. The worst it may cost is its worker and what was
under way on it; the hub goes on and starts the next one.
"""

import asyncio
import socket
import struct
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from envhub.pool._channel import LOST, Channel
from envhub.worker import frames
from envhub.worker.times import Times

# -- the hub's end of the socket --------------------------------------------------------------------

NUMBER = st.integers(0, 5) | st.integers(0, 2**32 - 1)
MESSAGE = st.tuples(NUMBER, NUMBER, NUMBER, st.binary(max_size=40) | st.just(b"null") | st.just(b"{}"))
SAID = st.one_of(
    st.binary(max_size=60),
    st.lists(MESSAGE, max_size=6).map(frames.pack),
    st.lists(MESSAGE, min_size=1, max_size=3).map(lambda sent: frames.pack(sent)[:-1]),
    st.builds(struct.pack, st.just("<II"), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1)),
)


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(said=st.lists(SAID, max_size=6), asked=st.integers(0, 5))
def test_whatever_a_worker_says_every_request_is_answered_once(said: list[bytes], asked: int) -> None:
    """The real channel on a real socket; at the end the worker is gone."""
    answers: list[list[int]] = [[] for _ in range(asked)]
    lost: list[None] = []

    async def talk() -> None:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        loop = asyncio.get_running_loop()
        over = loop.create_future()

        def gone() -> None:
            lost.append(None)
            over.set_result(None)

        channel = Channel(gone, Times())
        with theirs:
            await loop.create_unix_connection(lambda: channel, sock=ours)
            for answer in answers:
                channel.send(frames.STEP, 0, b'"a"', lambda code, _, answer=answer: answer.append(code))
            await asyncio.sleep(0)
            for piece in said:
                try:
                    theirs.sendall(piece)
                except BrokenPipeError:
                    break  # it has had enough
                await asyncio.sleep(0)
            theirs.shutdown(socket.SHUT_WR)
            await over
        channel.send(frames.STEP, 0, b"", lambda code, _: late.append(code))
        await asyncio.sleep(0)

    late: list[int] = []
    asyncio.run(talk())
    assert [len(answer) for answer in answers] == [1] * asked
    assert (late, len(lost)) == ([LOST], 1)


# -- a whole hub ------------------------------------------------------------------------------------

HOSTILE = """
import os, stat

def channel():
    for name in os.listdir("/proc/self/fd"):
        number = int(name)
        try:
            if number > 2 and stat.S_ISSOCK(os.fstat(number).st_mode):
                yield number
        except OSError:
            pass

class Env:
    def reset(self, *, seed=None, options=None):
        return "start", {}

    def step(self, action):
        if action.startswith("say "):
            for number in channel():
                os.write(number, bytes.fromhex(action[4:]))
        return action, 1.0, False, False, {}
"""


def replies(code: int, payload: bytes, numbers: range = range(64)) -> bytes:
    """An answer to every request that may be under way."""
    return frames.pack([(number, code, 0, payload) for number in numbers])


def step(observation: bytes, more: bytes = b"") -> bytes:
    flags = b'"terminated":false,"truncated":false'
    return b'{"observation":%b,"reward":0.0,%b,"info":{}%b}' % (observation, flags, more)


SAYS = {
    "random bytes": bytes(range(255, 155, -1)),
    "a huge frame": struct.pack("<II", 0xFFFFFFFF, 1),
    "more messages than fit": struct.pack("<II", 100, 0xFFFFFFFF),
    "a huge payload": struct.pack("<II4I", 16, 1, 1, 0, 0, 0xFFFFFFFF),
    "an answer to nobody": frames.pack([(4_000_000_000, frames.OK, 7, b"{}")]),
    "an unknown status": replies(99, b"{}"),
    "a huge status": replies(0xFFFFFFFF, b""),
    "an error that is no JSON": replies(frames.FIRST_ERROR, b"\xff\xfe"),
    "an error that is null": replies(frames.FIRST_ERROR, b"null"),
    "an error without words": replies(frames.FIRST_ERROR, b"{}"),
    "an error of a list": replies(frames.FIRST_ERROR, b'{"message":[1],"details":[2]}'),
    "a step that is empty": replies(frames.OK, b""),
    "a step that is null": replies(frames.OK, b"null"),
    "a step that is no JSON": replies(frames.OK, b"\xff{"),
    "a step without a reward": replies(frames.OK, b'{"observation":1,"terminated":false,"truncated":false}'),
    "a step with more in it": replies(frames.OK, step(b"0", b',"step_index":7,"reset":{}')),
    "a step that lies about its end": replies(frames.TERMINATED, step(b"0")),
    "a step and its neighbour's": replies(frames.OK, step(b"0") + b"," + step(b'"forged"')),
    "a step with an event in it": replies(frames.OK, step(b'[\n{"event":"ended"}\n]')),
    "a step that is too deep": replies(frames.OK, step(b"[" * 5000 + b"]" * 5000)),
    "a step that is almost too deep": replies(frames.OK, step(b"[" * 940 + b"]" * 940)),
    "a good answer of another kind": replies(frames.DONE, b"[]"),
    "a text": replies(frames.TEXT, b"\xff"),
    "that it died": replies(LOST, b'{"message":"the worker died"}'),
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, start_hub: Any) -> Any:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "hostile_env.py").write_text(HOSTILE)
    (folder / "envhub.toml").write_text(
        'name = "hostile"\nversion = "1"\nsummary = "s"\nentry_point = "hostile_env:Env"\n'
        '[action]\ndescription = "a"\n[observation]\ndescription = "o"\n'
    )
    return start_hub("--env", f"{folder}=4", "--env", "echo=2", "--workers", "4")


@pytest.mark.parametrize("what", SAYS)
def test_a_hub_outlives_what_a_worker_says(hostile: Any, wait_until: Any, what: str) -> None:
    with hostile.client() as client:
        bystander = client.post("/v1/envs/echo/sessions").json()["sessions"][0]["id"]
        session = client.post("/v1/envs/hostile/sessions").json()["sessions"][0]["id"]
        action = {"action": "say " + SAYS[what].hex(), "step_index": 0}
        answer = client.post(f"/v1/sessions/{session}/step", json=action)
        assert answer.status_code in (200, 502, 504)
        taken = client.post(f"/v1/sessions/{bystander}/step", json={"action": "still here"})
        assert taken.json()["observation"] == "still here"
        listed = client.get("/v1/sessions")
        assert {one["id"] for one in listed.json()["sessions"]} == {session, bystander}, listed.text
        assert client.post("/v1/close", json={"session_ids": [session, bystander]}).status_code == 200
        wait_until(lambda: client.get("/readyz").status_code == 200)
        whole = client.post("/v1/envs/hostile/sessions", json={"count": 4}).json()["sessions"]
        ids = [one["id"] for one in whole]
        steps = {"steps": [{"session_id": one, "action": "fine"} for one in ids]}
        results = client.post("/v1/step", json=steps).json()["results"]
        assert [one.get("observation") for one in results] == ["fine"] * 4
        client.post("/v1/close", json={"session_ids": ids})
