"""Tokens with names: the file, the hashes, whose sessions are whose, and quotas."""

import ast
import dataclasses
import fcntl
import inspect
import stat
import textwrap
import threading
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from envhub.server import Token, Tokens, _tokens, append_token, read_tokens
from envhub.session import Caller, HubError
from envhub.spec import SettingsInvalid


def shows(text: str, scheme: str = "Bearer") -> bytes:
    return f"{scheme} {text}".encode()


# -- the file ---------------------------------------------------------------------------------------


def test_a_token_read_back_is_the_one_that_was_written(tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    made = [
        Token.make("trainer", "client", 64, 200.0),
        Token.make("boss", "admin"),
        Token.make("scraper", "client", max_sessions=0),
    ]
    for token, _ in made:
        append_token(file, token)
    assert read_tokens(file) == [token for token, _ in made]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    for _, text in made:
        assert text.partition(".")[2] not in file.read_text()
        assert len(text.partition(".")[2]) >= 43, "256 bits"


def test_two_tokens_with_one_secret_have_different_hashes() -> None:
    from envhub.server._tokens import _digest

    assert _digest(b"a" * 16, b"secret") != _digest(b"b" * 16, b"secret")
    one, other = Token.make("a", "client")[0], Token.make("a", "client")[0]
    assert one.salt != other.salt and one.digest != other.digest


def test_a_name_is_given_once(tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    append_token(file, Token.make("trainer", "client")[0])
    before = file.read_text()
    with pytest.raises(SettingsInvalid, match="named 'trainer' already"):
        append_token(file, Token.make("trainer", "admin")[0])
    assert file.read_text() == before
    file.write_text(before + before)
    with pytest.raises(SettingsInvalid, match="two tokens are named 'trainer'"):
        read_tokens(file)


def test_many_who_add_at_once_lose_nothing(tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    threads = [
        threading.Thread(target=append_token, args=(file, Token.make(f"t{number}", "client")[0]))
        for number in range(20)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {token.name for token in read_tokens(file)} == {f"t{number}" for number in range(20)}


def test_the_names_are_looked_at_once_nobody_else_writes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else adds the same name while the lock is waited for."""
    file = tmp_path / "tokens.toml"
    lock = fcntl.flock

    def wait_for_the_lock(stream: Any, how: int) -> None:
        file.write_text(Token.make("trainer", "admin")[0].as_toml())
        lock(stream, how)

    monkeypatch.setattr(fcntl, "flock", wait_for_the_lock)
    with pytest.raises(SettingsInvalid, match="named 'trainer' already"):
        append_token(file, Token.make("trainer", "client")[0])
    assert [token.role for token in read_tokens(file)] == ["admin"]


ENTRY = f'[[token]]\nname = "a"\nrole = "client"\nsalt = "{"0" * 32}"\nsha256 = "{"0" * 64}"\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (ENTRY.replace("client", "king"), "neither client nor admin"),
        (ENTRY.replace("0" * 64, "0" * 63 + "x"), r"token\[0\].sha256: must be 64 hexadecimal digits"),
        (ENTRY.replace("0" * 32, "0" * 8), r"token\[0\].salt: must be 32 hexadecimal digits"),
        (ENTRY.replace('"a"', '"a b"'), "no name of a token"),
        (ENTRY.replace('"a"', '"a.b"'), "no name of a token"),
        (ENTRY + "max_sessions = -1\n", "0 or more"),
        (ENTRY + "requests_per_s = 0\n", "more than 0"),
        (ENTRY + "requests_per_s = inf\n", "more than 0"),
        (ENTRY + "max_session = 1\n", "max_sessions"),
        (ENTRY.replace("sha256", "sha"), "sha256"),
        ("token = 1\n", "token"),
        ("[[token", "not TOML"),
    ],
    ids=lambda value: value[-40:] if isinstance(value, str) else None,
)
def test_a_file_that_is_wrong_is_refused_with_the_place(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "tokens.toml"
    file.write_text(text)
    with pytest.raises(SettingsInvalid, match=words) as refused:
        read_tokens(file)
    assert str(file) in str(refused.value)


def test_a_file_that_is_missing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match="cannot be read"):
        read_tokens(tmp_path / "none.toml")


# -- who is who -------------------------------------------------------------------------------------


def test_only_the_right_secret_is_known() -> None:
    (trainer, text), (boss, other) = Token.make("trainer", "client"), Token.make("boss", "admin")
    tokens = Tokens([trainer, boss])
    found = tokens.find(shows(text))
    assert found is not None and (found.name, found.admin) == ("trainer", False)
    assert found is tokens.find(shows(text, "bearer")), "its quota is one for all its requests"
    admin = tokens.find(shows(other))
    assert admin is not None and admin.admin
    secret, others = text.partition(".")[2], other.partition(".")[2]
    for wrong in (
        shows(f"trainer.{others}"),
        shows(f"boss.{secret}"),
        shows(f"nobody.{secret}"),
        shows(f"Trainer.{secret}"),
        shows(f"{text}x"),
        shows(text[:-1]),
        shows(secret),
        shows("trainer"),
        shows("trainer."),
        shows(""),
        shows(trainer.digest.hex()),
        shows(text, "Basic "),
        text.encode(),
        b"",
    ):
        assert tokens.find(wrong) is None, wrong


def test_hashes_are_compared_in_constant_time() -> None:
    tree = ast.parse(textwrap.dedent(inspect.getsource(Tokens.find)))
    assert "hmac.compare_digest" in {
        ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            assert "digest" not in ast.unparse(node) and "secret" not in ast.unparse(node)


# -- requests a second ------------------------------------------------------------------------------


@given(
    rate=st.floats(0.1, 1000),
    pauses=st.lists(st.floats(0, 5), min_size=1, max_size=200),
)
def test_no_more_pass_than_the_rate_and_a_seconds_worth(rate: float, pauses: list[float]) -> None:
    now = 0.0
    caller = Caller("a", requests_per_s=rate, clock=lambda: now)
    passed: list[float] = []
    for pause in pauses:
        now += pause
        try:
            caller.spend()
            passed.append(now)
        except HubError as error:
            assert error.code == "quota_exceeded"
            now += error.details["retry_after_s"] + 1e-6
            caller.spend()  # what was promised
            passed.append(now)
    for first, start in enumerate(passed):
        for last in range(first, len(passed)):
            assert last - first + 1 <= max(1, rate) + rate * (passed[last] - start) + 1e-3


# -- over HTTP and the stream -----------------------------------------------------------------------


class Door:
    """A hub with tokens, and clients that show them."""

    def __init__(self, make_server: Any, make_plan: Any, env: str = "echo", **quotas: dict[str, Any]) -> None:
        made = {name: Token.make(name, **{"role": "client", **quota}) for name, quota in quotas.items()}
        self.texts = {name: text for name, (_, text) in made.items()}
        self.server = make_server(
            make_plan(env, 4),
            tokens=Tokens(token for token, _ in made.values()),
            token="master key",
        )

    def headers(self, name: str) -> dict[str, str]:
        return {"authorization": f"Bearer {self.texts.get(name, name)}"}

    def client(self, name: str) -> httpx.Client:
        client: httpx.Client = self.server.client(headers=self.headers(name))
        return client

    def stream(self, name: str) -> Any:
        return self.server.stream(additional_headers=self.headers(name))


def code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def opened(client: httpx.Client, **request: Any) -> str:
    answer = client.post("/v1/envs/echo/sessions", json=request)
    assert answer.status_code == 200, answer.text
    session: str = answer.json()["sessions"][0]["id"]
    return session


def listed(client: httpx.Client) -> dict[str, str | None]:
    return {one["id"]: one["owner"] for one in client.get("/v1/sessions").json()["sessions"]}


def test_nobody_comes_in_without_a_token_of_the_file(make_server: Any, make_plan: Any) -> None:
    door = Door(make_server, make_plan, ann={})
    for headers in ({}, {"authorization": "Bearer ann.wrong"}, {"authorization": "Bearer"}):
        with door.server.client(headers=headers) as client:
            assert code(client.get("/v1/sessions")) == (401, "unauthorized")
            assert client.get("/healthz").status_code == 200


def test_a_client_sees_and_uses_its_own_sessions_only(make_server: Any, make_plan: Any) -> None:
    """Another's session is answered word for word as one that never was."""
    door = Door(make_server, make_plan, ann={}, bob={})
    with door.client("ann") as ann, door.client("bob") as bob:
        hers, his = opened(ann), opened(bob)
        assert listed(ann) == {hers: "ann"} and listed(bob) == {his: "bob"}
        never = "s-" + "0" * 24
        snapshot = ann.post(f"/v1/sessions/{hers}/snapshot").json()["snapshot_id"]
        for method, path, body in (
            ("GET", "", None),
            ("POST", "/step", {"action": "a"}),
            ("POST", "/reset", {}),
            ("POST", "/keepalive", None),
            ("GET", "/trajectory", None),
            ("GET", "/render", None),
            ("POST", "/snapshot", None),
            ("POST", "/restore", {"snapshot_id": snapshot}),
            ("POST", "/fork", {}),
        ):
            taken = bob.request(method, f"/v1/sessions/{hers}{path}", json=body)
            missing = bob.request(method, f"/v1/sessions/{never}{path}", json=body)
            assert code(taken) == (404, "unknown_session"), (method, path)
            assert taken.text.replace(hers, never) == missing.text
        refused = bob.post(f"/v1/sessions/{his}/restore", json={"snapshot_id": snapshot})
        assert code(refused) == (404, "unknown_snapshot")
        assert code(bob.post(f"/v1/sessions/{his}/fork", json={"snapshot_id": snapshot})) == (
            404,
            "unknown_snapshot",
        )
        for path, items in (("step", "steps"), ("reset", "resets")):
            batch = {items: [{"session_id": one, "action": "a"} for one in (hers, his)]}
            if path == "reset":
                batch = {items: [{"session_id": one} for one in (hers, his)]}
            first, second = bob.post(f"/v1/{path}", json=batch).json()["results"]
            assert first["error"]["code"] == "unknown_session" and "error" not in second
        assert bob.delete(f"/v1/sessions/{hers}").status_code == 204
        bob.post("/v1/close", json={"session_ids": [hers]})
        state = ann.get(f"/v1/sessions/{hers}").json()
        assert (state["step_index"], state["status"]) == (0, "running"), "nothing has happened to it"
        ann.delete(f"/v1/sessions/{hers}")
        assert code(ann.get(f"/v1/sessions/{hers}")) == (410, "session_closed")
        assert code(bob.get(f"/v1/sessions/{hers}")) == (404, "unknown_session")


def test_the_stream_is_of_its_token_too(make_server: Any, make_plan: Any) -> None:
    door = Door(make_server, make_plan, ann={}, bob={})
    with door.client("ann") as ann, door.stream("bob") as ws:
        hers = opened(ann)
        ws.send('{"id":0,"op":"open","env":"echo"}')
        his = msgspec.json.decode(ws.recv(timeout=20))["sessions"][0]["id"]
        operations = {
            "step": {"action": "a"},
            "reset": {},
            "keepalive": {},
            "state": {},
            "trajectory": {},
            "snapshot": {},
            "restore": {"snapshot_id": "p-x"},
            "fork": {},
        }
        for number, (op, fields) in enumerate(operations.items(), 1):
            ws.send(msgspec.json.encode({"id": number, "op": op, "session_id": hers, **fields}))
            answer = msgspec.json.decode(ws.recv(timeout=20))
            assert (answer["id"], answer["error"]["code"]) == (number, "unknown_session")
        ws.send(msgspec.json.encode({"id": 20, "op": "close", "session_id": hers}))
        ws.recv(timeout=20)
        assert listed(ann) == {hers: "ann"}
        ws.send(msgspec.json.encode({"id": 21, "op": "step", "session_id": his, "action": "a"}))
        assert msgspec.json.decode(ws.recv(timeout=20))["step_index"] == 0


@pytest.mark.parametrize("name", ["boss", "master key"])
def test_an_admin_sees_and_uses_everybodys(make_server: Any, make_plan: Any, name: str) -> None:
    door = Door(make_server, make_plan, ann={}, boss={"role": "admin"})
    with door.client("ann") as ann, door.client(name) as boss:
        hers, mine = opened(ann), opened(boss)
        assert listed(boss) == {hers: "ann", mine: "boss" if name == "boss" else None}
        assert listed(ann) == {hers: "ann"}
        assert boss.post(f"/v1/sessions/{hers}/step", json={"action": "a"}).status_code == 200
        assert boss.delete(f"/v1/sessions/{hers}").status_code == 204
        assert code(ann.get(f"/v1/sessions/{hers}")) == (410, "session_closed")


# -- quotas -----------------------------------------------------------------------------------------


def test_a_token_has_no_more_sessions_than_it_may(make_server: Any, make_plan: Any) -> None:
    door = Door(make_server, make_plan, ann={"max_sessions": 2}, bob={})
    with door.client("ann") as ann, door.client("bob") as bob:
        sessions = "/v1/envs/echo/sessions"
        assert code(ann.post(sessions, json={"count": 3})) == (429, "quota_exceeded")
        first = opened(ann)
        assert code(ann.post(sessions, json={"count": 2})) == (429, "quota_exceeded")
        second = opened(ann)
        for path in (sessions, f"/v1/sessions/{first}/fork"):
            refused = ann.post(path, json={})
            assert code(refused) == (429, "quota_exceeded")
            assert int(refused.headers["retry-after"]) >= 1
            assert refused.json()["error"]["details"] == {"max_sessions": 2, "sessions": 2, "asked_for": 1}
        opened(bob)
        ann.delete(f"/v1/sessions/{second}")
        assert ann.post(f"/v1/sessions/{first}/fork", json={}).status_code == 200


def test_an_open_that_fails_uses_up_nothing(make_server: Any, make_plan: Any) -> None:
    door = Door(make_server, make_plan, "frozenlake", ann={"max_sessions": 1}, bob={})
    sessions = "/v1/envs/frozenlake/sessions"
    with door.client("ann") as ann, door.client("bob") as bob:
        assert code(ann.post(sessions, json={"tasks": ["no such task"]})) == (404, "unknown_task")
        taken = bob.post(sessions, json={"count": 4}).json()["sessions"]
        assert code(ann.post(sessions, json={"wait_s": 0})) == (503, "no_free_replica")
        bob.post("/v1/close", json={"session_ids": [one["id"] for one in taken]})
        assert ann.post(sessions).status_code == 200


def test_those_who_wait_count_too(make_server: Any, make_plan: Any, wait_until: Any) -> None:
    door = Door(make_server, make_plan, ann={"max_sessions": 1}, bob={})
    with door.client("ann") as ann, door.client("bob") as bob:
        taken = bob.post("/v1/envs/echo/sessions", json={"count": 4}).json()["sessions"]
        answers: list[httpx.Response] = []

        def wait() -> None:
            with door.client("ann") as patient:
                answers.append(patient.post("/v1/envs/echo/sessions", json={"wait_s": 60}))

        waiting = threading.Thread(target=wait)
        waiting.start()
        wait_until(lambda: door.server.do(door.server.hub.pools["echo"].status).queued == 1)
        assert code(ann.post("/v1/envs/echo/sessions")) == (429, "quota_exceeded")
        bob.delete(f"/v1/sessions/{taken[0]['id']}")
        waiting.join(20)
        assert answers[0].status_code == 200


def test_requests_a_second(make_server: Any, make_plan: Any) -> None:
    """The first of a token that may send one in a thousand seconds passes, the next ones do not."""
    door = Door(make_server, make_plan, slow={"requests_per_s": 0.001}, bob={})
    with door.client("slow") as slow, door.client("bob") as bob:
        assert slow.get("/v1/sessions").status_code == 200
        for method, path in (("GET", "/v1/sessions"), ("POST", "/v1/step"), ("GET", "/metrics")):
            refused = slow.request(method, path)
            assert code(refused) == (429, "quota_exceeded")
            assert 900 < int(refused.headers["retry-after"]) <= 1000
        assert slow.get("/readyz").status_code == 200, "a question that needs no token costs nothing"
        for _ in range(5):
            assert bob.get("/v1/sessions").status_code == 200


def test_each_message_of_the_stream_is_a_request(make_server: Any, make_plan: Any) -> None:
    door = Door(make_server, make_plan, ann={"requests_per_s": 3.0})
    with door.client("ann") as ann:
        assert ann.get("/v1/sessions").status_code == 200
    with door.stream("ann") as ws:
        messages = 50
        for number in range(messages):
            ws.send(f'{{"id":{number},"op":"close","session_id":"s-x"}}')
        answers = [msgspec.json.decode(ws.recv(timeout=20)) for _ in range(messages)]
    refused = [one for one in answers if "error" in one]
    assert [one["id"] for one in answers] == list(range(messages))
    assert refused and {one["error"]["code"] for one in refused} == {"quota_exceeded"}
    assert all(one["error"]["details"]["retry_after_s"] > 0 for one in refused)


# -- a file that changes ----------------------------------------------------------------------------


def write(file: Path, *tokens: Token) -> None:
    """Writes a tokens file as editors do: another one in its place."""
    new = file.with_suffix(".new")
    new.write_text("\n".join(token.as_toml() for token in tokens))
    new.replace(file)


def test_a_token_is_revoked_while_the_hub_runs(
    make_server: Any, make_plan: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wait_until: Any
) -> None:
    monkeypatch.setattr(_tokens, "LOOK_S", 0.01)
    file = tmp_path / "tokens.toml"
    (ann, hers), (bob, his), (eve, new) = (Token.make(name, "client") for name in ("ann", "bob", "eve"))
    write(file, ann, bob)
    server = make_server(make_plan("echo", 4), tokens=Tokens.of_file(file))
    headers = [{"authorization": f"Bearer {text}"} for text in (hers, his, new)]
    with (
        server.client(headers=headers[0]) as client,
        server.client(headers=headers[1]) as other,
        server.client(headers=headers[2]) as third,
        server.stream(additional_headers=headers[0]) as ws,
    ):
        session = opened(other)
        ws.send('{"id":1,"op":"open","env":"echo"}')
        left = msgspec.json.decode(ws.recv(timeout=20))["sessions"][0]["id"]
        assert code(third.get("/v1/sessions")) == (401, "unauthorized")
        write(file, bob, eve)
        wait_until(lambda: client.get("/v1/sessions").status_code == 401)
        assert third.get("/v1/sessions").status_code == 200
        ws.send(msgspec.json.encode({"id": 2, "op": "step", "session_id": left, "action": "a"}))
        refused = msgspec.json.decode(ws.recv(timeout=20))["error"]
        assert refused["code"] == "unauthorized" and "'ann' was taken out" in refused["message"]
        assert listed(other) == {session: "bob"}, "nobody else notices"


def test_what_is_not_valid_changes_nothing_and_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "tokens.toml"
    ann, text = Token.make("ann", "client")
    write(file, ann)
    tokens = Tokens.of_file(file)
    for _ in range(3):
        tokens.refresh()
    assert not caplog.records
    file.write_text(file.read_text() + "[[token]")
    for _ in range(4):
        tokens.refresh()
    file.unlink()
    for _ in range(4):
        tokens.refresh()
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]
    assert tokens.find(shows(text)) is not None
    write(file)
    for _ in range(2):
        tokens.refresh()
    assert tokens.find(shows(text)) is None and len(tokens) == 0


def test_a_file_is_left_alone_while_it_is_being_written(tmp_path: Path) -> None:
    file = tmp_path / "tokens.toml"
    (ann, hers), (bob, his) = (Token.make(name, "client") for name in ("ann", "bob"))
    write(file, ann, bob)
    tokens = Tokens.of_file(file)
    file.write_text(ann.as_toml())  # what an editor has written so far
    tokens.refresh()
    file.write_text(ann.as_toml() + bob.as_toml())
    tokens.refresh()
    tokens.refresh()
    assert tokens.find(shows(hers)) is not None
    bobs = tokens.find(shows(his))
    assert bobs is not None and not bobs.revoked


def test_new_limits_hold_for_who_is_there_and_a_new_secret_makes_another_caller() -> None:
    ann, text = Token.make("ann", "client", requests_per_s=1.0)
    tokens = Tokens([ann])
    caller = tokens.find(shows(text))
    assert caller is not None
    caller.spend()
    tokens.replace([ann])
    assert tokens.find(shows(text)) is caller
    with pytest.raises(HubError, match="1 requests a second"):
        caller.spend()  # what it spent stays spent
    tokens.replace([dataclasses.replace(ann, role="admin", requests_per_s=None, max_sessions=3)])
    assert tokens.find(shows(text)) is caller
    assert caller.admin and caller.max_sessions == 3
    caller.spend()
    again, new = Token.make("ann", "client")
    tokens.replace([again])
    assert tokens.find(shows(text)) is None and caller.revoked
    assert tokens.find(shows(new)) is not caller
    with pytest.raises(HubError, match="was taken out"):
        caller.spend()
